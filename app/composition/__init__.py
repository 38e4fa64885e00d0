"""The composition root: put the application together from settings, files and a database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langchain_core.tools import BaseTool

import dialogs
import observers
from agents.conversation.prompt import Prompting
from agents.errors import ConfigError, ContractError
from agents.memory import open_memory
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR
from agents.toolkit.card_texts import texts_of
from agents.toolkit.lint import faults
from agents.tools.abilities import abilities
from agents.tools.clock import current_time
from agents.tools.language import change_language
from app.assistant import Assistant
from app.assistant.language import Languages
from app.composition.help_chain import check_help, make_help
from app.composition.remote_tools import with_remote_tools
from app.graph import build_graph
from app.permissions import Permissions
from app.settings import Settings
from prompts import PromptError, languages

SUPERVISOR_TOOLS = (current_time, abilities, change_language)


@asynccontextmanager
async def open_assistant(
    settings: Settings, *, model: str | None = None, remote: bool = True
) -> AsyncIterator[Assistant]:
    """Open the database and build the graph; `model` takes the place of every configured one.

    Without `remote`, who only looks at what is stored waits for no service.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    speakers, watching = discover()
    check_tools(speakers, whole=not settings.has_remote_tools)
    models = settings.models(model)
    check_help(settings)
    unknown = sorted(set(models.roles) - {SUPERVISOR, "observer", *speakers.dialogs})
    if unknown:
        raise ConfigError(f"ROLE_MODELS names roles that do not exist: {', '.join(unknown)}")
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(open_memory(settings.database_url))
        if remote:
            speakers = await stack.enter_async_context(with_remote_tools(settings, speakers))
            check_tools(speakers)
        graph = build_graph(speakers, watching, saver=memory.saver, store=memory.store, tool_mode=settings.tool_mode)
        known = Languages(settings.app_lang, tuple(languages()), memory.store)
        help = await make_help(settings, memory.store, memory.notes)
        yield Assistant(graph, memory, models, known, help, permissions=Permissions(settings.permissions))


def discover() -> tuple[Speakers, dict[str, observers.Observer]]:
    """Find every dialog and observer by file name."""
    watching = observers.discover(languages())
    found = dialogs.discover(languages(), watching)
    supervisor = Speaker(name=SUPERVISOR, tools=SUPERVISOR_TOOLS)
    return Speakers(supervisor, {name: dialog.named(name) for name, dialog in found.items()}), watching


def check_tools(speakers: Speakers, *, whole: bool = True) -> None:
    """Hold every tool and its card against the rules; `whole`: all tools there are.

    Raises:
        ContractError: one is broken; names the file or the tool.
    """
    if found := faults(speakers, languages(), whole=whole):
        more = f" (and {len(found) - 1} more: python -m app check)" if len(found) > 1 else ""
        raise ContractError(f"{found[0]}{more}")


def system_prompt(speaker: str | None, lang: str) -> str:
    """Return the system prompt of a dialog, or (None) of the supervisor; a dialog that is gone has none."""
    speakers, _ = discover()
    if speaker is not None and speaker not in speakers.dialogs:
        return ""
    return Prompting(speakers).role(speakers[speaker or SUPERVISOR], lang)


def report(settings: Settings, known: Speakers | None = None, *, whole: bool = False) -> dict[str, Any]:
    """Return everything discovered, with languages, models and faults, for `python -m app check`.

    `known` are the speakers with their remote tools, if these have been opened; `whole`: all of them.
    """
    told: list[str] = []
    models: dict[str, str] = {}
    try:
        chosen = settings.models()
        models = {"default": chosen.default.name} | {role: model.name for role, model in chosen.roles.items()}
        models |= {"fallback": chosen.fallback.name} if chosen.fallback else {}
    except ConfigError as wrong:
        told.append(str(wrong))
    try:
        check_help(settings)
    except ConfigError as wrong:
        told.append(str(wrong))
    try:
        speakers, watching = discover()
    except (ContractError, PromptError) as broken:
        return {"dialogs": [], "observers": [], "tools": [], "models": models, "faults": [*told, str(broken)]}
    speakers = known or speakers
    told += faults(speakers, languages(), whole=whole or not settings.has_remote_tools)
    tools = {tool.name: tool for one in (speakers.supervisor, *speakers.dialogs.values()) for tool in one.tools}
    return {
        "dialogs": [_dialog(speaker) for speaker in speakers.dialogs.values()],
        "observers": [
            {
                "name": name,
                "checks": [check for check in ("pre_check", "post_check") if getattr(observer, check)],
                "languages": languages(f"observers/{name}"),
            }
            for name, observer in watching.items()
        ],
        "tools": [_tool(tool) for tool in tools.values()],
        "models": models,
        "faults": told,
    }


def _tool(tool: BaseTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description.partition("\n")[0],
        "languages": [lang for lang in languages() if texts_of(tool, lang)[1]],
    }


def _dialog(speaker: Speaker) -> dict[str, Any]:
    return {
        "name": speaker.name,
        "tool": speaker.tool,
        "description": speaker.description,
        "tools": [tool.name for tool in speaker.tools],
        "observers": list(speaker.observers),
        "form": list(speaker.form.model_fields) if speaker.form else [],
        "resume": speaker.resume,
        "version": speaker.version,
        "languages": languages(f"dialogs/{speaker.name}"),
    }
