"""Fixtures of all tests: conversations, databases, and objects made once in a process."""

import asyncio
import gc
import importlib
import os
import random
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import pytest_asyncio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import prompts
from agents.language.tool_ranker.linear_model import features
from agents.language.tool_ranker.ranker import read_phrases
from agents.memory import memory_in
from agents.memory.connection import PLAIN, connect
from agents.models.factory import FORMS
from app.assistant import Assistant
from app.cli import command_line
from app.cli.plugin_commands import brought
from app.settings import Settings, read
from app.testing.fixtures import chat as chat
from app.testing.script import Script
from prompts import card
from tests.support.compiled import build_once, commands_once, discovered, specialists
from tests.support.made_tables import tables_copied
from tests.support.places import ROOT
from tests.support.postgres_server import PostgresServer, running
from tests.support.prompt_copy import copied_prompts
from tests.support.routes_once import read_routes_once
from tests.support.scripted_assistant import ROLES, stage
from tests.support.settings_cache import read_once, without_file
from tests.support.training import made_once, phrases_once, ranker, shortcuts, trained_once

if TYPE_CHECKING:
    from llmock.testing import LLMockServer


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


SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
SLOW_AMONG_OTHERS = re.compile(r"\bmark\.(slow|both)\b|\bsampling\b")
"""The text of files with slow tests, unless `pytest_generate_tests` chooses them."""


def pytest_configure() -> None:
    """Collect no garbage while tests are loaded: there is none."""
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files in which no test is wanted: to load all of them takes a worker many seconds."""
    if not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    if config.option.markexpr == "not slow":
        return True if SLOW.search(collection_path.read_text("utf-8")) else None
    if config.option.markexpr == "slow" and not _is_on_postgres(_module(collection_path)):
        return None if SLOW_AMONG_OTHERS.search(collection_path.read_text("utf-8")) else True
    return None


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


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
            importlib.import_module(_module(file))


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
        patch.setattr("agents.language.tool_ranker.ranker.reader", phrases_once(read_phrases))
        # An application that keeps them beside its database would read and write files, and forget the replacements.
        patch.setattr("app.composition.keep_beside", lambda database: None)
        patch.setattr("agents.toolkit.tool_search.ranker_of", made_once(ranker))
        patch.setattr("agents.nodes.shortcut.Shortcuts", made_once(shortcuts))
        yield


@pytest.fixture(scope="session", autouse=True)
def built() -> Iterator[None]:
    """Check the same speakers, and build their graph and the command line, once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        build_once(patch)
        patch.setattr("app.testing.discover", discovered)
        patch.setattr("app.testing.plugins_found", specialists)
        read_routes_once(patch)
        patch.setattr(command_line, "application", commands_once(command_line.application, brought))
        yield


@pytest.fixture(scope="session", autouse=True)
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make the tables of a new database once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        copied = tables_copied(memory_in, tmp_path_factory.mktemp("tables"))
        patch.setattr("agents.memory.sqlite_file.memory_in", copied)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waits_for_the_disk() -> Iterator[None]:
    """Leave it to the system when writes reach the disk: no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(
            "agents.memory.sqlite_file.connect",
            lambda path, _="FULL", driver=PLAIN: connect(path, cast(Any, "OFF"), driver),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def settings_once() -> Iterator[None]:
    """Read the same settings once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        reading = read_once(read)
        patch.setattr("app.settings.read", reading)
        patch.setattr("app.composition.read", reading)
        patch.setattr("app.testing.Settings", lambda _env_file: without_file(Settings))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waits_for_a_server() -> Iterator[None]:
    """Let uvicorn look ten times as often whether it is to end: with its own pauses each of its tests waits for it."""
    with pytest.MonkeyPatch.context() as patch:
        often = {"sleep": lambda seconds: asyncio.sleep(seconds / 10)}
        patch.setattr("uvicorn.server.asyncio", SimpleNamespace(**vars(asyncio) | often))
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
    server.app.add_middleware(OutcomeStore)
    with server:
        yield server


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncIterator[None]:
    """Start a browser for all tests of this process; each opens a context of its own."""
    from tests.support.chromium import started  # noqa: PLC0415 (few tests need a browser)

    async with started():
        yield


class OutcomeStore:
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


def _is_on_postgres(module: str) -> bool:
    return module.startswith("tests.engine.unit.memory.") or module in TRACES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the storage, and the traces that write most, on PostgreSQL as well, unless they need a file."""
    is_chosen = _is_on_postgres(metafunc.module.__name__) or metafunc.definition.get_closest_marker("both")
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
def script() -> Script:
    """Lay out what the models of `assistant` say."""
    return Script()


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models."""
    async with stage(tmp_path / "dialogs.db", script.models(ROLES)) as opened:
        yield opened


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Work in an empty folder, with the rules for a model and a database of its own; return the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APP_LANG", "en")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/try.db")
    return tmp_path


@pytest.fixture
def house(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work on a copy of the prompts, and on a database of its own; return the copy."""
    with copied_prompts(home / "prompts") as copy:
        monkeypatch.setattr(prompts, "FOLDER", copy)
        card.cache_clear()
        yield copy
    card.cache_clear()
