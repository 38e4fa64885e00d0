"""The checkpoints of a thread: the last one written, whatever the clocks say."""

import asyncio
import os
import time
import zlib
from pathlib import Path

import ormsgpack
import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base import id as ids
from langgraph.graph import START, StateGraph

from agents.errors import BrokenState
from agents.memory import Memory
from agents.memory.checkpointer import Saver
from tests.support.simulated_time import rounds
from tests.support.tiny_graph import THREAD, Words, count, letter, open_saver, say, words


class TestSaver:
    """Checkpoints: last written wins, little grows, nothing runs."""

    async def test_a_turn_under_a_clock_that_is_behind_is_kept(
        self, path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second saver whose clock is 5 s behind answers a turn, and the next turn knows it."""
        await say(memory.saver, "one")
        behind = time.time_ns() - 5_000_000_000
        async with open_saver(str(path)) as second:
            with monkeypatch.context() as patch:
                patch.setattr(ids, "_last_v6_timestamp", None)
                patch.setattr(time, "time_ns", lambda: behind)
                await say(second, "two")
        await say(memory.saver, "three")
        assert await words(memory.saver) == ["one", "ONE", "two", "TWO", "three", "THREE"]

    @pytest.mark.parametrize("kind", ["msgpack", "json", "pickle"])
    async def test_a_forged_row_runs_no_code(
        self, kind: str, path: Path, memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A forger with access to the database still cannot run code here."""
        await say(memory.saver, "one")
        trap = str(tmp_path / "trap")
        extension = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", trap))))
        forged = {
            "msgpack": extension,
            "json": b'{"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": ["%s"]}' % trap.encode(),
            "pickle": b"cos\nmkdir\n(V" + trap.encode() + b"\ntR.",
        }
        for packing in (bytes, zlib.compress):
            row = f"zlib {kind}" if packing is zlib.compress else kind, packing(forged[kind])
            await memory.database.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", row)
            with pytest.raises(BrokenState, match="thread 't'"):
                await memory.saver.aget_tuple(THREAD)
        assert "trap" not in os.listdir(tmp_path)

    async def test_a_cancelled_write_is_undone_and_lets_the_next_writer_in(self, path: Path, memory: Memory) -> None:
        """Whenever a write is cancelled, it happened whole or not at all, and the file is free at once."""
        await say(memory.saver, "one")
        place, before = (await newest(memory.saver)).config, count(path, "writes")
        for moment in range(20):
            task = asyncio.create_task(memory.saver.aput_writes(place, [("a", 1), ("b", 2)], f"x{moment}"))
            await rounds(moment)
            task.cancel()
            await asyncio.wait([task])
            assert (count(path, "writes") - before) % 2 == 0
            async with asyncio.timeout(60):
                await memory.transcript.accept(letter(str(moment)))


async def test_a_turn_is_saved_when_its_route_is_over_or_has_failed(memory: Memory) -> None:
    """Until then the inbox has all of it; a failure is kept with what it was about."""
    seen = list[CheckpointTuple | None]()

    async def route(state: Words) -> Words:
        seen.append(await memory.saver.aget_tuple(THREAD))
        if state["words"][-1] == "fail":
            raise LookupError
        return {"words": ["heard"]}

    built = StateGraph(Words).add_node("route", route).add_node("reply", lambda state: {"words": ["said"]})
    conversation = built.add_edge(START, "route").add_edge("route", "reply").compile(checkpointer=memory.saver)
    await conversation.ainvoke({"words": ["one"]}, THREAD, durability="sync")
    with pytest.raises(LookupError):
        await conversation.ainvoke({"words": ["fail"]}, THREAD, durability="sync")
    assert [saved and saved.checkpoint["channel_values"]["words"] for saved in seen] == [None, ["one", "heard", "said"]]
    failed = await newest(memory.saver)
    assert failed.checkpoint["channel_values"]["words"] == ["one", "heard", "said", "fail"]
    assert [channel for _, channel, _ in failed.pending_writes or []] == ["__error__"]


async def newest(saver: Saver) -> CheckpointTuple:
    """Return the latest checkpoint with its pending writes."""
    saved = await saver.aget_tuple(THREAD)
    assert saved is not None
    return saved
