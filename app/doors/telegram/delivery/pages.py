"""Markdown for Telegram: plain text with entities, cut into pages that fit into one message each."""

import logging
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from urllib.parse import urlsplit

from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert

from agents.events.views import is_told_by, is_web
from agents.language.text.clean import clean
from agents.state.citations import Citation
from app.texts import addresses, marked, numbers, numbers_kept, references, unmarked

LOG = logging.getLogger(__name__)
LIMIT = 4096
"""UTF-16 units of one message."""
MOST_ENTITIES = 100
MOST_PAGES = 20
"""Messages of one text; what goes beyond them is not shown."""
CUT = "[…]"
"""The last message of a text that is not shown to its end."""
MOST_DRAWN = 3
"""How many times as long as its Markdown a text may become: lists in lists and tables are padded with blanks."""
OVERLOADED = re.compile(r"^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){9}|^[^\n]*(?:\|[^|\n]*){40}", re.MULTILINE)
"""A line with more lists in lists, or more columns, than anybody can read; drawing it takes too long."""
SEPARATORS = ("\n\n", "\n", " ")
# The converter drops what looks like HTML; a character of the same width stands in for "<" meanwhile.
STAND_IN = "\ue000"
UNLINKED = (MessageEntity.PRE, MessageEntity.CODE, MessageEntity.TEXT_LINK)
"""Formatting within which there can be no link."""
_JOINED = "\u200d\ufe0f"


@dataclass(frozen=True)
class Page:
    """The text of one message and its formatting."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


@dataclass(frozen=True)
class _Span:
    """An entity by its characters, not its UTF-16 units."""

    begin: int
    end: int
    entity: MessageEntity


def pages(text: str, *, is_markdown: bool = True, citations: Sequence[Citation] = ()) -> list[Page]:
    """Return a text as messages; none for a blank one. A text that cannot be formatted stays as it is.

    The numbers of its citations are links, and a list of the sources stands below.
    """
    text = clean(marked(text, citations))
    entities: Sequence[MessageEntity] = ()
    if is_markdown and not OVERLOADED.search(text):
        try:
            text, entities = _formatted(text)
        except Exception as failure:
            # Whatever a model writes has to arrive; how it looks comes second.
            LOG.warning("an answer is sent without formatting (%s)", type(failure).__name__)
    if citations:
        text, entities = _with_sources(text, entities, citations)
    shown = [*islice(_split(text, entities), MOST_PAGES + 1)]
    return shown if len(shown) <= MOST_PAGES else [*shown[: MOST_PAGES - 1], Page(CUT)]


def _with_sources(
    text: str, entities: Sequence[MessageEntity], citations: Sequence[Citation]
) -> tuple[str, list[MessageEntity]]:
    """Make the numbers of a formatted text links, and quote the list of sources below; each shows where it leads."""
    links, by_number = list(entities), addresses(citations)
    closed = [entity for entity in entities if entity.type in UNLINKED]
    for number, begin, end in numbers(text):
        place, length = utf16_length(text[:begin]), utf16_length(text[begin:end])
        if number in by_number and not any(each.offset <= place < each.offset + each.length for each in closed):
            links.append(MessageEntity(MessageEntity.TEXT_LINK, place, length, url=by_number[number]))
    shown = f"{unmarked(text).rstrip()}\n"
    begin = utf16_length(shown) + 1
    for each in references(citations):
        shown += f"\n[{each.number}] {each.title}"
        if each.url:
            host = urlsplit(each.url).netloc
            links.append(
                MessageEntity(MessageEntity.TEXT_LINK, utf16_length(shown) + 2, utf16_length(host), url=each.url)
            )
        shown += f" ({urlsplit(each.url).netloc})" if each.url else f" ({each.place})" if each.place else ""
    # A long list is folded until somebody wants to see it.
    quote = MessageEntity(MessageEntity.EXPANDABLE_BLOCKQUOTE, begin, utf16_length(shown) - begin)
    return shown, [quote, *links]


def utf16_length(text: str) -> int:
    """Return the length of a text as Telegram counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _formatted(text: str) -> tuple[str, list[MessageEntity]]:
    style = RenderConfig.isolated()
    signs = style.markdown_symbol
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = signs.heading_level_4 = ""
    signs.unordered_list_item, signs.task_uncompleted = "•", "⬜"
    marked = re.sub(r"(?<!\\)<", STAND_IN, text)
    shown, marks = convert(numbers_kept(marked), config=style)
    if len(shown) > MOST_DRAWN * len(text) + LIMIT:
        return text, []
    entities = [
        MessageEntity(mark.type, mark.offset, mark.length, url=_plain(mark.url), language=_plain(mark.language))
        for mark in marks
        if mark.type != MessageEntity.TEXT_LINK or is_web(_plain(mark.url) or "")
    ]
    return _with_targets(shown.replace(STAND_IN, "<"), _nested(entities))


def _with_targets(text: str, entities: Sequence[MessageEntity]) -> tuple[str, list[MessageEntity]]:
    """Write the address behind each link whose words do not tell it: it could lead anywhere."""
    raw = text.encode("utf-16-le")
    addresses: dict[int, str] = {}
    for entity in entities:
        end = entity.offset + entity.length
        words = raw[2 * entity.offset : 2 * end].decode("utf-16-le", "replace")
        if entity.url and not is_told_by(entity.url, words):
            addresses[end] = f" ({entity.url})"
    pieces = {end: address.encode("utf-16-le") for end, address in addresses.items()}

    def moved(place: int, *, is_end: bool) -> int:
        return place + sum(len(piece) // 2 for at, piece in pieces.items() if at < place + (not is_end))

    edges = sorted({0, *pieces, len(raw) // 2})
    written = b"".join(raw[2 * a : 2 * b] + pieces.get(b, b"") for a, b in pairwise(edges))
    shifted = []
    for entity in entities:
        begin = moved(entity.offset, is_end=False)
        length = moved(entity.offset + entity.length, is_end=True) - begin
        shifted.append(MessageEntity(entity.type, begin, length, url=entity.url, language=entity.language))
    return written.decode("utf-16-le"), shifted


def _nested(entities: Sequence[MessageEntity]) -> list[MessageEntity]:
    """Return the entities without those that cross another's edge, which Telegram does not allow."""
    nested: list[MessageEntity] = []
    around: list[int] = []
    for entity in sorted(entities, key=lambda entity: (entity.offset, -entity.length)):
        while around and around[-1] <= entity.offset:
            around.pop()
        end = entity.offset + entity.length
        if not around or end <= around[-1]:
            around.append(end)
            nested.append(entity)
    return nested


def _plain(text: str | None) -> str | None:
    return text and text.replace(STAND_IN, "<")


def _split(text: str, entities: Sequence[MessageEntity]) -> Iterator[Page]:
    units = [0, *accumulate(2 if letter > "\uffff" else 1 for letter in text)]
    spans = [
        _Span(bisect_left(units, entity.offset), bisect_left(units, entity.offset + entity.length), entity)
        for entity in entities
    ]
    # What is longer than a message has to be cut anyway.
    unbroken = [span for span in spans if span.entity.length <= LIMIT]
    begin = 0
    while begin < len(text):
        end = bisect_right(units, units[begin] + LIMIT) - 1
        if end < len(text):
            end = _cut(text, begin, end, unbroken)
        first, last = _trimmed(text, begin, end)
        if first < last:
            yield Page(text[first:last], _within(spans, units, first, last))
        begin = end


def _cut(text: str, begin: int, end: int, unbroken: Sequence[_Span]) -> int:
    """Return where a page that may reach to `end` should end: between paragraphs, lines, words, at worst in one."""

    def holder(place: int) -> int:
        return min((span.begin for span in unbroken if span.begin < place < span.end), default=place)

    for floor in (begin + (end - begin) // 2, begin):
        for separator in SEPARATORS:
            stop = end
            while (at := text.rfind(separator, floor, stop)) >= 0:
                place = at + len(separator)
                if holder(place) == place:
                    return place
                stop = place - 1
    if begin < holder(end) < end:
        return holder(end)
    while end > begin + 1 and (unicodedata.combining(text[end]) or {text[end], text[end - 1]} & set(_JOINED)):
        end -= 1
    return end


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the part of a page that is not blank at its edges; an indentation stays."""
    end = begin + len(text[begin:end].rstrip())
    while begin < end and text[begin] == "\n":
        begin += 1
    return begin, end


def _within(spans: Sequence[_Span], units: Sequence[int], first: int, last: int) -> tuple[MessageEntity, ...]:
    clipped = []
    for span in spans:
        begin, end = max(span.begin, first), min(span.end, last)
        if begin < end:
            offset, length = units[begin] - units[first], units[end] - units[begin]
            entity = span.entity
            clipped.append(MessageEntity(entity.type, offset, length, url=entity.url, language=entity.language))
    return tuple(clipped[:MOST_ENTITIES])
