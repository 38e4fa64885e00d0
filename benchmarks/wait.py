"""Measure the user's cost of observers: the wait for the first word of a turn on which the dialog stays.

`python -m benchmarks.wait`: the same message with and without observers, in turns, to a dialog model and
an observer that take their time. Only messages count of which the gate is not sure, so that the observer is asked.
"""

import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from agents.events import Observed, Token
from app.assistant import Assistant, Turn
from benchmarks.conversation import WORK, Step, script
from benchmarks.performing import OffScript, Player, perform, stage
from benchmarks.report import Row, arguments, show

FIRST_TOKEN_MS = 300
OBSERVER_MS = 250
MOST_TRIES = 5
"""Of each pair that counts: the gate is sure of some messages."""
TARGET = 5
"""The most that observers may add, in percent of the wait without them."""


async def measure(pairs: int, first_token: int, observer: int) -> tuple[list[float], list[float]]:
    """Return the waits for the first word in milliseconds, unwatched and watched."""
    unwatched_waits: list[float] = []
    watched_waits: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        off, on = Player(), Player()
        async with (
            stage(f"sqlite:///{Path(folder) / 'off.db'}", off, watched=False) as unwatched,
            stage(f"sqlite:///{Path(folder) / 'on.db'}", on) as watched,
        ):
            for assistant, player in ((unwatched, off), (watched, on)):
                # Past the first block, so that the history has a usual length and everything is warm.
                async for _events in perform(assistant, player, script()[:11]):
                    pass
                player.delays = {WORK: first_token / 1000, "observer": observer / 1000}
            for question in islice(cycle(_questions()), MOST_TRIES * pairs):
                off.step = on.step = question
                without, _ = await _first_word(unwatched, question)
                wait, is_watched = await _first_word(watched, question)
                if is_watched:
                    unwatched_waits.append(without)
                    watched_waits.append(wait)
                if len(watched_waits) == pairs:
                    return unwatched_waits, watched_waits
    raise OffScript(f"an observer was asked about {len(watched_waits)} messages, not about {pairs}")


def _questions() -> list[Step]:
    """Return the script's messages to the dialog that leads. Their answers need no tool."""
    asks = [step for step in script() if step.kind == "continue" and step.speaker == WORK]
    return [replace(step, exchange=replace(step.exchange, query="")) for step in asks]


async def _first_word(assistant: Assistant, step: Step) -> tuple[float, bool]:
    """Return the milliseconds until the first word, and whether an observer was asked."""
    begun, waited, observed = time.perf_counter(), 0.0, False
    async for event in assistant.play(Turn(thread="script", text=step.exchange.says)):
        if isinstance(event, Token) and not waited:
            waited = (time.perf_counter() - begun) * 1000
        observed = observed or (isinstance(event, Observed) and event.by == "observer")
    return waited, observed


def main() -> None:
    """Measure, and compare the wait with the target."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="repetitions with and without observers")
    parser.add_argument("--first-token", type=int, default=FIRST_TOKEN_MS, help="of the dialog's model, ms")
    parser.add_argument("--observer", type=int, default=OBSERVER_MS, help="ms an observer takes")
    chosen = parser.parse_args()
    off, on = asyncio.run(measure(chosen.pairs, chosen.first_token, chosen.observer))
    base, added = statistics.median(off), statistics.median(on) - statistics.median(off)

    def row(name: str, median: float, waits: list[float] | None = None, target: str = "") -> Row:
        spread = (min(waits), max(waits), len(waits)) if waits else (None, None, None)
        return {
            "wait for the first word, ms": name,
            "median": median,
            **dict(zip(("lowest", "highest", "turns"), spread, strict=True)),
            "target": target,
        }

    rows = [
        row("observers off", base, off),
        row("observers on", statistics.median(on), on),
        row("added", added),
        row("added, %", 100 * added / base, target=f"< {TARGET}"),
    ]
    show(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
