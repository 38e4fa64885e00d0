"""The composition root: put the application together from settings, files and a database."""

import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from types import TracebackType
from typing import cast

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from pydantic_settings import BaseSettings

import dialogs
import observers
import prompts
from agents.conversation.gate import trained_gate
from agents.discovery import code_of
from agents.errors import ConfigError, ContractError, UsageError
from agents.foreign import contain_tasks, contained
from agents.graph import build_graph
from agents.hooks import around
from agents.memory import Memory
from agents.memory.backend import Backend
from agents.memory.connection import ENGINE, Tables
from agents.models import AskModel, ModelRequest, Models
from agents.plugin import AroundTurn, Plugin
from agents.state import SUPERVISOR
from agents.toolkit.call import AroundToolCall
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speaker, Speakers
from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.assistant.speech import SpeechReader
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnDependencies, TurnPlayer
from app.assistant.turn_queue import TurnQueue
from app.composition.breaker import guarded
from app.composition.help_chain import brought_links, check_help, make_help
from app.composition.history_search import search_history
from app.composition.models import models_of
from app.composition.rankers import keep_beside
from app.composition.served_tools import as_accepted, openers, tried, with_served_tools
from app.composition.supervisor_tools import abilities, change_language, current_time
from app.composition.thresholds import load_thresholds
from app.composition.windows import fitting
from app.databases import backend_of
from app.extensions import module_of, plugins
from app.presentation.tool_card import cards, faults
from app.process.garbage import seldom_searched
from app.settings import Settings, read, slips, use_extensions
from dialogs import Dialog
from prompts import languages

LOG = logging.getLogger(__name__)
SUPERVISOR_TOOLS = (current_time, abilities, change_language)
LEADING = Speaker(name=SUPERVISOR, tools=SUPERVISOR_TOOLS)


@dataclass(eq=False, kw_only=True)
class Parts(TurnDependencies):
    """The parts of an installation while its database is open."""

    settings: Settings
    speakers: Speakers
    watching: Mapping[str, observers.Observer]


@asynccontextmanager
async def open_assistant(
    settings: Settings,
    *,
    models: Models | None = None,
    remote: bool = True,
    reads: bool = False,
    speakers: Speakers | None = None,
    backend: Backend | None = None,
    now: Callable[[], float] = time.time,
    make: Callable[[TurnPlayer, Speakers], Assistant] = Assistant,
) -> AsyncIterator[Assistant]:
    """Open the parts of an installation, as `open_parts` does, and build its graph; `make` makes the assistant.

    Raises as `open_parts`.
    """
    async with open_parts(
        settings, models=models, remote=remote, reads=reads, speakers=speakers, backend=backend, now=now
    ) as parts:
        memory = parts.memory
        accepted, changes = await as_accepted(memory.store, parts.speakers) if remote else (parts.speakers, ())
        for changed in changes:
            LOG.error("%s", changed)
        graph = build_graph(
            accepted,
            parts.watching,
            saver=memory.saver,
            store=memory.store,
            gate=trained_gate(await load_thresholds(memory.store)),
            direct_switch=settings.direct_switch,
            observers_first=settings.observers_asked == "first",
            around_tool_call=tool_hooks(plugins_found()),
        )
        player = TurnPlayer(
            graph,
            Languages(settings.app_lang, tuple(languages())),
            queue=TurnQueue(settings.turns_at_once, settings.turns_waiting),
            around_turn=turn_hooks(plugins_found()),
            **{part.name: getattr(parts, part.name) for part in fields(TurnDependencies)},
        )
        with seldom_searched():
            yield make(player, accepted)


@asynccontextmanager
async def open_parts(
    settings: Settings,
    *,
    models: Models | None = None,
    remote: bool = True,
    reads: bool = False,
    speakers: Speakers | None = None,
    backend: Backend | None = None,
    now: Callable[[], float] = time.time,
) -> AsyncIterator[Parts]:
    """Open the database, and the parts that need it.

    Without `remote` no remote tool is opened and no model is needed: enough for commands that play no turn. A command
    that only `reads` works on a database that cannot be written to; its tools, which nobody calls, are not checked.
    `models`, `speakers` and `backend` take the place of those of the settings and files, `now` that of the clock.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    if speakers is None:
        everyone, watching = discover_checked(settings, tools=not reads)
    else:
        everyone, watching = speakers, parts_found()[1]
    if models is None:
        made = models_of(settings, everyone, are_needed=remote)
        models = guarded(made, settings.model_failures, settings.model_rest)
    models = hooked(models, plugins_found())
    backend = backend or backend_of(settings.database_url)
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(
            backend.open(now, keep=settings.keep_turns, reads=reads, tables=tables_of(plugins_found()))
        )
        keep_beside(memory.storage.path)
        if remote and speakers is None:
            everyone = await stack.enter_async_context(_completed(settings, everyone, models))
        services = await stack.enter_async_context(open_services(plugins_found(), memory, settings, models))
        yield Parts(
            settings=settings,
            speakers=everyone,
            watching=watching,
            memory=memory,
            models=models,
            help=make_help(settings, memory.notes, services, plugins_found()),
            permissions=settings.permissions,
            limits=settings.limits,
            services=services,
        )


@asynccontextmanager
async def _completed(settings: Settings, speakers: Speakers, models: Models) -> AsyncIterator[Speakers]:
    """Yield the speakers with their remote tools, cut to the windows of their models."""
    unfit: list[ConfigError] = []
    async with with_served_tools(plugins_found(), speakers, unfit=unfit.append) as everyone:
        if openers(plugins_found()):
            check_tools(everyone, complete=not unfit)
        everyone, refused = tried(everyone, models, settings.app_lang)
        everyone, misfits = await fitting(everyone, models, settings.app_lang)
        for line in (*unfit, *refused, *misfits):
            LOG.warning("%s", line)
        yield everyone


def turn_hooks(plug_ins: Mapping[str, Plugin]) -> list[AroundTurn]:
    """Return the hooks of plug-ins around each answer."""
    return [plugin.around_turn for plugin in plug_ins.values() if plugin.around_turn]


def tool_hooks(plug_ins: Mapping[str, Plugin]) -> tuple[AroundToolCall, ...]:
    """Return the hooks of plug-ins around each call of a tool."""
    return tuple(plugin.around_tool_call for plugin in plug_ins.values() if plugin.around_tool_call)


def hooked(models: Models, plug_ins: Mapping[str, Plugin]) -> Models:
    """Return the models with the hooks of plug-ins around each call."""
    hooks = [plugin.around_model_call for plugin in plug_ins.values() if plugin.around_model_call]
    if not hooks:
        return models

    def hook(request: ModelRequest, ask: AskModel) -> Awaitable[AIMessage]:
        return around(hooks, ask)(request)

    return models.each(lambda model: replace(model, around=hook))


def discover_checked(settings: Settings, *, tools: bool = True) -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer, and check them, their `tools`, and the settings of the features that they use.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    speakers, watching = discover()
    kinds: list[type[BaseSettings]] = [
        Settings,
        *(plugin.settings for plugin in plugins_found().values() if plugin.settings),
    ]
    if wrong := slips(kinds):
        raise ConfigError(wrong[0])
    speakers = equipped(speakers, plugins(), watching)
    if silent := unanswered(speakers, plugins()):
        raise ContractError(silent[0])
    if tools:
        check_tools(speakers, complete=not openers(plugins()))
    check_help(settings, brought_links(plugins_found()))
    speakers = observers.watched(speakers, watching)
    return speakers.with_defaults(settings.memory_forwarding, settings.silence), watching


async def check_reach(memory: Memory) -> None:
    """Look whether a deletion reaches every table.

    Raises UsageError: settings leave out a plug-in or a dialog whose tables are there.
    """
    rows = await memory.database.execute("SELECT owner FROM owners") if prompts.OFF else []
    if names := sorted({str(owner) for (owner,) in rows} & prompts.OFF):
        raise UsageError(f"nothing is deleted: rows of {', '.join(names)} would stay (see PLUGINS, SHIPPED_DIALOGS)")


def unanswered(speakers: Speakers, plug_ins: Mapping[str, Plugin]) -> list[str]:
    """Return a line for each dialog with an agent graph, if no active plug-in runs agent graphs."""
    if any(plugin.agent_runner for plugin in plug_ins.values()):
        return []
    graphs = [speaker.name for speaker in speakers if speaker.agent]
    return [f"dialogs/{name} has an agent graph, and no plug-in runs it (see PLUGINS)" for name in graphs]


def equipped(speakers: Speakers, plug_ins: Mapping[str, Plugin], watching: Collection[str]) -> Speakers:
    """Return the speakers with the tools and the observers of plug-ins; an agent graph has its own tools.

    Raises ContractError: a plug-in brings another object as a tool, or names an unknown observer.
    """
    tools, names = list[BaseTool](), list[str]()
    for name, plugin in plug_ins.items():
        with code_of(module_of(name)):
            own = plugin.tools
            own = [*(own(plugin.settings and read(plugin.settings)) if callable(own) else own)]
        if others := [entry for entry in own if not isinstance(entry, BaseTool)]:
            raise ContractError(f"the plug-in {name}: tools must be tools, found {others[0]!r}")
        if unknown := sorted({*plugin.observers}.difference(watching)):
            raise ContractError(f"the plug-in {name} names observers that do not exist: {', '.join(unknown)}")
        tools += own
        names += plugin.observers

    def complete(speaker: Speaker) -> Speaker:
        watched_by = speaker.observers if speaker.is_supervisor else [*speaker.observers, *names]
        own = speaker.tools if speaker.agent else [*speaker.tools, *tools]
        return replace(speaker, tools=own, observers=watched_by)

    return speakers.each(complete) if tools or names else speakers


def discover() -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer by file name."""
    named, watching = parts_found()
    everyone = {name: dialog.named(name) for name, dialog in named.items()}
    return Speakers(LEADING, everyone, common=[search_history]), watching


def check_tools(speakers: Speakers, *, complete: bool = True) -> None:
    """Check every tool and its card; `complete` means that the speakers have all their tools.

    Raises:
        ContractError: one breaks a rule; the message names the file or the tool.
    """
    if problems := faults_of(speakers, complete=complete):
        others = f" (and {len(problems) - 1} more: python -m app check)" if len(problems) > 1 else ""
        raise ContractError(f"{problems[0]}{others}")


def faults_of(speakers: Speakers, *, complete: bool) -> list[str]:
    """Return the faults of tools, cards and prompts, and of the texts that only a plug-in reads.

    `complete`: all tools are loaded; else a text may name a tool that is not loaded now.
    """
    lines = faults(speakers, languages(), complete=complete)
    if lines or not complete:
        return lines
    schemas = {card.name: card.parameters for card in cards(speakers, ())}
    for name, plugin in plugins_found().items():
        with code_of(module_of(name)):
            lines += plugin.check(schemas) if plugin.check else ()
    return lines


def dialogs_of() -> Mapping[str, Dialog]:
    """Return every dialog by name."""
    return parts_found()[0]


def plugins_found() -> Mapping[str, Plugin]:
    """Return every plug-in, and every dialog after them, by name. Raises as `parts_found`."""
    # The search for dialogs reads PLUGINS and EXTENSIONS first.
    own = dialogs_of()
    return {**plugins(), **own}


def parts_found() -> tuple[dict[str, Dialog], dict[str, observers.Observer]]:
    """Load every dialog and observer, by name: shipped, of EXTENSIONS, and of installed packages.

    Raises:
        ConfigError: EXTENSIONS or SHIPPED_DIALOGS is wrong, or two parts have the same name.
        ContractError, PromptError: a dialog, observer or prompt breaks a rule.
    """
    use_extensions()
    watching = observers.discover(languages())
    named = dialogs.discover(languages(), watching)
    for name, plugin in plugins().items():
        if plugin.dialogs:
            with code_of(module_of(name)):
                brought = plugin.dialogs(plugin.settings and read(plugin.settings), Speakers(LEADING, named), watching)
                named |= cast(Mapping[str, Dialog], brought)
    return named, watching


def tables_of(plug_ins: Mapping[str, Plugin]) -> list[Tables]:
    """Return the tables of the plug-ins and dialogs that have some. Raises ContractError: two have the same owner."""
    tables = [plugin.tables for plugin in plug_ins.values() if plugin.tables]
    # The tables of the second one would never be made.
    owners = Counter([ENGINE, *(each.owner for each in tables)])
    if twice := next((owner for owner, count in owners.items() if count > 1), ""):
        raise ContractError(f"Tables({twice!r}, …): another plug-in, or the application, has tables of this owner")
    return tables


@asynccontextmanager
async def open_services(plug_ins: Mapping[str, Plugin], memory: Memory, *given: object) -> AsyncIterator[Services]:
    """Yield the services of all plug-ins and dialogs; they work during the block.

    Each of them may use the services of those before it. All settings are there first, and `given` services and
    settings go before others of their types.

    Raises:
        ConfigError: a setting of a plug-in is wrong.
    """
    contain_tasks()
    own = memory, memory.store, memory.database, memory.ledger, memory.locks, memory.notes
    services = Services(*given, *own)
    kinds = [plugin.settings for plugin in plug_ins.values() if plugin.settings]
    services.add(*(read(kind) for kind in kinds if services.find(kind) is None))
    async with AsyncExitStack() as stack:
        for name, plugin in plug_ins.items():
            with code_of(module_of(name)):
                if plugin.agent_runner is not None:
                    services.add(plugin.agent_runner(services))
                if plugin.services is not None:
                    opened = plugin.services(services)
                    services.add(*await opened.__aenter__())
                    stack.push_async_exit(partial(_close, name, opened))
                if plugin.notices is not None:
                    services.add(*plugin.notices(services))
            if plugin.forget is not None:
                memory.erasers.append(partial(plugin.forget, services))
        yield services


async def _close(
    name: str,
    services: AbstractAsyncContextManager[object],
    kind: type[BaseException] | None,
    failure: BaseException | None,
    trace: TracebackType | None,
) -> bool | None:
    """Close the services of a plug-in; if that fails, those of the others are still closed."""
    try:
        with contained():
            return await services.__aexit__(kind, failure, trace)
    except Exception as broken:
        if broken is failure:
            raise
        LOG.exception("the services of %s could not be closed", name)
        return None


def make_file_reader(settings: Settings, assistant: Assistant) -> FileReader:
    """Return the reader of files; it reads speech if a plug-in offers that."""
    return FileReader(assistant, assistant.services.find(SpeechReader), settings.attached_length)
