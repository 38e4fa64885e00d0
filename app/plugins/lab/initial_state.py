"""The kept turn of a real thread with which a conversation of the lab begins: its state, its clock, its user's items.

The real thread is only read. The stage takes back the writes of its later turns, as if the conversation had gone back
to this turn.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, cast

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from pydantic import Field

from agents.conversation.persons import BLANK
from agents.memory.connection import Row
from agents.memory.store import NUMBERS, namespace_of
from agents.memory.undo_log import DAY_MS, LoggedWrite
from agents.models import Models
from agents.state import State
from agents.state.person import UserMessage
from agents.state.speaker_state import Json, No
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant
from app.assistant.run import config_of
from app.composition import dialogs_of, tables_of
from app.composition.migration import CopiedTable, described
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.stage import staged
from app.settings import Settings
from app.yaml_file import FilePart

DEVICE = "terminal"
"""The device of a conversation whose door was not recorded."""
MOST_ITEMS = 10_000
MESSAGE, NO = "message ", "no "
"""The keys of a message and of a user's no in plain data, of one entry each."""


class KeptItem(FilePart):
    """An item of the user's long-term memory, below their own place."""

    place: tuple[str, ...]
    key: str
    value: Json


class Beginning(FilePart):
    """The end of a turn of a real thread."""

    thread: str
    turn: int
    user: str
    at_ms: int
    """The end of the turn; the clock goes on from there."""
    state: Json
    items: tuple[KeptItem, ...] = ()
    rows: Mapping[str, tuple[tuple[Any, ...], ...]] = Field(default_factory=dict)
    """The user's rows in the tables of dialogs, by table."""
    writes: tuple[Json, ...] = ()
    """The thread's writes in the undo log that can be taken back here, also of later turns."""
    path: tuple[str, ...] = ()
    """The messages up to the turn."""

    @property
    def now(self) -> Callable[[], float]:
        """A clock that goes on from the end of the turn."""
        behind = time.time() - self.at_ms / 1000
        return lambda: time.time() - behind


async def beginning_of(assistant: Assistant, thread: str, turn: int) -> Beginning:
    """Return the end of a turn of a thread; 0: its beginning. Raises UsageError: it is not kept."""
    config = (await assistant.branches.kept_turns(thread)).get(turn)
    if turn and not config:
        raise LabRefusal("turn_not_kept", turn=turn)
    now = cast(State, (await assistant.graph.aget_state(config or config_of(thread))).values)
    memory, user = assistant.memory, now.get("writer", thread)
    heard = UserMessage(id="", text=None, source="message", user=user)
    values = now if turn else {**BLANK, "talks": {}, "lang": now["lang"], "turn": 0, "heard": heard}
    own = namespace_of(user)
    # Counters have counted later turns, too; on the stage they begin with the items that are there.
    items = [it for it in await memory.store.asearch(own, limit=MOST_ITEMS) if it.namespace[len(own) :] != (NUMBERS,)]
    rows = {table.name: await _rows(assistant, table, user) for table in _tables()}
    writes = await memory.undo.writes(thread, user)
    times = [line.at_ms for line in await assistant.history(thread) if line.turn <= max(turn, 1)]
    return Beginning(
        thread=thread,
        turn=turn,
        user=user,
        at_ms=(max if turn else min)(times, default=0),
        state=plain(values),
        items=tuple(KeptItem(place=item.namespace[len(own) :], key=item.key, value=item.value) for item in items),
        rows={name: tuple(own) for name, own in rows.items() if own},
        writes=tuple(asdict(write) for write in writes if "items" in write.record),
        path=tuple(await assistant.branches.path(thread, now["heard"]["id"])) if turn else (),
    )


async def first_of(assistant: Assistant, thread: str) -> Beginning | None:
    """Return the beginning of a thread; None where its writes since then can no longer be taken back."""
    if await assistant.state(thread) is None:
        return None
    begins = await beginning_of(assistant, thread, 0)
    return begins if assistant.memory.now() * 1000 - begins.at_ms < DAY_MS else None


@asynccontextmanager
async def staged_from(
    beginning: Beginning | None, thread: str, settings: Settings, speakers: Speakers, models: Models
) -> AsyncIterator[Assistant]:
    """Open the assistant on a database of its own, with a thread at this beginning. Raises ConfigError as `staged`."""
    async with staged(settings, speakers, models, now=beginning.now if beginning else time.time) as assistant:
        if beginning:
            await _begin(assistant, thread, beginning)
        yield assistant


async def _begin(assistant: Assistant, thread: str, beginning: Beginning) -> None:
    memory, user = assistant.memory, beginning.user
    for item in beginning.items:
        await memory.store.aput((*namespace_of(user), *item.place), item.key, item.value)
    for table in _tables():
        if rows := beginning.rows.get(table.name):
            await memory.database.write(partial(table.add, rows))
    writes = [LoggedWrite(**write) for write in beginning.writes]
    await assistant.branches.place(thread, user, cast(State, revived(beginning.state)), beginning.path, writes)


def _tables() -> list[CopiedTable]:
    return [table for table in described(tables_of(dialogs_of())) if "user" in table.columns]


async def _rows(assistant: Assistant, table: CopiedTable, user: str) -> list[Row]:
    columns = ", ".join(table.columns)
    return await assistant.memory.database.execute(f"SELECT {columns} FROM {table.name} WHERE user = ?", (user,))


def plain(value: Any) -> Any:
    """Return a value of a state as plain data."""
    match value:
        case BaseMessage():
            return {MESSAGE: message_to_dict(value)}
        case No():
            return {NO: str(value)}
        case Mapping():
            return {name: plain(it) for name, it in value.items()}
        case list() | tuple():
            return [plain(it) for it in value]
    return value


def revived(value: Any) -> Any:
    """Return the value from its plain data, as `plain` made them."""
    match value:
        case {"message ": written}:
            return messages_from_dict([written])[0]
        case {"no ": str(written)}:
            return No(written)
        case Mapping():
            return {name: revived(it) for name, it in value.items()}
        case list() | tuple():
            return [revived(it) for it in value]
    return value
