"""Play the recorded tasks of a shop through the whole graph, and compare the outcomes with the recorded ones.

`python -m benchmarks.replay --data DIR`: DIR holds `tau_retail`: `db.json` (the shop) and `replay_train.jsonl`, a
task a line: calls with arguments and outcomes, and the SHA-256 of the shop afterwards. A scripted model hands over
to a dialog with our own tools for that shop, and makes the calls there. An outcome is equal if it has all the
recorded values, read as the model reads them, or if both are errors; a shop, if it has the recorded SHA-256.
"slips" are tasks in which the recorded shop gave each of several changed items the price and the options of the last
of them; with that mistake made on purpose the shop must be the recorded one, else it is not equal.

"identifiers" shows them as they are; "numbers" hides them: what the user did not spell out is read first where the
recorded calls do not show it ("again": what the history does not hold any more). "leaks" are outcomes in which the
model reads an identifier after all; of all prompts those are counted that show one. Then users spell out all that was
not shown; then each write is asked for twice in one reply, and again in the next turn.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agents.events import ToolEnd, TurnEnd
from agents.memory import Memory
from agents.memory.sqlite_file import SqliteBackend
from agents.state import SUPERVISOR
from agents.toolkit.services import Services
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.testing.kept_replies import KeptReplies
from benchmarks import unseen
from benchmarks.report import Row, arguments, show
from dialogs.orders.store import TABLES, open_services
from prompts import languages
from tests.dialogs.orders.files import digest, fill, writes
from tests.dialogs.orders.recorded.desk import DESK, OPERATOR, desk
from tests.dialogs.orders.recorded.outcomes import Played, row
from tests.dialogs.orders.recorded.reads import Reads
from tests.dialogs.orders.recorded.script import Clerk
from tests.dialogs.orders.recorded.tasks import Repeat, Task, tasks
from tests.support.compiled import compiled, discovered

SIDE_BY_SIDE = 8
"""Tasks that are played at a time."""
Watch = Callable[[Assistant, str], Awaitable[None]]
"""A function that checks a thread after its task."""


def compose(memory: Memory, clerk: Clerk, services: Services) -> Assistant:
    """Return an assistant with the clerk's models."""
    speakers = desk(marked=clerk.marked)
    graph = compiled(memory, speakers, discovered()[1], gate=None)
    models = clerk.models([SUPERVISOR, "observer", DESK])
    player = TurnPlayer(
        graph,
        Languages("en", tuple(languages())),
        memory=memory,
        models=models,
        permissions=OPERATOR,
        services=services,
    )
    return Assistant(player, speakers)


async def play(clerk: Clerk, file: Path, watch: Watch | None = None) -> Played:
    """Play a task on a shop's file, and return its outcome."""
    played, task, ends = Played(clerk.task, clerk.marked), clerk.task, list[ToolEnd]()
    async with (
        SqliteBackend(f"sqlite:///{file}").open(tables=[TABLES]) as memory,
        open_services(Services(memory.database, memory.ledger)) as shop,
    ):
        assistant = compose(memory, clerk, Services(*shop))
        for number, text in enumerate(task.texts):
            turn = Turn(thread=task.id, text=text, lang="en", id=str(number))
            events = [event async for event in assistant.play(turn)]
            while any(isinstance(event, TurnEnd) and event.waiting for event in events[-1:]):
                # The shop asks before each change, and the customer agrees.
                turn = Turn(thread=task.id, text="yes", lang="en", id=f"{turn.id}+")
                events += [event async for event in assistant.play(turn)]
            ends += [event for event in events if isinstance(event, ToolEnd)]
        if watch:
            await watch(assistant, task.id)
        snapshot = await assistant.graph.aget_state({"configurable": {"thread_id": task.id}})
    played.known = snapshot.values.get("aliases") or {}
    played.read(clerk.asked)
    for end in ends:
        if end.id in clerk.purposes:
            played.note(end, clerk.purposes[end.id])
    played.spelled, played.forgotten = clerk.spelled, clerk.forgotten
    slips = {step.args["order_id"]: step.slipped for step in task.steps if step.slips}
    played.digest, played.written = digest(file, slips), writes(file)
    return played


async def replay(
    data: Path, *, marked: bool = True, spells: bool = False, repeat: Repeat = "", watch: Watch | None = None
) -> list[Played]:
    """Play all tasks, each on a shop and in a thread of its own; `spells`: users spell out unseen identifiers."""
    reads, side_by_side = Reads(json.loads((data / "db.json").read_text("utf-8"))), asyncio.Semaphore(SIDE_BY_SIDE)
    with tempfile.TemporaryDirectory() as folder:
        fill(shop := Path(folder) / "shop.db", reads.records)

        async def played(task: Task) -> Played:
            async with side_by_side:
                shutil.copy(shop, file := Path(folder) / f"{task.id}.db")
                return await play(Clerk(task=task, reads=reads, marked=marked), file, watch)

        return await asyncio.gather(*map(played, tasks(data / "replay_train.jsonl", repeat, spells=spells)))


async def _rows(data: Path) -> list[Row]:
    ways: dict[str, dict[str, Any]] = {
        "identifiers": {"marked": False},
        "numbers": {},
        "numbers, users spell out": {"spells": True},
        "numbers, twice in a reply": {"repeat": "reply"},
        "numbers, again in the next turn": {"repeat": "turn"},
    }
    rows = []
    for name, way in ways.items():
        kept = KeptReplies()
        played = await replay(data, **way, watch=kept.take)
        rows.append(row(name, played) | {"words unseen": unseen.row(name, kept)["words unseen"]})
    return rows


def main() -> None:
    """Play the tasks in every way."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.parse_args()
    show(asyncio.run(_rows(chosen.data / "tau_retail")), as_json=chosen.json)


if __name__ == "__main__":
    main()
