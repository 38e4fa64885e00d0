"""One interface to all contestants: each plays a step on a thread, at its own durability."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from app.assistant import Assistant
from benchmarks import peer_supervisor, peer_swarm, peer_tools
from benchmarks.contestant import Contestant
from benchmarks.conversation import Step
from benchmarks.instant import Troupe
from benchmarks.performing import OffScript, perform, stage

Play = Callable[[Step, str], Awaitable[None]]
Build = Callable[[Troupe, BaseCheckpointSaver[Any]], Any]

PEERS: Mapping[str, tuple[type[Troupe], Build]] = {
    "langgraph-swarm": (peer_swarm.SwarmPlayer, peer_swarm.build),
    "specialists as tools": (peer_tools.ToolsPlayer, peer_tools.build),
    "langgraph-supervisor": (peer_supervisor.SupervisorPlayer, peer_supervisor.build),
}


@asynccontextmanager
async def entered(contestant: Contestant, path: Path) -> AsyncIterator[tuple[Troupe, Play]]:
    """Open the database file at `path` and put the contestant together around the script."""
    kind, build = PEERS.get(contestant.name, (Troupe, None))
    player = kind()
    player.in_words, player.slots = contestant.in_words, contestant.slots
    if build is None:
        async with stage(f"sqlite:///{path}", player, durability=contestant.durability) as assistant:
            yield player, _application(assistant, player)
        return
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield player, _graph(build(player, saver), player, contestant)


def _application(assistant: Assistant, player: Troupe) -> Play:
    async def play(step: Step, thread: str) -> None:
        async for _ in perform(assistant, player, [step], thread):
            pass

    return play


def _graph(graph: Any, player: Troupe, contestant: Contestant) -> Play:
    async def play(step: Step, thread: str) -> None:
        player.step = step
        turn_input = {"messages": [HumanMessage(step.exchange.says)]}
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        if contestant.in_words:
            stream = graph.astream(
                turn_input, config, stream_mode="messages", subgraphs=True, durability=contestant.durability
            )
            answer = "".join([message.text async for _, (message, _) in stream if message.type == "AIMessageChunk"])
        else:
            answer = (await graph.ainvoke(turn_input, config, durability=contestant.durability))["messages"][-1].text
        if answer != step.exchange.answer:
            raise OffScript(f"{contestant.label} answered {answer!r} instead of {step.exchange.answer!r}")

    return play
