"""Measure the time until a search shows something: `python -m benchmarks.first_source`.

A turn of the whole graph with a scripted model, and a source that takes 200 ms for each query. Counted are the time
of ten queries together, the time until the sources leave, and the time until the first piece of the answer.
"""

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from agents.events import SearchStep, Sources, Token
from agents.graph import build_graph
from agents.memory.sqlite_file import SqliteBackend
from agents.toolkit.services import Services
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import discover
from app.testing.script import Call, Script
from benchmarks.report import Row, arguments, show
from dialogs.research.retrievers import FoundDocument, Results
from dialogs.research.services import Retrievers

QUERIES = 10
SECONDS = 0.2
BAR = 400
"""The most milliseconds that all queries may take together."""


@dataclass(frozen=True)
class Slow:
    """A source that answers every query after a while."""

    name: str = "slow"
    reaches_out: bool = False

    def description(self, lang: str) -> str:
        """Return the description of the source."""
        return self.name

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return one document."""
        await asyncio.sleep(SECONDS)
        return Results([FoundDocument(f"About {query}.", query, f"https://slow.example/{query}", self.name)])


async def measure() -> dict[str, int]:
    """Return the milliseconds of one turn, from its beginning, and those of all queries together."""
    speakers, observers = discover()
    script = Script(delays={"research": SECONDS})
    search = Call("search", {"queries": [f"query {number}" for number in range(QUERIES)]})
    script.add(supervisor=[Call("look_things_up")], research=[search, "So it is [source=[0, 9]]."])
    moments: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteBackend(f"sqlite:///{Path(folder) / 'search.db'}").open() as memory:
            graph = build_graph(speakers, observers, saver=memory.saver, store=memory.store)
            models = script.models(["supervisor", "observer", *speakers.dialogs])
            player = TurnPlayer(
                graph,
                Languages("en", ("en",)),
                memory=memory,
                models=models,
                services=Services(Retrievers({"slow": Slow()})),
            )
            assistant, begun = Assistant(player, speakers), time.perf_counter()
            async for event in assistant.play(Turn(thread="t", text="Tell me about ten things")):
                ms = round((time.perf_counter() - begun) * 1000)
                if isinstance(event, SearchStep) and event.step == "collect":
                    moments["together"] = event.ms
                elif isinstance(event, Sources | Token):
                    moments.setdefault(event.type, ms)
    return moments


def main() -> int:
    """Print one row; return 1 if the bar is missed, or the answer begins before its sources."""
    options = arguments(__doc__).parse_args()
    moments = asyncio.run(measure())
    together, sources, token = moments["together"], moments[Sources.type], moments[Token.type]
    row: Row = {
        "queries": QUERIES,
        "ms each": round(SECONDS * 1000),
        "ms together": together,
        "bar": BAR,
        "ms to sources": sources,
        "ms to answer": token,
    }
    show([row], as_json=options.json)
    return int(together >= BAR or sources > token)


if __name__ == "__main__":
    raise SystemExit(main())
