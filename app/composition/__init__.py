"""The composition root: put the application together from settings, files and a database."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import dialogs
import observers
from agents.conversation.gate.trained import trained_gate
from agents.errors import ConfigError, ContractError
from agents.graph import build_graph
from agents.memory import Memory, open_memory
from agents.models import Models
from agents.state import SUPERVISOR
from agents.toolkit.card import faults
from agents.toolkit.context import Context, make_context
from agents.toolkit.help import HelpChain
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.supervisor_tools import abilities, change_language, current_time
from app.assistant import Assistant
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition.remote_tools import note_changes, with_remote_tools
from app.composition.services import check_help, dialogs_of, load_thresholds, make_help, open_services, tables_of
from app.permissions import Permissions
from app.settings import Settings
from prompts import languages

LOG = logging.getLogger(__name__)
SUPERVISOR_TOOLS = (current_time, abilities, change_language)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an installation is made of while its database is open."""

    settings: Settings
    speakers: Speakers
    watching: Mapping[str, observers.Observer]
    memory: Memory
    models: Models
    help: HelpChain
    services: Services

    @property
    def permissions(self) -> Permissions:
        """What each user may do."""
        return Permissions(self.settings.permissions)

    def context(self, thread: str, user: str, zone: ZoneInfo | None, device: str = "") -> Context:
        """Return the context of a turn that no `TurnPlayer` plays."""
        return make_context(
            self.memory,
            thread,
            user,
            self.models,
            zone=zone,
            device=device,
            permissions=self.permissions.of(user),
            help=self.help,
            limits=self.settings.limits,
            services=self.services,
        )


@asynccontextmanager
async def open_assistant(
    settings: Settings,
    *,
    models: Models | None = None,
    remote: bool = True,
    reads: bool = False,
    speakers: Speakers | None = None,
) -> AsyncIterator[Assistant]:
    """Open the parts of an installation, as `open_parts` does, and build its graph.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    async with open_parts(settings, models=models, remote=remote, reads=reads, speakers=speakers) as parts:
        memory = parts.memory
        for changed in await note_changes(memory.store, parts.speakers) if remote else ():
            LOG.warning("%s", changed)
        graph = build_graph(
            parts.speakers,
            parts.watching,
            saver=memory.saver,
            store=memory.store,
            gate=trained_gate(await load_thresholds(memory.store)),
            tool_mode=settings.tool_mode,
            direct_switch=settings.direct_switch,
        )
        player = TurnPlayer(
            graph,
            memory,
            parts.models,
            Languages(settings.app_lang, tuple(languages())),
            parts.help,
            parts.permissions,
            settings.limits,
            services=parts.services,
        )
        yield Assistant(player, parts.speakers)


@asynccontextmanager
async def open_parts(
    settings: Settings,
    *,
    models: Models | None = None,
    remote: bool = True,
    reads: bool = False,
    speakers: Speakers | None = None,
) -> AsyncIterator[Parts]:
    """Open the database and what needs it.

    Without `remote` no remote tool is opened: enough for commands that only look at the database. A command that only
    `reads` works on a database that cannot be written to. `models` and `speakers` are given where others than those of
    the settings and files are meant.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    everyone, watching = discover_checked(settings) if speakers is None else (speakers, observers.discover(languages()))
    models = models or settings.models()
    unknown_roles = sorted(set(models.roles) - {SUPERVISOR, "observer", *everyone.dialogs})
    if unknown_roles:
        raise ConfigError(f"ROLE_MODELS names roles that do not exist: {', '.join(unknown_roles)}")
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(
            open_memory(settings.database_url, keep=settings.keep_turns, reads=reads, tables=tables_of(dialogs_of()))
        )
        if remote and speakers is None:
            everyone = await stack.enter_async_context(with_remote_tools(settings, everyone))
            check_tools(everyone)
        yield Parts(
            settings=settings,
            speakers=everyone,
            watching=watching,
            memory=memory,
            models=models,
            help=await make_help(settings, memory.store, memory.notes),
            services=await stack.enter_async_context(open_services(dialogs_of(), memory)),
        )


def discover_checked(settings: Settings) -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer, and check them and the settings of the features that they use.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    speakers, watching = discover()
    check_tools(speakers, complete=not settings.has_remote_tools)
    check_help(settings)
    return speakers.with_defaults(settings.memory_forwarding, settings.silence), watching


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
