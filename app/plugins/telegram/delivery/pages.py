"""Markdown for Telegram: plain text with entities, cut into pages of one message each."""

import logging
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Self
from urllib.parse import urlsplit

from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert

from agents.events.views import is_web
from agents.language.text.clean import clean
from agents.state.citations import Citation
from app.presentation.links import in_full, is_told_by
from app.presentation.texts import addresses, marked, numbers, numbers_kept, references, unmarked

LOG = logging.getLogger(__name__)
LIMIT = 4096
"""UTF-16 units of one message."""
MOST_ENTITIES = 100
MOST_PAGES = 20
"""The most messages of one text; the rest is not shown."""
CUT = "[…]"
"""The last message of a text that is not shown to its end."""
MOST_DRAWN = 3
"""The most growth of a text over its Markdown: nested lists and tables are padded with blanks."""
OVERLOADED = re.compile(r"^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){9}|^[^\n]*(?:\|[^|\n]*){40}|\${40}", re.MULTILINE)
"""A line with more nested lists, columns or dollars than a person can read; its conversion takes too long."""
FORMULA, MOST_FORMULAS = re.compile(r"\\[(\[]"), 300
"""The beginning of a formula, and the most formulas: the search for each end goes through the rest of the text."""
SEPARATORS = ("\n\n", "\n", " ")
# The converter drops apparent HTML, and takes stars of sums for marks; characters of the same width replace both.
STAND_IN, STAR = "\ue000", "\ue020"
STARS = re.compile(r"\*+|\n\s*\n")
UNLINKED = (MessageEntity.PRE, MessageEntity.CODE, MessageEntity.TEXT_LINK)
"""The formatting that can hold no link."""
_JOINED = "\u200d\ufe0f"


@dataclass(frozen=True)
class MessagePage:
    """The text of one message and its formatting."""

    text: str
    entities: tuple[MessageEntity, ...] = ()

    @classmethod
    def of(cls, text: str, *entities: MessageEntity) -> Self:
        """Return a page from entities that are counted in characters, not in UTF-16 units."""
        return cls(text, tuple(MessageEntity.adjust_message_entities_to_utf_16(text, entities)))


def pages(text: str, *, is_markdown: bool = True, citations: Sequence[Citation] = ()) -> list[MessagePage]:
    """Return a text as messages; none for a blank text. A text with broken formatting stays as it is.

    The numbers of its citations are links, and a list of the sources stands below.
    """
    text = clean(marked(text, citations))
    entities: Sequence[MessageEntity] = ()
    if is_markdown and not OVERLOADED.search(text):
        try:
            text, entities = _formatted(text)
        except Exception as failure:
            # Every text of a model has to arrive; its formatting comes second.
            LOG.warning("an answer is sent without formatting (%s)", type(failure).__name__)
    if citations:
        text, entities = _with_sources(text, entities, citations)
    shown = [*islice(_split(text, entities), MOST_PAGES + 1)]
    return shown if len(shown) <= MOST_PAGES else [*shown[: MOST_PAGES - 1], MessagePage(CUT)]


def _with_sources(
    text: str, entities: Sequence[MessageEntity], citations: Sequence[Citation]
) -> tuple[str, list[MessageEntity]]:
    """Make links of the numbers in a formatted text, and quote the list of sources below, each with its site."""
    links, by_number = list(entities), addresses(citations)
    closed = [entity for entity in entities if entity.type in UNLINKED]
    for number, begin, end in numbers(text):
        if number in by_number and not any(entity.offset <= begin < _end(entity) for entity in closed):
            links.append(MessageEntity(MessageEntity.TEXT_LINK, begin, end - begin, url=by_number[number]))
    shown = f"{unmarked(text).rstrip()}\n"
    begin = len(shown) + 1
    for reference in references(citations):
        shown += f"\n[{reference.number}] {reference.title}"
        host = urlsplit(reference.url).netloc
        if host:
            links.append(MessageEntity(MessageEntity.TEXT_LINK, len(shown) + 2, len(host), url=reference.url))
        place = host or reference.place
        shown += f" ({place})" if place else ""
    # Telegram folds a long list.
    quote = MessageEntity(MessageEntity.EXPANDABLE_BLOCKQUOTE, begin, len(shown) - begin)
    return shown, [quote, *links]


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units, Telegram's measure."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _formatted(text: str) -> tuple[str, list[MessageEntity]]:
    """Return the formatted text of Markdown, with entities that are counted in characters."""
    style = RenderConfig.isolated()
    signs = style.markdown_symbol
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = signs.heading_level_4 = ""
    signs.unordered_list_item, signs.task_uncompleted = "•", "⬜"
    marked = re.sub(r"(?<!\\)<", STAND_IN, text)
    are_drawn = len(FORMULA.findall(text)) <= MOST_FORMULAS
    shown, marks = convert(_sums_kept(numbers_kept(marked)), latex_escape=are_drawn, config=style)
    if len(shown) > MOST_DRAWN * len(text) + LIMIT:
        return text, []
    units, entities = _units(shown), []
    for mark in marks:
        begin, end = bisect_left(units, mark.offset), bisect_left(units, mark.offset + mark.length)
        url, language = mark.url and mark.url.replace(STAND_IN, "<"), mark.language
        # A model must hide nothing from its reader; hidden text could also cross the edge of another entity.
        is_taken = is_web(url or "") if mark.type == MessageEntity.TEXT_LINK else mark.type != MessageEntity.SPOILER
        if is_taken:
            entities.append(MessageEntity(mark.type, begin, end - begin, url=url, language=language))
    return _with_targets(shown.replace(STAND_IN, "<").replace(STAR, "*"), entities)


def _sums_kept(text: str) -> str:
    """Return Markdown that keeps the stars between letters or digits that end no formatting: 2*3*4."""
    opened: list[int] = []

    def kept(run: re.Match[str]) -> str:
        before, after, length = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1], len(run[0])
        if not run[0].startswith("*"):
            opened.clear()
        elif length in opened and before.strip():
            opened.remove(length)
        elif before.isalnum() and after.isalnum():
            return STAR * length
        elif after.strip() and not before.isalnum():
            opened.append(length)
        return run[0]

    return STARS.sub(kept, text)


def _units(text: str) -> list[int]:
    """Return the number of UTF-16 units before each character, and in all."""
    return [0, *accumulate(2 if letter > "\uffff" else 1 for letter in text)]


def _end(entity: MessageEntity) -> int:
    return entity.offset + entity.length


def _moved(entity: MessageEntity, begin: int, end: int) -> MessageEntity:
    return MessageEntity(entity.type, begin, end - begin, url=entity.url, language=entity.language)


def _with_targets(text: str, entities: Sequence[MessageEntity]) -> tuple[str, list[MessageEntity]]:
    """Write the address behind each link whose text does not show it: such a link could lead anywhere."""
    links = [(entity, entity.url) for entity in entities if entity.url]
    untold = [(link, url) for link, url in links if not is_told_by(url, text[link.offset : _end(link)])]
    targets = {_end(link): f" ({in_full(url)})" for link, url in untold}

    def shifted(place: int, *, is_end: bool) -> int:
        return place + sum(len(target) for at, target in targets.items() if at < place + (not is_end))

    edges = sorted({0, *targets, len(text)})
    written = "".join(text[begin:end] + targets.get(end, "") for begin, end in pairwise(edges))
    return written, [
        _moved(entity, shifted(entity.offset, is_end=False), shifted(_end(entity), is_end=True)) for entity in entities
    ]


def _split(text: str, entities: Sequence[MessageEntity]) -> Iterator[MessagePage]:
    units = _units(text)
    # An entity longer than a message has to be cut anyway.
    unbroken = [entity for entity in entities if units[_end(entity)] - units[entity.offset] <= LIMIT]
    ordered = sorted(entities, key=lambda entity: entity.offset)
    headings = {entity.offset for entity in entities if entity.type == MessageEntity.BOLD and _is_line(text, entity)}
    begin = 0
    while begin < len(text):
        end = bisect_right(units, units[begin] + LIMIT) - 1
        shown = [entity.offset for entity in ordered if _end(entity) > begin and entity.offset < end]
        if len(shown) > MOST_ENTITIES:
            end = max(shown[MOST_ENTITIES], begin + 1)
        if end < len(text):
            end = _without_heading(text, begin, _cut(text, begin, end, unbroken), headings)
        # Blank lines at the edges go; an indentation stays.
        last = begin + len(text[begin:end].rstrip())
        first = last - len(text[begin:last].lstrip("\n"))
        if first < last:
            yield MessagePage.of(text[first:last], *_within(entities, first, last))
        begin = end


def _within(entities: Sequence[MessageEntity], first: int, last: int) -> list[MessageEntity]:
    clipped = [(entity, max(entity.offset, first) - first, min(_end(entity), last) - first) for entity in entities]
    return [_moved(entity, begin, end) for entity, begin, end in clipped if begin < end][:MOST_ENTITIES]


def _is_line(text: str, entity: MessageEntity) -> bool:
    """Tell whether formatting covers exactly a line."""
    begin, end = entity.offset, _end(entity)
    return text[max(begin - 1, 0) : begin] in ("", "\n") and text[end : end + 1] in ("", "\n")


def _without_heading(text: str, begin: int, end: int, headings: Collection[int]) -> int:
    """Return the end of a page, before a heading that belongs to the next page."""
    place = end
    while (line := text.rfind("\n", begin, len(text[:place].rstrip())) + 1) > begin and line in headings:
        place = line
    return place


def _cut(text: str, begin: int, end: int, unbroken: Sequence[MessageEntity]) -> int:
    """Return the best end of a page up to `end`: between paragraphs, lines, words, at worst within a word."""

    def holder(place: int) -> int:
        return min((entity.offset for entity in unbroken if entity.offset < place < _end(entity)), default=place)

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
