"""Measure the cost of three hundred tools in a conversation: their cards appended, or all of them bound.

`python -m benchmarks.tool_search --turns 30`. The models are scripted and always call the right tool, so only the
prompts differ. Tokens are a lower bound: the pieces into which cl100k cuts a text before it merges anything, each at
least one token; no vocabulary is downloaded. A prompt repeats the previous one as far as both are equal from their
start, tools first; the rest is fresh. The cost counts a fresh character as 1 and a repeated one as 0.1, as if a
provider served repeated text from its cache at a tenth of the price.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from agents.events import Event, Message, ToolEnd
from agents.graph import build_graph
from agents.memory.sqlite_file import SqliteBackend
from agents.state import SUPERVISOR
from agents.toolkit import tool_search
from agents.toolkit.tool_search import FIND
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.testing.script import Asked
from benchmarks.conversation import TURNS
from benchmarks.counts import Calls
from benchmarks.performing import OffScript, company
from benchmarks.pieces import least_tokens
from benchmarks.report import Row, arguments, show
from benchmarks.warehouse import with_warehouse
from prompts import languages
from tests.support.errands import Errand, Perfect, errands

CACHED = 0.1
"""The price of a character from a cache; a fresh one costs 1."""
WAYS: Mapping[str, int] = {"cards appended": tool_search.MOST_BOUND, "all bound": 1_000}
"""The limits of tools that may be bound without a search, by name."""


def converse(way: str, turns: int, folder: Path) -> Calls:
    """Perform the errands with the tools offered in this way, and return the model calls.

    Raises:
        OffScript: a turn did not end with the right tool and the answer.
    """
    with patch.object(tool_search, "MOST_BOUND", WAYS[way]):
        return asyncio.run(_converse(turns, f"sqlite:///{folder / f'{WAYS[way]}.db'}"))


async def _converse(turns: int, url: str) -> Calls:
    player, numbers = Perfect(), list[int]()
    speakers = with_warehouse(company(watched=False))
    async with SqliteBackend(url).open() as memory:
        graph = build_graph(speakers, {}, saver=memory.saver, store=memory.store)
        models = player.models([SUPERVISOR, *speakers.dialogs])
        langs = Languages("en", tuple(languages()))
        assistant = Assistant(TurnPlayer(graph, langs, memory=memory, models=models), speakers)
        for number, errand in enumerate(errands(turns), 1):
            player.errand = errand
            _check(errand, [event async for event in assistant.play(Turn(thread="errands", text=errand.says))])
            numbers += [number] * (len(player.asked) - len(numbers))
    return Calls(player.asked, numbers)


def _check(errand: Errand, events: list[Event]) -> None:
    ran = [event.tool for event in events if isinstance(event, ToolEnd) and event.ok and event.tool != FIND]
    replies = [event.text for event in events if isinstance(event, Message)]
    if ran != ([errand.tool] if errand.tool else []) or replies != [errand.answer]:
        raise OffScript(f"{errand.says!r} was to run {errand.tool or 'nothing'}; {ran} ran, and {replies} was said")


def row(way: str, calls: Calls) -> Row:
    """Return the figures of the calls, by turn of the conversation."""
    turns, fresh = max(calls.turns), calls.characters - calls.repeated
    return {
        "tools": way,
        "calls": len(calls.asked),
        "looked for": sum(map(_looked, calls.asked)),
        "characters a turn": round(calls.characters / turns),
        "tokens a turn, at least": round(sum(least_tokens(call.prefix) for call in calls.asked) / turns),
        "repeated %": 100 * calls.repeated / calls.characters,
        "fresh a turn": round(fresh / turns),
        "cost a turn": round((fresh + CACHED * calls.repeated) / turns),
    }


def _looked(one: Asked) -> bool:
    """Tell whether a call follows a result of `find_tools`."""
    return len(one.messages) > 1 and getattr(one.messages[-1], "name", None) == FIND


def main() -> None:
    """Perform the same conversation in each way."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(way, converse(way, chosen.turns, Path(folder))) for way in WAYS]
    show(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
