"""The composition root: put the application together from settings, files and a database."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import dialogs
import observers
from agents.conversation.gate.trained import trained_gate
from agents.errors import ConfigError, ContractError
from agents.graph import build_graph
from agents.memory import open_memory
from agents.state import SUPERVISOR
from agents.toolkit.lint import faults
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.supervisor.abilities import abilities
from agents.toolkit.supervisor.clock import current_time
from agents.toolkit.supervisor.language import change_language
from app.assistant import Assistant
from app.assistant.language import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition.gate_thresholds import load_thresholds
from app.composition.help_chain import check_help, make_help
from app.composition.media_players import check_media, make_players
from app.composition.remote_tools import with_remote_tools
from app.composition.server_changes import note_changes
from app.composition.services import dialogs_of, open_services
from app.permissions import Permissions
from app.settings import Settings
from prompts import languages

LOG = logging.getLogger(__name__)
SUPERVISOR_TOOLS = (current_time, abilities, change_language)


@asynccontextmanager
async def open_assistant(
    settings: Settings, *, model: str | None = None, remote: bool = True, reads: bool = False
) -> AsyncIterator[Assistant]:
    """Open the database and build the graph; `model` takes the place of every configured one.

    Without `remote` no remote tool is opened: enough for commands that only look at the database. One that only `reads`
    works on a database that cannot be written to.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    speakers, watching = discover()
    speakers = speakers.with_defaults(settings.memory_forwarding, settings.silence)
    check_tools(speakers, complete=not settings.has_remote_tools)
    models = settings.models(model)
    check_help(settings)
    check_media(settings)
    unknown = sorted(set(models.roles) - {SUPERVISOR, "observer", *speakers.dialogs})
    if unknown:
        raise ConfigError(f"ROLE_MODELS names roles that do not exist: {', '.join(unknown)}")
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(
            open_memory(settings.database_url, keep=settings.keep_turns, reads=reads)
        )
        if remote:
            speakers = await stack.enter_async_context(with_remote_tools(settings, speakers))
            check_tools(speakers)
            for changed in await note_changes(memory.store, speakers):
                LOG.warning("%s", changed)
        gate = trained_gate(await load_thresholds(memory.store))
        graph = build_graph(
            speakers,
            watching,
            saver=memory.saver,
            store=memory.store,
            gate=gate,
            tool_mode=settings.tool_mode,
            direct_switch=settings.direct_switch,
        )
        langs = Languages(settings.app_lang, tuple(languages()))
        help = await make_help(settings, memory.store, memory.notes)
        permissions = Permissions(settings.permissions)
        players = make_players(settings, memory)
        services = await stack.enter_async_context(open_services(dialogs_of(), memory))
        player = TurnPlayer(
            graph,
            memory,
            models,
            langs,
            help,
            permissions,
            settings.limits,
            players=players,
            services=services,
        )
        yield Assistant(player, speakers)


def discover() -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer by file name."""
    watching = observers.discover(languages())
    named = dialogs.discover(languages(), watching)
    supervisor = Speaker(name=SUPERVISOR, tools=SUPERVISOR_TOOLS)
    return Speakers(supervisor, {name: dialog.named(name) for name, dialog in named.items()}), watching


def check_tools(speakers: Speakers, *, complete: bool = True) -> None:
    """Check every tool and its card; `complete` says that the speakers have all their tools.

    Raises:
        ContractError: one is broken; names the file or the tool.
    """
    if problems := faults(speakers, languages(), complete=complete):
        others = f" (and {len(problems) - 1} more: python -m app check)" if len(problems) > 1 else ""
        raise ContractError(f"{problems[0]}{others}")
