"""Chat: a user before a scripted assistant, and the trace of what happens between them."""

import gc
import importlib
import os
import random
import re
import ssl
import textwrap
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from fastapi import routing
from fastapi.dependencies import utils
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import prompts
from agents.conversation.gate import Gate, trained_gate
from agents.events import Event, trace
from agents.language.tool_ranker.linear_model import features
from agents.memory import Memory, memory_in
from agents.memory.connection import connect
from agents.models import Models
from agents.models.factory import FORMS
from agents.models.script import Line, Script
from agents.state.limits import Limits
from agents.toolkit.help import HelpChain
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_node import tool_node
from app.assistant import Assistant, Turn
from app.assistant.recording import Answer, with_answers, with_strangers
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.cli import command_line
from app.composition import open_services, tables_of, turn_hooks
from app.composition.databases import backend_of
from app.composition.help_chain import make_help
from app.presentation.tool_card import faults
from app.security.permissions import NOBODY_MAY, Permissions
from app.settings import Settings, read
from benchmarks.unseen import Kept
from benchmarks.untrained_gate import untrained_gate
from observers import Observer
from prompts import card
from tests.support.compiled import (
    built_once,
    checked_once,
    commands_once,
    compiled,
    dependants_once,
    discovered,
    nodes_once,
    specialists,
)
from tests.support.made_tables import tables_copied
from tests.support.places import ROOT
from tests.support.postgres_server import PostgresServer, running
from tests.support.prompt_copy import copied_prompts
from tests.support.prompt_order import order_faults
from tests.support.scripted_assistant import ROLES, stage
from tests.support.settings_cache import read_once, without_file
from tests.support.training import made_once, ranker, shortcuts, trained_once

if TYPE_CHECKING:
    from llmock.testing import LLMockServer


class Chat:
    """A thread in a real database, with a script behind the graph."""

    def __init__(self, path: Path, url: str | None = None) -> None:
        self.path, self.script = path, Script()
        self.url = url
        """The address of the database; without it `path` is its file."""
        self.speakers, self.observers = discovered()
        self.gate: Gate | None = untrained_gate
        self.settings = without_file(Settings)
        self.permissions = Permissions()
        self.limits = Limits()
        self.services: list[object] = []
        """Services and settings that are found before those of the plug-ins and dialogs."""
        self.now: Callable[[], float] = time.time
        """The Unix time in seconds."""
        self.models: Models | None = None
        """Models that take the place of the script."""
        self.events: list[Event] = []

    def as_shipped(self, direct_switch: bool = True) -> None:
        """Let the application's own gate decide when observers are asked, as in a conversation that was really held."""
        self.gate = None
        self.settings = self.settings.model_copy(update={"direct_switch": direct_switch})

    def expects(self, **lines: list[Line]) -> None:
        """Append to the script: what each role will say."""
        self.script.add(**lines)

    def finds(self, **answers: list[Answer]) -> None:
        """Let tools give these answers, with views, in place of their own: what was found at the time."""
        self.speakers = with_answers(self.speakers, answers)

    def borrows(self, **strangers: dict[str, list[str]]) -> None:
        """Give speakers tools that are not here, by name and parameters; what they answer stands in `finds`."""
        self.speakers = with_strangers(self.speakers, strangers)

    async def says(self, *texts: str | None, thread: str = "ann", lang: str | None = None, **more: Any) -> str:
        """Let the user say something, each text in a turn of its own; return the trace of it all.

        `more` is what else there may be in a Turn: the user, the id.
        """
        self.events = []
        async with self.assistant() as assistant:
            for text in texts:
                turn = Turn(thread=thread, text=text, lang=lang, **more)
                self.events += [event async for event in assistant.play(turn)]
            # Whatever is tested: what a history keeps as said was seen.
            kept = Kept()
            await kept.take(assistant, thread)
            assert kept.unseen == set()
        return trace(self.events)

    @asynccontextmanager
    async def assistant(self) -> AsyncIterator[Assistant]:
        """Open the database anew, as a fresh process would."""
        async with (
            backend_of(self.url or f"sqlite:///{self.path}").open(self.now, tables=tables_of(specialists())) as memory,
            open_services(specialists(), memory, self.settings, *self.services) as services,
        ):
            help = await make_help(self.settings, memory)
            options: dict[str, Any] = {"gate": self.gate, "help": help, "permissions": self.permissions}
            options |= {"direct_switch": self.settings.direct_switch, "limits": self.limits}
            options |= {"services": services, "models": self.models}
            yield compose(memory, self.script, self.speakers, self.observers, **options)

    async def state(self, thread: str = "ann") -> dict[str, Any]:
        """Return what is known of the thread."""
        async with self.assistant() as assistant:
            return await assistant.state(thread) or {}

    async def messages(self, speaker: str, thread: str = "ann") -> list[Any]:
        """Return a speaker's history."""
        async with self.assistant() as assistant:
            snapshot = await assistant.graph.aget_state({"configurable": {"thread_id": thread}})
            return list(snapshot.values["talks"][speaker]["messages"])

    async def notes(self) -> list[tuple[str, str]]:
        """Return who was passed on to a person with what."""
        async with self.assistant() as assistant:
            return [(note.thread, note.text) for note in await assistant.memory.notes.all()]


def compose(
    memory: Memory,
    script: Script,
    speakers: Speakers,
    observers: Mapping[str, Observer],
    *,
    gate: Gate | None = untrained_gate,
    help: HelpChain | None = None,
    permissions: Permissions = NOBODY_MAY,
    limits: Limits | None = None,
    direct_switch: bool = True,
    services: Services | None = None,
    models: Models | None = None,
) -> Assistant:
    """Put an assistant together whose models play a script, unless it is given others."""
    graph = compiled(memory, speakers, observers, gate, direct_switch)
    models = models or script.models(["supervisor", "observer", *speakers.dialogs])
    languages = Languages("en", tuple(prompts.languages()))
    player = TurnPlayer(
        graph,
        languages,
        memory=memory,
        models=models,
        help=help or HelpChain(),
        permissions=permissions,
        limits=limits or Limits(),
        services=services or Services(),
        around_turn=turn_hooks(specialists()) if services else [],
    )
    return Assistant(player, speakers)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests run in another order."""
    parser.addoption("--shuffle", type=int, metavar="N", help="run the tests in the Nth random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the tests if that is wanted, and skip those that need a dialog which is not there."""
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)
    for item in items:
        needed = {name for mark in item.iter_markers("needs") for name in mark.args}
        if missing := sorted(needed - specialists().keys()):
            item.add_marker(pytest.mark.skip(reason=f"there is no {', '.join(missing)}"))


def told(text: str) -> str:
    """Return a trace as it is written in a test: without its indentation."""
    return textwrap.dedent(text).strip()


SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_configure() -> None:
    """Collect no garbage while tests are loaded: there is none."""
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of slow tests alone where none is wanted: they load what no other test needs."""
    is_unwanted = config.option.markexpr == "not slow" and collection_path.suffix == ".py"
    return True if is_unwanted and SLOW.search(collection_path.read_text("utf-8")) else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each of several processes first import a share of all tests of its own.

    What it compiles the others find; in a fresh clone each of them would compile everything.
    """
    config = session.config
    if "PYTEST_XDIST_WORKER" not in os.environ or config.args_source != config.ArgsSource.TESTPATHS:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    files = sorted((ROOT / "tests").rglob("test_*.py"))[number :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]
    for file in files:
        if pytest_ignore_collect(file, config):
            continue
        # A test file that cannot be loaded is told while the tests are collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but seldom, and leave out what was loaded: a fifth of the time went into this."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def nothing_is_learnt() -> None:
    """Forget what a test has learnt of a server: the next one may have the same port."""
    FORMS.clear()


@pytest.fixture(scope="session", autouse=True)
def rankers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Train the ranker of the same tools once, not in each process: it takes a second or more."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "rankers"
        patch.setattr("agents.language.tool_ranker.ranker.Linear", trained_once(folder))
        # Rankers of other tools know most of the same examples.
        patch.setattr("agents.language.tool_ranker.ranker.features", cache(features))
        patch.setattr("agents.toolkit.shelf.ranker_of", made_once(ranker))
        patch.setattr("agents.nodes.shortcut.Shortcuts", made_once(shortcuts))
        yield


@pytest.fixture(scope="session", autouse=True)
def built() -> Iterator[None]:
    """Check the same speakers, and build their graph and the command line, once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.composition.faults", checked_once(faults))
        patch.setattr("app.composition.trained_gate", cache(trained_gate))
        patch.setattr("app.composition.build_graph", built_once)
        patch.setattr("agents.nodes.tools.tool_node", once := nodes_once(tool_node))
        patch.setattr("agents.nodes.shortcut.tool_node", once)
        for place in (routing, utils):
            patch.setattr(place, "get_dependant", dependants_once(utils.get_dependant))
        patch.setattr(command_line, "application", commands_once(command_line.application, command_line._of_plugins))
        yield


@pytest.fixture(scope="session", autouse=True)
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make the tables of a new database once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agents.memory.memory_in", tables_copied(memory_in, tmp_path_factory.mktemp("tables")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waits_for_the_disk() -> Iterator[None]:
    """Let SQLite leave it to the system when its writes reach the disk: no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agents.memory.connect", lambda path, _, driver: connect(path, cast(Any, "OFF"), driver))
        yield


@pytest.fixture(scope="session", autouse=True)
def settings_once() -> Iterator[None]:
    """Read the same settings once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        reading = read_once(read)
        patch.setattr("app.settings.read", reading)
        patch.setattr("app.composition.read", reading)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_authorities() -> Iterator[None]:
    """Do not read the certificates of all authorities for each client: it takes 20 ms, and no test speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("load_verify_locations", "set_default_verify_paths"):
            patch.setattr(ssl.SSLContext, name, lambda *_args, **_named: None)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server; skip the test where there is none."""
    try:
        with running() as server:
            yield server
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def llmock_server() -> Iterator["LLMockServer"]:
    """Start a provider that ends each connection behind its answer.

    Clients of models keep a pool of connections for each address; a connection must not outlive its test's loop.
    """
    from llmock.testing import LLMockServer  # noqa: PLC0415 (few tests need a provider, and it takes time to load)

    server = LLMockServer()
    server.app.add_middleware(Closing)
    with server:
        yield server


class Closing:
    """Tell clients of an ASGI application that the connection ends with the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        await self.app(scope, receive, closing)


ON_POSTGRES = ("open_question", "persons", "restart", "resume", "time_travel", "undo", "writes")
TRACES = {f"tests.engine.traces.test_{name}" for name in ON_POSTGRES}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the storage, and the traces that write most, on PostgreSQL as well, unless they need a file."""
    is_chosen = metafunc.module.__name__.startswith("tests.engine.unit.memory.") or metafunc.module.__name__ in TRACES
    is_chosen = is_chosen or metafunc.definition.get_closest_marker("both")
    needs_file = "path" in metafunc.fixturenames or metafunc.definition.get_closest_marker("sqlite")
    if is_chosen and "database" in metafunc.fixturenames and not needs_file and "postgres" in specialists():
        kinds = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]
        metafunc.parametrize("database", kinds, indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a fresh database: a SQLite file, unless the test asks for "postgres"."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'dialogs.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.fresh()


@pytest.fixture
def chat(tmp_path: Path, database: str) -> AsyncIterator[Chat] | Any:
    """A new conversation; lines that nobody spoke fail the test, and prompts that a strict chat template refuses."""
    talk = Chat(tmp_path / "dialogs.db", None if database.startswith("sqlite") else database)
    yield talk
    assert talk.script.left() == {}
    asked_with = [asked.messages for asked in talk.script.asked if asked.messages]
    assert [faults for messages in asked_with if (faults := order_faults(messages))] == []


@pytest.fixture
def script() -> Script:
    """Lay out what the models of `assistant` say."""
    return Script()


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models."""
    async with stage(tmp_path / "dialogs.db", script.models(ROLES)) as opened:
        yield opened


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Work on a copy of the prompts and on a database of its own; return the copy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APP_LANG", "en")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/try.db")
    with copied_prompts(tmp_path / "prompts") as copy:
        monkeypatch.setattr(prompts, "FOLDER", copy)
        card.cache_clear()
        yield copy
    card.cache_clear()
