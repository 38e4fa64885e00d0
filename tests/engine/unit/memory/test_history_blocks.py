"""Histories in blocks: each block is stored once, is read in any process, and goes with the last that refers to it."""

import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import ormsgpack
import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint

from agents.errors import BrokenState
from agents.memory import Memory
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.checkpointer import Saver
from agents.memory.connection import Tables, connect, migrate
from agents.memory.history_blocks import BLOCK
from agents.memory.serializer import Packing, deflated, inflated
from agents.memory.sqlite_file import SqliteBackend
from tests.support.tiny_graph import THREAD, count, open_saver

HISTORY: list[AnyMessage] = [HumanMessage(f"Message {number}.", id=str(number)) for number in range(4 * BLOCK + 3)]
FORMER = Tables(CHECKPOINTS.owner, dict([*CHECKPOINTS.migrations.items()][:1]))
"""The tables of checkpoints before there were blocks."""


@pytest.fixture
async def saver(path: Path) -> AsyncGenerator[Saver, None]:
    """A saver that keeps two turns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    async with open_saver(str(path), keep=2) as opened:
        yield opened


def holding(messages: list[AnyMessage], **state: object) -> Checkpoint:
    """Return a checkpoint in which a speaker has a history, and so has somebody who is set aside."""
    values = {"talks": {"supervisor": {"messages": messages}}, **state}
    return {**empty_checkpoint(), "channel_values": values}


async def put(saver: Saver, messages: list[AnyMessage], thread: str = "t", **state: object) -> None:
    """Save a turn that ends with a history."""
    place: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    await saver.aput(place, holding(messages, **state), cast(Any, {"source": "input", "step": 0}), {})


async def texts(saver: Saver, config: RunnableConfig = THREAD) -> list[str]:
    """Return the history of the latest checkpoint."""
    stored = await saver.aget_tuple(config)
    assert stored is not None
    return [message.text for message in stored.checkpoint["channel_values"]["talks"]["supervisor"]["messages"]]


def told(messages: list[AnyMessage]) -> list[str]:
    """Return the texts of messages."""
    return [message.text for message in messages]


async def test_a_block_is_stored_once_and_read_by_any_process(path: Path, saver: Saver) -> None:
    """A history that grows by a message adds no block, unless one is full; a fresh saver reads all of it."""
    for length in range(2 * BLOCK, len(HISTORY) + 1):
        await put(saver, HISTORY[:length])
        assert count(path, "blocks") == length // BLOCK
    async with open_saver(str(path)) as fresh:
        assert await texts(fresh) == await texts(saver) == told(HISTORY)
        await put(fresh, HISTORY)
    assert count(path, "blocks") == len(HISTORY) // BLOCK


async def test_a_message_is_packed_once(saver: Saver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next checkpoints have its bytes as they are, and who reads them here gets the message itself."""
    packed, dumps = list[object](), Packing.dumps_typed

    def counted(packing: Packing, value: object) -> tuple[str, bytes]:
        packed.extend(value if isinstance(value, list) else [])
        return dumps(packing, value)

    monkeypatch.setattr(Packing, "dumps_typed", counted)
    for length in range(1, BLOCK):
        await put(saver, HISTORY[:length])
        assert packed == HISTORY[:length]
        stored = await saver.aget_tuple(THREAD)
        assert stored is not None
        held = stored.checkpoint["channel_values"]["talks"]["supervisor"]["messages"]
        assert [*map(id, held)] == [*map(id, HISTORY[:length])]


async def test_people_who_are_set_aside_have_blocks_too(path: Path, saver: Saver) -> None:
    """Their histories come back, and share what is the same."""
    aside = {"ann": {"name": "Ann", "talks": {"planner": {"messages": HISTORY[: 2 * BLOCK]}}}, "bob": {"name": "Bob"}}
    await put(saver, HISTORY, persons=aside)
    assert count(path, "blocks") == len(HISTORY) // BLOCK
    async with open_saver(str(path)) as fresh:
        stored = await fresh.aget_tuple(THREAD)
    assert stored is not None
    persons = stored.checkpoint["channel_values"]["persons"]
    assert told(persons["ann"]["talks"]["planner"]["messages"]) == told(HISTORY[: 2 * BLOCK])


async def test_blocks_go_with_the_last_checkpoint_that_refers_to_them(path: Path, saver: Saver) -> None:
    """A cut makes new blocks; the old ones stay as long as a turn can be gone back to that has them."""
    await put(saver, HISTORY)
    cut = HISTORY[BLOCK + 1 :]
    await put(saver, cut)
    assert count(path, "blocks") == len(HISTORY) // BLOCK + len(cut) // BLOCK
    for turn in range(BLOCK):
        await put(saver, [*cut, *(HumanMessage(f"Later {number}.") for number in range(turn + 1))])
    assert count(path, "blocks") < len(HISTORY) // BLOCK + len(cut) // BLOCK
    assert [await texts(saver, it.config) async for it in saver.alist(THREAD)][-1][: len(cut)] == told(cut)


async def test_who_prunes_or_forgets_a_thread_leaves_no_block(path: Path, saver: Saver) -> None:
    """Blocks of former checkpoints alone go with them; other threads keep theirs."""
    await put(saver, HISTORY, "other")
    await put(saver, HISTORY)
    await put(saver, HISTORY[:BLOCK])
    await saver.aprune(["t"])
    assert count(path, "blocks") == len(HISTORY) // BLOCK + 1
    assert await texts(saver) == told(HISTORY[:BLOCK])
    await saver.acopy_thread("other", "copy")
    await saver.adelete_thread("other")
    await saver.adelete_thread("t")
    assert await texts(saver, {"configurable": {"thread_id": "copy"}}) == told(HISTORY)
    await saver.drop_last_turn("copy")
    assert count(path, "blocks") == 0


async def test_a_block_that_is_gone_breaks_the_state(path: Path, saver: Saver) -> None:
    """A history with a gap would be believed; such a state is rebuilt from the transcript."""
    await put(saver, HISTORY)
    await saver.connection.execute("DELETE FROM blocks WHERE value = (SELECT max(value) FROM blocks)")
    async with open_saver(str(path)) as fresh:
        with pytest.raises(BrokenState):
            await fresh.aget_tuple(THREAD)
        # What this process remembers is stored anew, since it asks what is there.
        await put(saver, HISTORY)
        assert await texts(fresh) == told(HISTORY)


@pytest.mark.parametrize("has_blocks", [False, True])
async def test_a_file_of_an_older_version_is_read_and_goes_on(path: Path, has_blocks: bool) -> None:
    """Its checkpoints hold their whole history, or their own blocks; the next turn stores these once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint, packing, blocks = holding(HISTORY), Packing(), list[bytes]()
    if has_blocks:
        starts = range(0, len(HISTORY) - len(HISTORY) % BLOCK, BLOCK)
        packed = [packing.dumps_typed(HISTORY[start : start + BLOCK]) for start in starts]
        blocks = [f"{kind}\0".encode() + data for kind, data in packed]
        talk = {"messages": HISTORY[BLOCK * len(blocks) :], "blocks": [0, len(blocks)]}
        checkpoint["channel_values"]["talks"]["supervisor"] = talk
    kind, data = packing.dumps_typed(checkpoint)
    if has_blocks:
        kind, data = f"blocks {kind}", ormsgpack.packb([*blocks, data])
    row = ("t", "", checkpoint["id"], kind, data, "{}", "loop")
    async with connect(str(path), "NORMAL") as connection:
        await connection.read(lambda database: migrate(FORMER, database))
        columns = "thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata, source"
        await connection.execute(f"INSERT INTO checkpoints ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
        assert await texts(memory.saver) == told(HISTORY)
        await put(memory.saver, [*HISTORY, HumanMessage("And now?")])
    assert count(path, "blocks") == len(HISTORY) // BLOCK


async def test_blocks_are_kept_on_each_kind_of_database(memory: Memory) -> None:
    """Digests and blocks are bytes there, too."""
    await put(memory.saver, HISTORY)
    await put(memory.saver, HISTORY[1:])
    async with memory.storage.connect("NORMAL") as connection:
        assert await texts(Saver(connection)) == told(HISTORY[1:])
    await memory.saver.aprune(["t"])
    [(blocks,)] = await memory.database.execute("SELECT count(*) FROM blocks")
    assert blocks == (len(HISTORY) - 1) // BLOCK


def test_the_preset_dictionary_is_the_same_for_ever() -> None:
    """Another dictionary could not read the old packs; packs without a dictionary are read as well."""
    packed = deflated(b"")
    assert packed[2:6].hex() == "a8cbb12c"
    assert inflated(packed) == b""
    assert inflated(zlib.compress(b"as before")) == b"as before"
