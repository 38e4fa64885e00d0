"""The graph for LangGraph's server and Studio, loaded from its file and opened for each run as the server does."""

import json
import os
import runpy
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime

from agents.errors import ConfigError, UsageError
from agents.events import RETRY, Error, Message, Token
from agents.memory.sqlite_file import SqliteBackend
from app.plugins.studio.chat_graph import ChatGraph, SpokenMessages
from tests.support.http_service import Answer, Service
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


CAKES = {
    "services": {"bakery": {"url": "BAKERY", "internal": True}},
    "tools": [
        {
            "name": "order_cake",
            "speaker": "supervisor",
            "description": "Order a cake. kind: what cake.",
            "examples": {"en": ["order a {kind} cake", "a {kind} cake, please"], "ru": ["закажи торт {kind}"]},
            "method": "POST",
            "path": "/cakes",
            "parameters": {"kind": {"in": "body"}},
            "key": ["kind"],
            "result": {"message": "Cake no. {no} is ordered."},
        }
    ],
}
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


class Server:
    """The part of LangGraph's server for the graph in `langgraph.json`."""

    def __init__(self) -> None:
        (named,) = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"].values()
        path, _, name = named.partition(":")
        self._factory = runpy.run_path(str(ROOT / path), run_name="loaded")[name]
        self.saver: BaseCheckpointSaver[Any] = InMemorySaver()
        self.store = InMemoryStore()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[ChatGraph]:
        """Make the graph for a run."""
        async with self._factory(_ExecutionRuntime(access_context="threads.create_run", store=self.store)) as made:
            yield made.copy(update={"checkpointer": self.saver, "store": self.store})

    @asynccontextmanager
    async def look(self) -> AsyncIterator[ChatGraph]:
        """Make the graph for who only looks at it."""
        async with self._factory(_ReadRuntime(access_context="assistants.read", store=self.store)) as made:
            yield made.copy(update={"checkpointer": self.saver, "store": self.store})

    @asynccontextmanager
    async def own_saver(self) -> AsyncIterator[None]:
        """Keep the threads in the saver that `langgraph.json` names during the block."""
        path, _, name = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["checkpointer"]["path"].partition(":")
        async with runpy.run_path(str(ROOT / path), run_name="loaded")[name]() as self.saver:
            yield

    async def talk(self, text: str | None) -> list[tuple[str | None, str]]:
        """Say something in a run of its own and return who answered what."""
        messages = [HumanMessage(text)] if text else []
        async with self.run() as graph:
            outcome = await graph.ainvoke(cast(Any, {"messages": messages}), CONFIG)
        talk_messages = outcome["messages"]
        last = max((place for place, line in enumerate(talk_messages) if line.type == "human"), default=-1)
        return [(message.name, message.text) for message in talk_messages[last + 1 :]]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with settings of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("APP_LANG", "en")
    return Server()


async def test_studio_can_talk(server: Server) -> None:
    """The assistant speaks first, a dialog takes over and keeps the conversation and its language, turn after turn."""
    assert (await server.talk(None))[0][1].startswith("Hello!")
    assert (await server.talk("давай познакомимся"))[0][0] == "profile"
    ((speaker, text),) = await server.talk("я работаю медсестрой")
    assert speaker == "profile"
    assert text.startswith("Записано: опыт — медсестрой")
    assert [speaker for speaker, _ in await server.talk("добавь молоко в список")] == ["planner"]
    assert "молоко" in (await server.talk("покажи мой список"))[0][1]


async def test_studio_has_the_whole_history(server: Server, tmp_path: Path) -> None:
    """With the saver that `langgraph.json` names each step can be seen and gone back to; `forget` removes them."""
    async with server.own_saver():
        await server.talk("let's get acquainted")
        await server.talk("I work as a nurse")
        async with server.run() as graph:
            history = [step async for step in graph.aget_state_history(CONFIG)]
            assert [step.next for step in history if step.metadata] == [
                *[(), ("receive",), ("conversation",), ("receive",), ("__start__",)] * 2
            ]
            first = next(step for step in history if len(step.values.get("messages", [])) == 2 and not step.next)
            asked: Any = {"messages": [HumanMessage("I work as a pilot")]}
            forked = await graph.ainvoke(asked, first.config)
            assert "pilot" in forked["messages"][-1].text
        assert "nurse" not in (await server.talk("show my profile"))[0][1]
    async with SqliteBackend("sqlite:///var/dialogs.db").open() as memory:
        assert await memory.forget("t") is True
        assert [checkpoint async for checkpoint in memory.saver.alist(None)] == []


async def test_studio_encrypts_its_threads(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a key the saver of `langgraph.json` opens an encrypted file, and only the key opens it again."""
    monkeypatch.setenv("DATABASE_KEY", "a1" * 32)
    path = Path("var/dialogs.db")
    async with server.own_saver():
        await server.talk("let's get acquainted")
        await server.talk("I work as a pomologist")
        assert not any(b"pomologist" in file.read_bytes() for file in path.parent.glob("dialogs.db*"))
    async with server.own_saver():
        assert "pomologist" in (await server.talk("show my profile"))[0][1]
    monkeypatch.setenv("DATABASE_KEY", "")
    with pytest.raises(ConfigError, match="DATABASE_KEY"):
        async with server.own_saver():
            pass


async def test_studio_promises_no_reminder(server: Server) -> None:
    """Nothing rings there, so the user is told instead; to-dos and the time zone work, and nothing breaks."""
    for text in ("remind me of the tea in 20 minutes", "set a timer for 5 min"):
        talk_messages = " ".join(text for _, text in await server.talk(text))
        assert "Nothing can ring here" in talk_messages, talk_messages
    assert "milk" in (await server.talk("add milk to my list"))[0][1]
    assert "Europe/Berlin" in (await server.talk("my time zone is Europe/Berlin"))[0][1]


async def test_studio_says_that_it_forgets_nothing(server: Server) -> None:
    """Only the application's own doors carry a confirmed deletion out, and the user reads that."""
    assert "Shall it be deleted?" in (await server.talk("forget everything about me"))[0][1]
    ((speaker, text),) = await server.talk("yes")
    assert speaker == "supervisor"
    assert text.startswith("Nothing is deleted")
    assert "python -m app forget --thread t" in text
    assert await server.talk("what time is it") != []


@pytest.mark.needs("remote_tools")
async def test_studio_does_a_write_once(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools of services are there, and a write with a key is done once in all runs; `forget` knows of it."""
    (tmp_path / "cakes.yaml").write_text(yaml.safe_dump(CAKES))
    monkeypatch.setenv("REMOTE_TOOLS", str(tmp_path / "cakes.yaml"))
    async with Service.open(Answer({"no": 7})) as bakery:
        text = (tmp_path / "cakes.yaml").read_text().replace("BAKERY", bakery.url)
        (tmp_path / "cakes.yaml").write_text(text)
        for _ in range(2):
            assert ("supervisor", "Cake no. 7 is ordered.") in await server.talk("order a plum cake")
    assert [asked.body for asked in bakery.asked] == [{"kind": "plum"}]
    async with SqliteBackend("sqlite:///var/dialogs.db").open() as memory:
        assert await memory.forget("t") is True


@pytest.mark.needs("remote_tools")
async def test_studio_has_the_tools_of_servers(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's session lasts as long as a run; a look at the graph alone starts none."""
    monkeypatch.setenv("LIBRARY_SHELF", "A1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    files = import_module("tests.plugins.remote_tools.remote_files")
    body, path = files.library(), tmp_path / "servers.yaml"
    for name in ("nap", "collapse", "freeze"):
        del body["servers"]["library"]["tools"][name]
    path.write_text(yaml.safe_dump(body, allow_unicode=True))
    monkeypatch.setenv("MCP_SERVERS", str(path))
    assert "Emma" in (await server.talk("what is new at the library"))[0][1]
    path.write_text(path.read_text().replace(sys.executable, "no-such-command"))
    async with server.look() as graph:
        assert graph.get_graph().nodes
    with pytest.raises(ConfigError, match="cannot be reached"):
        await server.talk("hi")


async def test_studio_shows_the_drawing(server: Server, tmp_path: Path) -> None:
    """The nodes of the conversation can be seen from outside, without a database."""
    async with server.look() as graph:
        assert "planner.tools" in graph.get_graph(xray=True).draw_mermaid().replace("\\2e", ".")
    assert os.listdir(tmp_path) == []


async def test_studio_needs_a_store(server: Server) -> None:
    """Without a place for what is known of a person it says so."""
    async with server.run() as graph:
        with pytest.raises(UsageError, match="store"):
            await graph.copy(update={"store": None}).ainvoke(cast(Any, {"messages": [HumanMessage("hi")]}), CONFIG)


async def test_settings_are_read_when_the_graph_is_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the file does nothing; a wrong setting is told by the factory."""
    monkeypatch.setenv("LLM_MODEL", "nonsense")
    with pytest.raises(ConfigError, match="nonsense"):
        async with server.look():
            pass


async def test_each_message_is_heard_once(server: Server) -> None:
    """Several in one input, one that a client puts in, and one whose run was broken off; no answer comes twice."""
    lines = [HumanMessage("add milk to my list"), HumanMessage("add tea to my list")]
    async with server.run() as graph:
        said = (await graph.ainvoke(cast(Any, {"messages": lines}), CONFIG))["messages"]
        assert [message.type for message in said] == ["human", "human", "ai", "ai"]
        assert said[-1].text.splitlines()[-2:] == ["1. milk", "2. tea"]
        again = await graph.ainvoke(cast(Any, {"messages": lines}), CONFIG)
        assert again["messages"] == (await graph.ainvoke(None, CONFIG))["messages"] == said
        await graph.aupdate_state(CONFIG, {"messages": [HumanMessage("add rice to my list")]}, as_node="__start__")
        assert (await graph.ainvoke(None, CONFIG))["messages"][-1].text.endswith("3. rice")
        broken = graph.astream(cast(Any, {"messages": [HumanMessage("add oats to my list")]}), CONFIG)
        async for step in broken:
            assert "receive" in step
            break
        await broken.aclose()  # type: ignore[attr-defined]  # It is a generator.
        went_on = (await graph.ainvoke(cast(Any, {"messages": [HumanMessage("what time is it")]}), CONFIG))["messages"]
        assert [message.type for message in went_on[-3:]] == ["human", "human", "ai"]
        talks = (await graph.aget_state(CONFIG)).values
        assert {*talks} == {"messages", "lang"}


async def test_words_stream_under_the_id_of_their_message(server: Server) -> None:
    """Words stream as they are made; a discarded draft has another id than the answer in its place."""

    async def node(state: MessagesState, runtime: Runtime[None]) -> dict[str, object]:
        spoken = SpokenMessages(get_async_callback_manager_for_config(get_config()), runtime.stream_writer)
        for event in (
            *[Token(speaker="a", text="Hel"), Token(speaker="a", text="lo."), Message(speaker="a", text="Hello.")],
            *[Token(speaker="a", text="Wro"), Error(code=RETRY, text=""), Message(speaker="b", text="Right.")],
        ):
            spoken.events.put_nowait(event)
        spoken.events.put_nowait(None)
        await spoken.stream()
        return {"messages": [AIMessage(text, id=spoken.id_of(text)) for text in ("Hello.", "Right.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph, texts = builder.compile(), dict[str, str]()
    piece: Any
    async for piece, _ in graph.astream(cast(Any, {"messages": []}), stream_mode="messages"):
        texts[piece.id] = texts.get(piece.id, "") + piece.text
    assert [*texts.values()] == ["Hello.", "Wro", "Right."]
