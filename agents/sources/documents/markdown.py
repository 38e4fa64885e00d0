"""Markdown as sections, one for each heading."""

import re
from collections.abc import Iterator

from agents.sources.documents import Section

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*(?:[ \t]+\{#([^\s}]+)\})?")
"""Its level, its title, and the address that may stand behind it."""
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
BETWEEN = " › "


def markdown_sections(text: str) -> list[Section]:
    """Return the sections that have a text of their own; what stands in fenced code is no heading."""
    sections: list[Section] = []
    above: dict[int, str] = {}
    anchor, lines, is_code = "", list[str](), False
    for line in [*text.splitlines(), "# end"]:
        is_code ^= bool(_FENCE.match(line))
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            sections.append(Section(BETWEEN.join(above.values()), body, anchor))
        level, title = len(heading[1]), heading[2].strip()
        above = {**{depth: name for depth, name in above.items() if depth < level}, level: title}
        anchor, lines = heading[3] or _NOT_IN_ANCHOR.sub("", title.lower()).replace(" ", "-"), []
    return sections


def passages(text: str, longest: int) -> Iterator[str]:
    """Yield a text in passages of at most `longest` characters, cut between paragraphs, lines or words."""
    passage = ""
    for piece in _pieces(text.strip(), longest, ("\n\n", "\n", " ")):
        if passage and len(passage) + len(piece) > longest:
            yield passage.strip()
            passage = ""
        passage += piece
    if passage.strip():
        yield passage.strip()


def _pieces(text: str, longest: int, separators: tuple[str, ...]) -> Iterator[str]:
    """Yield a text in pieces, each no longer than a passage, that make up the text again."""
    if len(text) <= longest:
        yield text
    elif not separators:
        yield from (text[place : place + longest] for place in range(0, len(text), longest))
    else:
        *before, last = text.split(separators[0])
        for part in [*(f"{part}{separators[0]}" for part in before), last]:
            yield from _pieces(part, longest, separators[1:])
