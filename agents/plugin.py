"""The contract of a plug-in: all that may be added to the application.

A plug-in is a file or a folder that defines `plugin = Plugin(...)`. It stands in `app/plugins/`, or in `plugins/` of a
folder of EXTENSIONS or of an installed package. The file name is its name. Its prompts are in `prompts/<lang>/<name>/`,
its settings are explained in `.env.example` of its folder. PLUGINS names the plug-ins that run. A `Dialog` is a plug-in
with a speaker, in `dialogs/`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

import typer
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from pydantic_settings import BaseSettings, SettingsConfigDict

from agents.conversation.changes import Update
from agents.errors import ConfigError, ContractError
from agents.events import Event
from agents.language.identifiers import Schema
from agents.memory.backend import Backend
from agents.memory.connection import Tables
from agents.memory.inbox import InboxEntry
from agents.memory.notices import NoticeSource
from agents.models import AroundModelCall
from agents.toolkit.call import AroundToolCall
from agents.toolkit.commands import SetupStep, SlashCommand
from agents.toolkit.context import Context
from agents.toolkit.help import HelpLink
from agents.toolkit.services import Services
from agents.toolkit.speaker import AgentGraphs, Speakers


class PluginSettings(BaseSettings):
    """Settings of a plug-in or a dialog, which an operator makes in environment variables or `.env`."""

    # `.env` holds the settings of others, too.
    model_config = SettingsConfigDict(extra="ignore")


@dataclass(frozen=True)
class Section:
    """A part of a person's export."""

    key: str
    """Its key in plain data, such as "reminders"."""
    title: str
    """Its heading, in the user's language."""
    rows: Sequence[Mapping[str, object]]
    """Its entries as plain data."""
    lines: Sequence[str]
    """Its entries in words."""


@dataclass(eq=False)
class TurnRequest:
    """A message that is to be answered. A hook may change `context` and `update`."""

    entry: InboxEntry
    turn: int
    context: Context
    update: Update | None
    """The message's update of the state; None if the state has it already."""
    is_resumed: bool = False
    """Whether an earlier process began to answer it."""
    held_by: str = ""
    """The name of the person who answers in the assistant's place."""
    outcome: Literal["left", "done", "stopped", "failed"] = "left"
    """The end of the graph; "left" if it did not come to its end, or was not run."""
    failure: Exception | None = None


Events = AsyncGenerator[Event, None]
PlayTurn = Callable[[TurnRequest], Events]
AroundTurn = Callable[[TurnRequest, PlayTurn], Events]
"""Yields the events of a turn. Without a call of the second argument, the messages that it yields are the answer."""


Report = Callable[[ConfigError], None]
OpenTools = Callable[[Speakers, Report, Report], AbstractAsyncContextManager[Speakers]]
"""Yields the speakers with more tools, which work during the block. The first report is for a server that is away, the
second for a tool that no model can be shown; unless a report raises, the other tools are there."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """The parts of a plug-in. Each field may be left out."""

    packages: Sequence[str] = ()
    """The modules of other packages that it needs; without them it is off. `requirements-<extra>.txt` installs them."""
    extra: str = ""
    settings: type[BaseSettings] | None = None
    """Its settings, which an operator makes in environment variables or `.env`; this type finds the service."""
    tables: Tables | None = None
    """Its tables in the database; they are made when the database is opened."""
    services: Callable[[Services], AbstractAsyncContextManager[Sequence[object]]] | None = None
    """Opens its own services, from those that exist, such as `Memory` and the settings."""
    tools: Sequence[BaseTool] | Callable[[Any], Sequence[BaseTool]] = ()
    """Tools of every speaker that is not an agent graph, or a function of its settings that returns them."""
    served_tools: Callable[[Any], OpenTools | None] | None = None
    """Returns the opener of tools on servers, from its settings; None if they name no server."""
    dialogs: Callable[[Any, Speakers, Collection[str]], Mapping[str, "Plugin"]] | None = None
    """Returns more dialogs, by name, from its settings, the speakers and the names of all observers."""
    observers: Sequence[str] = ()
    """The observers that watch every dialog, by name; its own are in `observers/` of its folder."""
    commands: Sequence[SlashCommand] = ()
    """Its slash commands, offered in every door."""
    command_line: typer.Typer | str = ""
    """Its commands of `python -m app`; if the `Typer` has a name, it stands before them.

    One may take the place of the application's `migrate`, or join its `tools`. A string names the module that has the
    `Typer` as `command_line`: it is imported for commands of plug-ins alone.
    """
    setup: Mapping[str, SetupStep] = field(default_factory=dict)
    """Steps of `setup`: one under its own name, an option that runs it alone, and some that are part of another's."""
    routes: Sequence[str] = ()
    """Modules with a FastAPI `router`, and perhaps `serving(app)`, a context manager in which the HTTP door serves.

    `error_of(status, message, code, param)` may return the `error` of an answer below the router's prefix, and
    `STATUSES` maps its statuses.
    `UPLOADS` may begin the paths that take files. `home(lang)`, `link(lang)` and `thread_link(thread, lang)` may return
    an address and its name, for keys with the module's `SCOPE`.
    """
    notices: Callable[[Services], Sequence[NoticeSource]] | None = None
    """Returns the sources of its notices for users, unless they are among its services."""
    help: Mapping[str, Callable[[Services], HelpLink]] = field(default_factory=dict)
    """Links of HELP_CHAIN, by name."""
    models: Mapping[str, Callable[[Any], BaseChatModel]] = field(default_factory=dict)
    """Makes chat models from its settings, by the names that LLM_MODEL takes, such as "local:rules"."""
    agent_runner: Callable[[Services], AgentGraphs] | None = None
    """Makes the runner of dialogs that have an `agent`, from the services that exist."""
    storage: Mapping[str, Callable[[Any, str], Backend]] = field(default_factory=dict)
    """Returns the backend of a database, from its settings and DATABASE_URL, by the scheme, such as "postgresql"."""
    door: Callable[[Any, Any], AbstractAsyncContextManager[Any] | None] | None = None
    """Opens the `Assistant` of a door in place of the usual one, from its settings and the application's."""
    check: Callable[[Mapping[str, Schema]], Sequence[str]] | None = None
    """Returns the faults of the texts that it alone reads, a line each, from the schemas of all tools by name."""
    greeting: Callable[[Services, str, str], Awaitable[str]] | None = None
    """Returns the first words to a returning user, in a language; empty if there is nothing to say."""
    forget: Callable[[Services, str, Collection[str]], Awaitable[None]] | None = None
    """Deletes the rows of its tables that belong to a thread (empty: to no thread) and to these users."""
    export: Callable[[Services, str, str], Awaitable[Sequence[Section]]] | None = None
    """Returns a user's data in its tables, in a language."""
    thread_test: Callable[[Any, str, str], Awaitable[tuple[str, str]]] | None = None
    """Returns a thread as a test for `export --as-test`, and a remark or "", from `Assistant`, thread and language."""
    around_turn: AroundTurn | None = None
    around_model_call: AroundModelCall | None = None
    around_tool_call: AroundToolCall | None = None
    """Hooks get a request and the next function. They may answer themselves, as LangChain's `wrap_tool_call` may."""

    def __post_init__(self) -> None:
        if self.settings and self.settings.model_config.get("extra") != "ignore":
            raise ContractError(f"{self.settings.__name__} needs extra='ignore': .env holds others' settings, too")
