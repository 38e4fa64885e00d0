"""Texts for doors: sentences of our own, and models' answers with numbered sources and lists."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.events import ShownImage
from agents.events.views import MOST_ENTRIES, CardList, Entry, is_web
from agents.language.text.clean import clean
from agents.state.citations import Citation, CitedSource
from prompts import FALLBACK, sentence, table
from prompts import files as prompt_files

# Markdown would take "[1][2]" for a link. So a number is drawn in signs of the private use area: each is as wide as the
# sign that it replaces, in a terminal and in UTF-16.
_BASE = 0xE100
_STAND_INS = {ord(sign): _BASE + ord(sign) for sign in "[]0123456789"}
_SIGNS = {stand_in: sign for sign, stand_in in _STAND_INS.items()}
_NUMBER = re.compile(
    f"{chr(_BASE + ord('['))}([{chr(_BASE + ord('0'))}-{chr(_BASE + ord('9'))}]+){chr(_BASE + ord(']'))}"
)
_FOREIGN = re.compile(f"[{chr(_BASE)}-{chr(_BASE + 0x7F)}]")
LONGEST_TITLE = 120


@dataclass(frozen=True)
class Reference:
    """A source for readers; `url` is empty where there is nothing on the web to open."""

    number: int
    """The shown number, from 1."""
    title: str
    place: str
    """The address, or the place in the user's own documents; empty where the title says it."""
    url: str


def references(citations: Sequence[Citation]) -> list[Reference]:
    """Return the sources of a text's citations, each once, in the order of their numbers."""
    cited = {each["number"]: each for each in citations}
    return [_reference(number, source) for number, source in sorted(cited.items())]


def listed(citations: Sequence[Citation]) -> list[str]:
    """Return the sources of a text's citations as lines of plain text; none without citations."""
    rows = ((f"[{cited.number}] {cited.title}", cited.place) for cited in references(citations))
    return [" — ".join(filter(None, row)) for row in rows]


def with_list(text: str, citations: Sequence[Citation]) -> str:
    """Return a text with the list of its sources below."""
    return "\n".join([f"{text}\n", *listed(citations)]) if citations else text


def marked(text: str, citations: Sequence[Citation]) -> str:
    """Return a text whose citations Markdown leaves alone; `numbers` finds them in the drawn text."""
    signs = _FOREIGN.sub("\ufffd", text)
    parts, done = [], 0
    for each in citations:
        start, end = each["start"], each["end"]
        if done <= start < end <= len(signs):
            parts += [signs[done:start], signs[start:end].translate(_STAND_INS)]
            done = end
    return "".join([*parts, signs[done:]])


def numbers(drawn: str) -> Iterator[tuple[int, int, int]]:
    """Yield the citations in a text that was `marked` and drawn: the number from 0, its beginning and its end."""
    for match in _NUMBER.finditer(drawn):
        yield int(unmarked(match[1])) - 1, match.start(), match.end()


def unmarked(drawn: str) -> str:
    """Return a drawn text with its real signs."""
    return drawn.translate(_SIGNS)


def addresses(citations: Sequence[Citation]) -> Mapping[int, str]:
    """Return the web addresses of a text's cited sources, by number from 0."""
    return {reference.number - 1: reference.url for reference in references(citations) if reference.url}


def gallery(images: Sequence[ShownImage], title: str) -> CardList:
    """Return pictures as a list of links, each with its size and kind as far as they are known."""
    entries = [Entry(image["title"] or image["url"], _facts(image), image["url"]) for image in images[:MOST_ENTRIES]]
    return CardList(title=title, entries=entries)


def _facts(image: ShownImage) -> str:
    size = f"{image['width']}×{image['height']}" if image["width"] and image["height"] else ""
    return ", ".join(filter(None, (size, image["mime_type"])))


def _reference(number: int, source: CitedSource) -> Reference:
    url = source["url"] if is_web(source["url"]) else ""
    place = clean(" ".join(source["url"].split()))
    short = one_line(source["title"], LONGEST_TITLE) or place
    return Reference(number + 1, short, "" if place == short else place, url)


def one_line(text: str, longest: int) -> str:
    """Return a text as one safe line, cut behind so many characters."""
    return shortened(" ".join(clean(text).split()), longest)


def shortened(text: str, longest: int) -> str:
    """Return a text, cut to so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def say(key: str, lang: str, /, **variables: object) -> str:
    """Return the sentence `key` ("bye", or "reply.lang_is" for one of a section), its `$variables` filled in.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    return sentence("cli", key, lang, **variables)


def tool_title(tool: str, speaker: str, lang: str) -> str:
    """Return the user's title of a running tool; a dialog's own title counts for all speakers."""
    title = next(filter(None, (_title(tool, file, lang) for file in _tables_of_titles(speaker))), None)
    return clean(str(title or tool.replace("_", " ").capitalize()))


def _tables_of_titles(speaker: str) -> Iterator[str]:
    yield from (f"{speaker}/confirm", "confirm")
    for path in prompt_files(FALLBACK, "*/confirm.toml"):
        yield path.with_suffix("").as_posix()


def _title(tool: str, file: str, lang: str) -> object:
    texts = table(file, lang)
    return next(filter(None, (texts.get(section, {}).get(tool) for section in ("steps", "titles"))), None)


_ENTRY = re.compile(r"^(\s*)(\d+)([.)]) ")


def numbers_kept(text: str) -> str:
    """Return Markdown in which the numbers of a list with gaps are escaped, so that they stay."""
    lines_out: list[str] = []
    for is_list, run in groupby(text.split("\n"), key=lambda line: _ENTRY.match(line) is not None):
        lines = list(run)
        numbers = [int(entry[2]) for line in lines if (entry := _ENTRY.match(line))]
        has_gap = is_list and numbers != [*range(numbers[0], numbers[0] + len(numbers))]
        lines_out += [_ENTRY.sub(r"\1\2\\\3 ", line) for line in lines] if has_gap else lines
    return "\n".join(lines_out)
