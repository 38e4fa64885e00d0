"""Commands on the installation: `check` and `graph`."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool

import prompts
from agents.command_line import CommandResult
from agents.conversation.scene import Observer
from agents.discovery import load, place_of
from agents.errors import ConfigError, ContractError
from agents.plugin import Plugin
from agents.toolkit.descriptions import texts_of
from agents.toolkit.speaker import Speaker, Speakers
from app.cli import command_line
from app.composition import (
    discover,
    equipped,
    faults_of,
    open_assistant,
    plugins_found,
    tables_of,
    unanswered,
)
from app.composition.help_chain import brought_links, check_help
from app.composition.models import make_models
from app.composition.served_tools import openers, tried, with_served_tools
from app.composition.windows import fitting
from app.databases import backend_of
from app.doors import slash_commands
from app.extensions import module_of, plugins, uninstalled
from app.presentation.lines import report_lines
from app.presentation.tool_card import warnings
from app.process.exit_codes import USAGE
from app.settings import Settings, ignored, read, read_settings, slips
from dialogs import Dialog
from prompts import PromptError, languages, observer_file, translated


async def graph() -> None:
    """Draw the graph, as mermaid."""
    async with open_assistant(read_settings(), remote=False) as assistant:
        sys.stdout.write(assistant.graph.get_graph().draw_mermaid().rstrip("\n") + "\n")


async def check() -> CommandResult:
    """Show everything that is discovered; exit 2 if something is wrong."""
    settings = read_settings()
    result = report(settings)
    if not result["faults"]:
        with _noting(result["faults"]):
            await backend_of(settings.database_url).check(tables_of(plugins_found()))
    if not result["faults"]:
        left_out: list[ConfigError] = []
        broken_files: list[str] = []
        refused: list[str] = []
        with _noting(broken_files):
            async with with_served_tools(plugins_found(), discover()[0], left_out.append, left_out.append) as speakers:
                models = make_models(settings, speakers)
                speakers, refused = tried(speakers, models, settings.app_lang)
                if refused or openers(plugins_found()):
                    result = report(settings, speakers, complete=not left_out and not refused)
                result["warnings"] += (await fitting(speakers, models, settings.app_lang))[1]
        result["faults"] += [*map(str, left_out), *refused, *broken_files]
    return CommandResult(result, report_lines(result, settings.app_lang), USAGE if result["faults"] else 0)


def report(settings: Settings, speakers: Speakers | None = None, *, complete: bool = False) -> dict[str, Any]:
    """Return all discovered parts and their problems, as plain data.

    `speakers` are those with open remote tools, if there are any; `complete` means that all tools are there.
    """
    problems: list[str] = []
    models: dict[str, str] = {}
    with _noting(problems):
        chosen = settings.models()
        models = {"default": chosen.default.name} | {role: model.name for role, model in chosen.roles.items()}
        models |= {"fallback": chosen.fallback.name} if chosen.fallback else {}
    try:
        discovered, observers = discover()
        kinds = [plugin.settings for plugin in plugins_found().values() if plugin.settings]
        for kind in kinds:
            with _noting(problems):
                read(kind)
        if not problems:
            equipped(discovered, plugins(), observers)
        problems += slash_commands.twice()
        for module, variable in _late_modules():
            if not hasattr(load(module), variable):
                raise ContractError(f"{place_of(module)} must define `{variable}`")
        if any(plugin.command_line for plugin in _own().values()):
            command_line.application()
    except (ContractError, PromptError) as broken:
        nothing: dict[str, object] = {"dialogs": [], "observers": [], "tools": [], "plugins": [], "uninstalled": {}}
        return {**nothing, "models": models, "faults": [*dict.fromkeys([*problems, str(broken)])], "warnings": []}
    speakers = speakers or discovered
    with _noting(problems):
        check_help(settings, brought_links(plugins_found()))
    with _noting(problems):
        # A fault of the settings alone is noted above.
        models |= {role: own.name for role, own in make_models(settings, speakers).roles.items()} if models else {}
    problems += slips([Settings, *kinds])
    problems += unanswered(speakers, plugins())
    # Settings that cannot be read are noted above.
    with _noting(problems):
        complete = complete or not (problems or openers(plugins_found()))
        problems += faults_of(speakers, complete=complete)
    tools = {tool.name: tool for speaker in speakers for tool in speaker.tools}
    return {
        "dialogs": [_dialog(dialog) for dialog in speakers.dialogs.values()],
        "observers": [_observer(name, observer) for name, observer in observers.items()],
        "tools": [_tool(tool) for tool in tools.values()],
        "models": models,
        "plugins": [*plugins()],
        "uninstalled": uninstalled(),
        "faults": problems,
        "warnings": []
        if problems
        else [*ignored([Settings, *kinds]), *warnings(speakers, languages()), *_idle(speakers, observers)],
    }


def _idle(speakers: Speakers, observers: Mapping[str, Observer]) -> list[str]:
    """Return a line for each observer that watches nobody; the usual ones need no dialog."""
    named = [*Dialog.observers, *(name for owner in (*speakers, *plugins().values()) for name in owner.observers)]
    idle = [name for name, observer in observers.items() if not observer.always and name not in named]
    return [f"the observer {name} watches nobody: name it in Dialog.observers, or set its `always`" for name in idle]


def _late_modules() -> Iterator[tuple[str, str]]:
    """Yield a team's modules that a door or a command alone loads, and what each defines; shipped ones are tested."""
    for plugin in _own().values():
        yield from ((module, "router") for module in plugin.routes)
        if plugin.command_line and isinstance(plugin.command_line, str):
            yield plugin.command_line, "command_line"


def _own() -> Mapping[str, Plugin]:
    """Return the plug-ins and dialogs of a team's own folders."""
    # A dialog that was put together by a form has no module.
    files = {name: getattr(sys.modules.get(module_of(name)), "__file__", None) or "-" for name in plugins_found()}
    is_own = {name: any(Path(file).is_relative_to(root) for root in prompts.EXTENSIONS) for name, file in files.items()}
    return {name: plugin for name, plugin in plugins_found().items() if is_own[name]}


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except (ConfigError, ContractError) as wrong:
        problems.append(str(wrong))


def _observer(name: str, observer: Observer) -> dict[str, object]:
    checks = [check for check in ("pre_check", "post_check") if getattr(observer, check)]
    return {"name": name, "checks": checks, "languages": translated(observer_file(name))}


def _tool(tool: BaseTool) -> dict[str, object]:
    spoken = [lang for lang in languages() if texts_of(tool, lang)[1]]
    return {"name": tool.name, "description": tool.description.partition("\n")[0], "languages": spoken}


def _dialog(dialog: Speaker) -> dict[str, object]:
    return {
        "name": dialog.name,
        "tool": dialog.tool,
        "description": dialog.description,
        "tools": [tool.name for tool in dialog.tools],
        "observers": list(dialog.observers),
        "form": list(dialog.form.model_fields) if dialog.form else [],
        "resume": dialog.resume,
        "version": dialog.version,
        "languages": translated(f"{dialog.name}/prompt"),
    }
