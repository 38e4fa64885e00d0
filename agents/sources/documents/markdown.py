"""Markdown as sections, one for each heading."""

import re
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*(?:[ \t]+\{#([^\s}]+)\})?")
"""A heading: its level, its title, and the address behind it, if any."""
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
BETWEEN = " › "


@dataclass(frozen=True)
class DocumentSection:
    """A part of a document below one heading; `title` has the headings above it too, outermost first."""

    title: str
    text: str
    anchor: str = ""  # The part of its address behind `#`; empty for the beginning of the document.


def markdown_sections(text: str) -> list[DocumentSection]:
    """Return the sections with a text of their own; a line in fenced code is not a heading."""
    sections: list[DocumentSection] = []
    above: dict[int, str] = {}
    anchor, lines, is_code = "", list[str](), False
    for line in [*text.splitlines(), "# end"]:
        is_code ^= bool(_FENCE.match(line))
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            sections.append(DocumentSection(BETWEEN.join(above.values()), body, anchor))
        level, title = len(heading[1]), heading[2].strip()
        above = {**{depth: name for depth, name in above.items() if depth < level}, level: title}
        anchor, lines = heading[3] or _NOT_IN_ANCHOR.sub("", title.lower()).replace(" ", "-"), []
    return sections
