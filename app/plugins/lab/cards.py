"""Cards of tools, edited with their effect at once: the requests that find the tool, and those that no longer do."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Literal

from agents.errors import UsageError
from agents.language.text.stems import stems
from agents.language.tool_ranker.ranker import Card, ToolRanker
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import card_of
from app.assistant import Assistant
from app.assistant.records import Answered
from app.plugins.lab.folder import LabFolder
from app.plugins.lab.refusal import LabRefusal
from app.presentation.tool_card import owned_tools, slots, text_faults
from app.yaml_file import FilePart
from prompts import FALLBACK, read_card

MOST_THREADS = 200
"""The number of threads whose requests are read."""


class WrongCard(UsageError):
    """A text is not a valid card with these slots in its examples."""

    def __init__(self, text: str, allowed: Sequence[str]) -> None:
        self._faults = partial(text_faults, text, allowed)
        super().__init__(self.told(FALLBACK))

    def told(self, lang: str) -> str:
        """Return the first fault, in a language."""
        return self._faults(lang)[0]


def check_card(text: str, allowed: Sequence[str]) -> None:
    """Check the text of a card. Its examples may have the slots `allowed`. Raises UsageError: it is not a card."""
    if text_faults(text, allowed):
        raise WrongCard(text, allowed)


class CardQuery(FilePart):
    """A request, and the tool that it is for."""

    text: str
    tool: str
    origin: Literal["labelled", "recorded", "example"] = "labelled"


class Queries(FilePart):
    """The labelled requests of a team: a file of the lab's folder `queries`."""

    queries: tuple[CardQuery, ...] = ()


async def queries_of(assistant: Assistant, folder: LabFolder) -> list[CardQuery]:
    """Return the labelled requests, the examples of all cards, and the messages of threads that a tool answered."""
    queries = [query for labelled in folder.every("queries", Queries).values() for query in labelled.queries]
    for name, owned in owned_tools(assistant.speakers).items():
        phrases = (phrase for texts in card_of(owned[0][1]).examples.values() for phrase in texts)
        queries += [CardQuery(text=phrase, tool=name, origin="example") for phrase in phrases if "{" not in phrase]
    for info in await assistant.threads(most=MOST_THREADS):
        for record in await assistant.records(info.thread):
            called = next((step.tool for step in record.steps if isinstance(step, Answered) and step.ok), None)
            if record.text and called:
                queries.append(CardQuery(text=record.text, tool=called, origin="recorded"))
    return list(dict.fromkeys(queries))


def effect(
    speakers: Speakers, name: str, lang: str, text: str, queries: Sequence[CardQuery]
) -> dict[str, list[CardQuery]]:
    """Return the requests that another text gains for a tool, loses and keeps, and those that it misses with either.

    The first time it takes seconds.

    Raises UsageError: there is no such tool, or the text is not a card.
    """
    owned = owned_tools(speakers)
    if name not in owned:
        raise LabRefusal("no_tool", tool=name)
    check_card(text, slots(owned[name]))
    cards = cards_of(speakers)
    old_card = next(card for card in cards if card.name == name)
    description, examples = read_card(text)
    descriptions = {**old_card.descriptions, **({lang: description} if description else {})}
    new_card = replace(old_card, descriptions=descriptions, examples={**old_card.examples, lang: examples})
    before, after = finder(cards), finder([new_card if card is old_card else card for card in cards])
    # A request that shares no word with the changed lines finds the same tool as before.
    words = {word for line in {*old_card.texts()} ^ {*new_card.texts()} for word in stems(line, lang)}
    near = [
        query
        for query in queries
        if query.tool == name or before(query.text) == name or words.intersection(stems(query.text, lang))
    ]
    firsts = {query: (before(query.text), after(query.text)) for query in near}
    return {
        "gained": [query for query, (old, new) in firsts.items() if old != name == new],
        "lost": [query for query, (old, new) in firsts.items() if old == name != new],
        "kept": [query for query, (old, new) in firsts.items() if old == name == new],
        "missed": [query for query, (old, new) in firsts.items() if query.tool == name and name not in (old, new)],
    }


def cards_of(speakers: Speakers) -> list[Card]:
    """Return the card of every tool."""
    return [card_of(tools[0][1]) for tools in owned_tools(speakers).values()]


class _CardKey(tuple[Card, ...]):
    """Cards that serve as a key, though their texts are in dictionaries."""

    def __hash__(self) -> int:
        return hash(repr(tuple(self)))


def finder(cards: Sequence[Card]) -> Callable[[str], str]:
    """Return the function from a text to the first tool that it finds."""
    return _finder(_CardKey(cards))


# A ranker takes a second to train.
@lru_cache(maxsize=4)
def _finder(cards: _CardKey) -> Callable[[str], str]:
    ranker = ToolRanker(cards)
    return cache(lambda text: ranker.rank(text, 1)[0].name)
