"""The composition root: put the application together from settings, files and a database."""

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from zoneinfo import ZoneInfo

from langgraph.store.base import BaseStore

import dialogs
import observers
from agents.conversation.gate import Thresholds, trained_gate, weights
from agents.errors import ConfigError, ContractError
from agents.graph import build_graph
from agents.memory import Memory
from agents.memory.connection import Tables
from agents.memory.preferences import machine_zone
from agents.models import Models
from agents.models.factory import Endpoint, make_model
from agents.sources.documents.index import DocumentIndex, index_file
from agents.state import SUPERVISOR
from agents.toolkit.context import Context
from agents.toolkit.help import Documents, HelpChain, Link, Pages
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speaker, Speakers
from app.agent_files import shared_agents
from app.agent_graphs.adapter import Adapter
from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.assistant.transcriber import Transcriber
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.assistant.turn_queue import TurnQueue
from app.composition.breaker import guarded
from app.composition.databases import open_database
from app.composition.field_values import WrittenFields
from app.composition.remote_tools import note_changes, with_remote_tools
from app.composition.supervisor_tools import abilities, change_language, current_time
from app.composition.windows import fitting
from app.extensions import Extensions
from app.presentation.tool_card import faults
from app.remote.help_links import OtherModel, Person, Webhook
from app.seat import seats
from app.seat.observing import calling
from app.seat.tool import offered
from app.security import audit
from app.security.permissions import Permissions
from app.settings import Settings, read, use_extensions
from app.telemetry import open_traces
from app.usage import FREE, Price, usage
from dialogs import Dialog
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

    def context(self, thread: str, user: str, zone: ZoneInfo | None, device: str = "") -> Context:
        """Return the context of a turn that no `TurnPlayer` plays."""
        return Context(
            thread,
            user,
            self.models,
            now=self.memory.now,
            locks=self.memory.locks,
            ledger=self.memory.ledger,
            undo=self.memory.undo,
            notes=self.memory.notes,
            zone=zone or machine_zone(),
            device=device,
            permissions=Permissions(self.settings.permissions).of(user),
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
    make: Callable[[TurnPlayer, Speakers], Assistant] = Assistant,
) -> AsyncIterator[Assistant]:
    """Open the parts of an installation, as `open_parts` does, and build its graph; `make` makes the assistant.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    async with (
        open_traces(settings) as traced,
        open_parts(settings, models=models, remote=remote, reads=reads, speakers=speakers) as parts,
    ):
        memory = parts.memory
        for changed in await note_changes(memory.store, parts.speakers) if remote else ():
            LOG.warning("%s", changed)
        graph = build_graph(
            parts.speakers,
            calling(parts.watching),
            saver=memory.saver,
            store=memory.store,
            gate=trained_gate(await load_thresholds(memory.store)),
            direct_switch=settings.direct_switch,
            observers_first=settings.observers_asked == "first",
        )
        player = TurnPlayer(
            graph,
            memory,
            parts.models,
            Languages(settings.app_lang, tuple(languages())),
            parts.help,
            Permissions(settings.permissions),
            settings.limits,
            queue=TurnQueue(settings.turns_at_once, settings.turns_waiting),
            services=parts.services,
            traced=traced,
        )
        yield make(player, parts.speakers)


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
    `reads` works on a database that cannot be written to. `models` and `speakers` take the place of those
    of the settings and files.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    everyone, watching = discover_checked(settings) if speakers is None else (speakers, parts_found()[1])
    models = models or guarded(make_models(settings, everyone), settings.model_failures, settings.model_rest)
    unknown_roles = sorted(set(models.roles) - {SUPERVISOR, "observer", *everyone.dialogs})
    if unknown_roles:
        raise ConfigError(f"ROLE_MODELS names roles that do not exist: {', '.join(unknown_roles)}")
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(
            open_database(
                settings.database_url,
                keep=settings.keep_turns,
                reads=reads,
                tables=tables_of(dialogs_of()),
                key=settings.database_key,
            )
        )
        if remote and speakers is None:
            everyone = await stack.enter_async_context(with_remote_tools(settings, everyone))
            if settings.has_remote_tools:
                check_tools(everyone)
            everyone, misfits = await fitting(everyone, models, settings.app_lang)
            for misfit in misfits:
                LOG.warning("%s", misfit)
        seating = seats.Seats(memory, wait=settings.seat_wait, away=settings.seat_away)
        prices = prices_of(settings, models)
        counting = usage.Usage(memory.database, memory.now, settings.daily_limits, prices, settings.usage_days)
        auditing = audit.Audit(memory.database, memory.now, settings.audit_days)
        yield Parts(
            settings=settings,
            speakers=everyone,
            watching=watching,
            memory=memory,
            models=models,
            help=await make_help(settings, memory),
            services=await stack.enter_async_context(open_services(dialogs_of(), memory, seating, counting, auditing)),
        )


def make_models(settings: Settings, speakers: Speakers, override: str | None = None) -> Models:
    """Make the models of all roles, with those that dialogs bring; `override` takes the place of every role's.

    Raises:
        ConfigError: a model's name or key is wrong.
    """
    own = [dialog for dialog in speakers.dialogs.values() if isinstance(dialog, Dialog)]
    roles = {dialog.name: dialog.model for dialog in own if dialog.model} | settings.role_models
    parameters = {dialog.name: dialog.parameters for dialog in own if dialog.parameters} | settings.llm_parameters
    return settings.model_copy(update={"role_models": roles, "llm_parameters": parameters}).models(override)


def prices_of(settings: Settings, models: Models) -> Mapping[str, Price]:
    """Return the prices of models.

    Raises:
        ConfigError: money is limited, and a model has no price.
    """
    names = sorted({model.name for model in models if not model.name.startswith(FREE)} - settings.llm_prices.keys())
    if names and (settings.user_money_per_day or settings.money_per_day):
        raise ConfigError(f"LLM_PRICES: money is limited, and there is no price of {', '.join(names)} {EXAMPLE}")
    return settings.llm_prices


def discover_checked(settings: Settings) -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer, and check them and the settings of the features that they use.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    speakers, watching = discover()
    if settings.seat_wait:
        speakers = offered(speakers)
    check_tools(speakers, complete=not settings.has_remote_tools)
    check_help(settings)
    speakers = observers.watched(speakers, watching)
    return speakers.with_defaults(settings.memory_forwarding, settings.silence), watching


def discover() -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer by file name."""
    named, watching = parts_found()
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


def dialogs_of() -> Mapping[str, Dialog]:
    """Return every dialog with what it declares, by name."""
    return parts_found()[0]


def parts_found() -> tuple[dict[str, Dialog], dict[str, observers.Observer]]:
    """Load every dialog and observer, by name: shipped, of EXTENSIONS, and of installed packages.

    Raises:
        ConfigError: EXTENSIONS or SHIPPED_DIALOGS is wrong, or two have the same name.
        ContractError, PromptError: a dialog, observer or prompt breaks a rule.
    """
    use_extensions()
    watching = observers.discover(languages())
    own = dialogs.discover(languages(), watching)
    return own | shared_agents(read(Extensions).lab_folder, own, SUPERVISOR_TOOLS, watching), watching


def tables_of(specialists: Mapping[str, Dialog]) -> list[Tables]:
    """Return the tables of the dialogs that have some, and of the application."""
    return [
        *(dialog.tables for dialog in specialists.values() if dialog.tables),
        seats.TABLES,
        usage.TABLES,
        audit.TABLES,
    ]


@asynccontextmanager
async def open_services(specialists: Mapping[str, Dialog], memory: Memory, *given: object) -> AsyncIterator[Services]:
    """Yield the services of all dialogs; they work during the block.

    A dialog may use the services of those before it in the alphabet. Every dialog's settings are there first, and
    `given` services go before others of their types.

    Raises:
        ConfigError: a setting of a dialog is wrong.
    """
    seating = next((each for each in given if isinstance(each, seats.Seats)), seats.Seats(memory))
    memory.erasers.append(seating.erase)
    own = memory, memory.store, memory.database, memory.ledger, memory.locks, memory.notes
    rest = [each for each in given if each is not seating]
    counting = usage.Usage(memory.database, memory.now)
    auditing = audit.Audit(memory.database, memory.now)
    services = Services(*rest, seating, seating.moved, Adapter(memory.saver), WrittenFields(), *own, counting, auditing)
    services.add(*(read(dialog.settings) for dialog in specialists.values() if dialog.settings))
    async with AsyncExitStack() as stack:
        for dialog in specialists.values():
            if dialog.services is not None:
                services.add(*await stack.enter_async_context(dialog.services(services)))
            if dialog.forget is not None:
                memory.erasers.append(partial(dialog.forget, services))
        yield services


SALT = ("application", "help")
EXAMPLE = "(see .env.example)"


async def make_help(settings: Settings, memory: Memory) -> HelpChain:
    """Return the chain.

    Raises:
        ConfigError: a link lacks what it needs.
    """
    check_help(settings)
    links: list[Link] = []
    for name in settings.help_chain:
        match name:
            case "pages":
                links.append(Pages())
            case "documents":
                links.append(Documents(DocumentIndex(index_file(memory.storage.path))))
            case "model":
                links.append(model_link(settings))
            case "webhook":
                secret = settings.help_webhook_secret.get_secret_value() if settings.help_webhook_secret else None
                links.append(
                    Webhook(str(settings.help_webhook_url), await _salt(memory.store), secret, settings.help_timeout)
                )
            case "person":
                links.append(Person(memory.notes, settings.notes_per_day))
    return HelpChain(links, settings.help_timeout)


def check_help(settings: Settings) -> None:
    """Check that the links have the settings that they need.

    Raises:
        ConfigError: a link lacks what it needs.
    """
    if "model" in settings.help_chain:
        model_link(settings)
    if "webhook" in settings.help_chain and settings.help_webhook_url is None:
        raise ConfigError(f"HELP_CHAIN: the link webhook needs HELP_WEBHOOK_URL {EXAMPLE}")


def model_link(settings: Settings) -> OtherModel:
    """Return the link to another model.

    Raises:
        ConfigError: its name or key is missing.
    """
    name = settings.help_model or ""
    provider, _, bare = name.partition(":")
    if not bare or provider == "local":
        raise ConfigError(f"HELP_CHAIN: the link model needs HELP_MODEL=<provider>:<name> {EXAMPLE}")
    if provider != "openai":
        if settings.help_base_url or settings.help_api_key:
            raise ConfigError(f"HELP_BASE_URL and HELP_API_KEY are for HELP_MODEL=openai:<name> alone {EXAMPLE}")
        return OtherModel(make_model(name, Endpoint(timeout=settings.help_timeout, retries=0)))
    own = bool(settings.help_base_url or settings.help_api_key)
    key = settings.help_api_key if own else settings.openai_api_key
    url = settings.help_base_url if own else settings.openai_base_url
    if not (key or url):
        raise ConfigError(f"HELP_MODEL needs HELP_API_KEY or HELP_BASE_URL {EXAMPLE}")
    endpoint = Endpoint(key=key, base_url=url, timeout=settings.help_timeout, retries=0)
    return OtherModel(make_model(name, endpoint))


async def _salt(store: BaseStore) -> bytes:
    """Return the salt for hashes of thread ids: a secret of the database that never changes."""
    if (item := await store.aget(SALT, "salt")) is not None:
        return bytes.fromhex(str(item.value["salt"]))
    salt = secrets.token_bytes(16)
    await store.aput(SALT, "salt", {"salt": salt.hex()})
    return salt


OPENAI_URL = "https://api.openai.com/v1"


def make_file_reader(settings: Settings, assistant: Assistant) -> FileReader:
    """Return what reads files; it hears if a model for that is set."""
    transcriber = None
    if settings.transcriber_model:
        own = settings.transcriber_base_url and str(settings.transcriber_base_url)
        url, key = own or settings.openai_base_url or OPENAI_URL, settings.transcriber_api_key
        # No server may get the key of another one.
        key = key if own else key or settings.openai_api_key
        transcriber = Transcriber(url, settings.transcriber_model, key, settings.model_timeout)
    return FileReader(assistant, transcriber, settings.attached_length)


THRESHOLDS_ITEM = ("application", "gate"), "thresholds"
"""Where `calibrate` keeps the thresholds: `model`, `low`, `high`, and the `turns` and `switches` behind them."""


async def load_thresholds(store: BaseStore) -> Thresholds | None:
    """Return the thresholds of this installation; None if it has none, or they belong to other weights."""
    item = await store.aget(*THRESHOLDS_ITEM)
    if item is None:
        return None
    if item.value["model"] != weights().name:
        LOG.warning("the gate has new weights since it was calibrated; run `python -m app calibrate` again")
        return None
    return Thresholds(item.value["low"], item.value["high"])
