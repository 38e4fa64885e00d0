"""The saver's limit of kept turns in a thread; each can be read again."""

import time
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base import id as uuid6

from agents.memory import Memory
from agents.memory.checkpointer import Saver
from tests.support.tiny_graph import THREAD, count, graph, open_saver, say, words

TEXTS = [f"word {number} {'abc def ' * (number % 7)}" for number in range(12)]


@pytest.fixture
async def saver(path: Path) -> AsyncGenerator[Saver, None]:
    """A saver that keeps four turns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    async with open_saver(str(path), keep=4) as opened:
        yield opened


async def last_steps(saver: Saver, thread: RunnableConfig = THREAD) -> list[CheckpointTuple]:
    """Return the last checkpoint of each kept turn, the newest first: no other step of its turn follows it."""
    listed = [kept async for kept in saver.alist(thread)]
    followed = [kept.parent_config for kept in listed if kept.metadata["source"] == "loop"]
    return [kept for kept in listed if kept.config not in followed]


async def ends(saver: Saver, thread: RunnableConfig = THREAD) -> list[list[str]]:
    """Return the end of each kept turn, the newest first."""
    return [kept.checkpoint["channel_values"].get("words", []) for kept in await last_steps(saver, thread)]


async def ids(saver: Saver, **conditions: Any) -> list[str]:
    """Return the ids of the checkpoints that fit conditions, the newest first."""
    return [kept.config["configurable"]["checkpoint_id"] async for kept in saver.alist(None, **conditions)]


def told(number: int) -> list[str]:
    """Return the words of a thread after so many turns."""
    return [word for text in TEXTS[:number] for word in (text, text.upper())]


async def test_the_last_turns_are_kept_whole_and_the_others_go(path: Path, saver: Saver) -> None:
    """Four turns can be read beside the one that was last; each ends with the words that it ended with."""
    for text in TEXTS:
        await say(saver, text)
    assert await ends(saver) == [told(number) for number in (12, 11, 10, 9, 8)]
    assert count(path, "checkpoints") == 5


async def test_a_turn_that_is_dropped_goes_alone(saver: Saver) -> None:
    """An ended turn has one checkpoint; after it is dropped the turn before it is the last one."""
    for text in TEXTS[:3]:
        await say(saver, text)
    await saver.drop_last_turn(str(THREAD["configurable"]["thread_id"]))
    assert await words(saver) == told(2)


async def test_a_turn_can_be_gone_back_to_and_what_came_after_stays_readable(saver: Saver) -> None:
    """A fork goes on from its turn, as the newest; the turns that it leaves are still in the history."""
    for text in TEXTS[:5]:
        await say(saver, text)
    kept = await last_steps(saver)
    await graph(saver).aupdate_state(kept[2].config, {"words": ["back"]})
    assert await words(saver) == [*told(3), "back"]
    await say(saver, "on")
    assert await words(saver) == [*told(3), "back", "on", "ON"]
    assert told(5) in await ends(saver)
    assert told(3) in await ends(saver)


async def test_what_waits_at_the_end_of_a_turn_stays_with_it(saver: Saver) -> None:
    """A question that later turns left is there again for who goes back to it."""
    await say(saver, "ask")
    for text in TEXTS[:3]:
        await say(saver, text)
    waiting = (await last_steps(saver))[-1]
    assert waiting.checkpoint["channel_values"]["words"] == ["ask"]
    assert [channel for _, channel, _ in waiting.pending_writes or []] == ["__interrupt__"]


async def test_all_keeps_every_step(path: Path) -> None:
    """With "all" a turn has the checkpoints that the stock saver has, with their writes."""
    path.parent.mkdir(parents=True)
    async with open_saver(str(path), keep="all") as saver:
        await say(saver, "one")
        await say(saver, "two")
        history = [step async for step in graph(saver).aget_state_history(THREAD)]
    assert [step.metadata["source"] for step in history] == ["loop", "loop", "input"] * 2
    assert [task.result for step in history for task in step.tasks if task.name == "answer"] == [
        {"words": ["TWO"]},
        {"words": ["ONE"]},
    ]


@pytest.mark.parametrize("keep", [0, -1])
async def test_a_number_below_one_is_refused(keep: int) -> None:
    """Keeping nothing would lose the turn that runs."""
    with pytest.raises(ValueError, match="keep must be"):
        async with open_saver(":memory:", keep=keep):
            pass


async def test_runs_threads_and_latest_go_as_they_are_told(saver: Saver) -> None:
    """Checkpoints that differ from deleted ones are still whole; a copy has a history of its own."""
    for number, text in enumerate(TEXTS[:5]):
        config: RunnableConfig = {**THREAD, "metadata": {"run_id": f"run {number}"}}
        await graph(saver).ainvoke({"words": [text]}, config, durability="sync")
    await saver.acopy_thread("t", "copy")
    copy: RunnableConfig = {"configurable": {"thread_id": "copy"}}
    assert await ends(saver, copy) == await ends(saver) == [told(number) for number in (5, 4, 3, 2, 1)]
    await saver.adelete_for_runs(["run 2", "run 4"])
    assert await ends(saver, copy) == await ends(saver) == [told(4), told(2), told(1)]
    await saver.aprune(["t"])
    assert (await ends(saver), await ends(saver, copy)) == ([told(4)], [told(4), told(2), told(1)])


async def test_pages_and_limits_run_through_a_long_history(path: Path) -> None:
    """More checkpoints than a page holds are listed once each, newest first; limit and `before` cut the list."""
    path.parent.mkdir(parents=True)
    async with open_saver(str(path), keep="all") as saver:
        for number in range(30):
            await say(saver, str(number))
        listed = await ids(saver)
        assert listed == sorted(set(listed), reverse=True)
        assert len(listed) == 90
        before: Any = {"configurable": {"checkpoint_id": listed[9]}}
        assert await ids(saver, before=before, limit=70) == listed[10:80]


async def test_metadata_that_are_no_json_do_not_stop_a_thread(saver: Saver) -> None:
    """A forged row costs its own place in the history, not the next turn."""
    await say(saver, "one")
    await saver.connection.execute("UPDATE checkpoints SET metadata = '{\"source\":'")
    await graph(saver).ainvoke({"words": ["two"]}, {"configurable": {"thread_id": "other"}}, durability="sync")
    await saver.adelete_for_runs(["run"])
    await saver.aprune(["t"], strategy="keep_latest")


async def test_a_history_survives_vacuum_under_a_clock_that_is_behind(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows keep the order in which they were written when `forget` of another thread rewrites the file."""
    now = time.time_ns()
    for number, text in enumerate(TEXTS[:4]):
        monkeypatch.setattr(uuid6, "_last_v6_timestamp", None)
        monkeypatch.setattr(time, "time_ns", partial(int, now - number * 60_000_000_000))
        await say(memory.saver, text)
    ended = [kept.config["configurable"]["checkpoint_id"] for kept in await last_steps(memory.saver)]
    assert ended == sorted(ended)
    other: RunnableConfig = {"configurable": {"thread_id": "other"}}
    await say(memory.saver, "one", other)
    await memory.forget("other")
    assert await ends(memory.saver) == [told(number) for number in (4, 3, 2, 1)]
