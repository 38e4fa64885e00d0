"""Markdown for Telegram: plain text with entities, cut into pages that fit into one message each."""

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
"""Messages of one text; what goes beyond them is not shown."""
CUT = "[…]"
"""The last message of a text that is not shown to its end."""
MOST_DRAWN = 3
"""How many times longer than its Markdown a text may become: nested lists and tables are padded with blanks."""
OVERLOADED = re.compile(r"^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){9}|^[^\n]*(?:\|[^|\n]*){40}|\${40}", re.MULTILINE)
"""A line with more nested lists, columns or dollars than anybody can read; drawing it takes too long."""
FORMULA, MOST_FORMULAS = re.compile(r"\\[(\[]"), 300
"""Begins a formula, and so many are drawn: for the end of each all the rest of the text is searched."""
SEPARATORS = ("\n\n", "\n", " ")
# The converter drops what looks like HTML, and takes stars of sums for marks; characters of the same width stand in.
STAND_IN, STAR = "\ue000", "\ue020"
STARS = re.compile(r"\*+|\n\s*\n")
UNLINKED = (MessageEntity.PRE, MessageEntity.CODE, MessageEntity.TEXT_LINK)
"""Formatting within which there can be no link."""
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
    """Return a text as messages; a blank text needs none. A text that cannot be formatted stays as it is.

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
    return shown if len(shown) <= MOST_PAGES else [*shown[: MOST_PAGES - 1], MessagePage(CUT)]


def _with_sources(
    text: str, entities: Sequence[MessageEntity], citations: Sequence[Citation]
) -> tuple[str, list[MessageEntity]]:
    """Make the numbers of a formatted text links, and quote the list of sources below; each shows where it leads."""
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
    # A long list is folded until somebody wants to see it.
    quote = MessageEntity(MessageEntity.EXPANDABLE_BLOCKQUOTE, begin, len(shown) - begin)
    return shown, [quote, *links]


def utf16_length(text: str) -> int:
    """Return the length of a text as Telegram counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _formatted(text: str) -> tuple[str, list[MessageEntity]]:
    """Return what Markdown looks like, with entities that are counted in characters."""
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
        # A model hides nothing from its reader; hidden text could also cross another's edge.
        is_taken = is_web(url or "") if mark.type == MessageEntity.TEXT_LINK else mark.type != MessageEntity.SPOILER
        if is_taken:
            entities.append(MessageEntity(mark.type, begin, end - begin, url=url, language=language))
    return _with_targets(shown.replace(STAND_IN, "<").replace(STAR, "*"), entities)


def _sums_kept(text: str) -> str:
    """Return Markdown in which stars between two letters or digits that end no formatting stay as typed: 2*3*4."""
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
    """Return the UTF-16 units before each character, and in all."""
    return [0, *accumulate(2 if letter > "\uffff" else 1 for letter in text)]


def _end(entity: MessageEntity) -> int:
    return entity.offset + entity.length


def _moved(entity: MessageEntity, begin: int, end: int) -> MessageEntity:
    return MessageEntity(entity.type, begin, end - begin, url=entity.url, language=entity.language)


def _with_targets(text: str, entities: Sequence[MessageEntity]) -> tuple[str, list[MessageEntity]]:
    """Write the address behind each link whose words do not tell it: it could lead anywhere."""
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
    # What is longer than a message has to be cut anyway.
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
    """Tell whether formatting covers a line, and no more."""
    begin, end = entity.offset, _end(entity)
    return text[max(begin - 1, 0) : begin] in ("", "\n") and text[end : end + 1] in ("", "\n")


def _without_heading(text: str, begin: int, end: int, headings: Collection[int]) -> int:
    """Return the end of a page, before a heading that belongs to the next page."""
    place = end
    while (line := text.rfind("\n", begin, len(text[:place].rstrip())) + 1) > begin and line in headings:
        place = line
    return place


def _cut(text: str, begin: int, end: int, unbroken: Sequence[MessageEntity]) -> int:
    """Return where a page that may reach to `end` should end: between paragraphs, lines, words, at worst in one."""

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
