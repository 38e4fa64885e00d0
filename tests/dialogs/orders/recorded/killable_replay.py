"""Turns of a shop's recorded tasks, in processes that may be killed at any of their steps.

`python -m tests.dialogs.orders.recorded.killable_replay` serves them.
"""

import json
import os
from functools import cache

from agents.memory.sqlite_file import SqliteBackend
from agents.toolkit.services import Services
from app.assistant import Turn
from benchmarks.replay import compose
from dialogs.orders.store import TABLES, open_services
from tests.dialogs.orders.recorded.reads import Reads
from tests.dialogs.orders.recorded.script import Clerk
from tests.dialogs.orders.recorded.tasks import Task, tasks
from tests.support.killable_process import Request, serve
from tests.support.killable_writes import Steps, count
from tests.support.places import DATA

RETAIL = DATA / "tau_retail"


@cache
def tasks_and_reads() -> tuple[dict[str, Task], Reads]:
    """Read the tasks and the shop, once for all processes that are forked afterwards."""
    records = json.loads((RETAIL / "db.json").read_text("utf-8"))
    return {task.id: task for task in tasks(RETAIL / "replay_train.jsonl")}, Reads(records)


async def play(request: Request, pipe: int) -> None:
    """Play a turn of the task that the thread is named after."""
    all_tasks, reads = tasks_and_reads()
    clerk, steps = (
        Clerk(task=all_tasks.get(request.thread, next(iter(all_tasks.values()))), reads=reads),
        Steps(request.step),
    )
    count(steps)
    async with (
        SqliteBackend(f"sqlite:///{request.database}").open(tables=[TABLES]) as memory,
        open_services(Services(memory.database, memory.ledger)) as shop,
    ):
        assistant = compose(memory, clerk, Services(*shop))
        async for event in assistant.play(Turn(thread=request.thread, text=request.text, lang="en", id=request.id)):
            os.write(pipe, json.dumps(event.plain()).encode() + b"\n")
            steps.begun = (steps.begun or event.type == "tool.start") and event.type != "turn.end"


if __name__ == "__main__":
    serve(play)
