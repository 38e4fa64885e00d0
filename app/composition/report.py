"""Everything that is discovered, for `python -m app check`: dialogs, observers, tools, models, faults, warnings."""

from typing import Any

from agents.errors import ConfigError, ContractError
from agents.sources import retrievers
from agents.toolkit.card_texts import texts_of
from agents.toolkit.lint import faults
from agents.toolkit.missing_texts import warnings
from agents.toolkit.speaker import Speaker, Speakers
from app.composition import discover
from app.composition.help_chain import check_help
from app.composition.search_sources import check_search
from app.settings import Settings
from prompts import PromptError, languages, translated


def report(settings: Settings, speakers: Speakers | None = None, *, complete: bool = False) -> dict[str, Any]:
    """Return everything discovered, as plain data.

    `speakers` are those with their remote tools, if these have been opened; `complete` says that all of them are there.
    """
    problems: list[str] = []
    models: dict[str, str] = {}
    try:
        chosen = settings.models()
        models = {"default": chosen.default.name} | {role: model.name for role, model in chosen.roles.items()}
        models |= {"fallback": chosen.fallback.name} if chosen.fallback else {}
    except ConfigError as wrong:
        problems.append(str(wrong))
    for check in (check_help, check_search):
        try:
            check(settings)
        except (ConfigError, ContractError, PromptError) as wrong:
            problems.append(str(wrong))
    try:
        discovered, observers = discover()
    except (ContractError, PromptError) as broken:
        nothing: dict[str, Any] = {"dialogs": [], "observers": [], "tools": [], "sources": []}
        return {**nothing, "models": models, "faults": [*problems, str(broken)], "warnings": []}
    speakers = speakers or discovered
    problems += faults(speakers, languages(), complete=complete or not settings.has_remote_tools)
    tools = {tool.name: tool for speaker in speakers for tool in speaker.tools}
    return {
        "dialogs": [_dialog(dialog) for dialog in speakers.dialogs.values()],
        "observers": [
            {
                "name": name,
                "checks": [check for check in ("pre_check", "post_check") if getattr(observer, check)],
                "languages": translated(f"observers/{name}"),
            }
            for name, observer in observers.items()
        ],
        "tools": [
            {
                "name": tool.name,
                "description": tool.description.partition("\n")[0],
                "languages": [lang for lang in languages() if texts_of(tool, lang)[1]],
            }
            for tool in tools.values()
        ],
        "sources": _sources(settings),
        "models": models,
        "faults": problems,
        "warnings": warnings(speakers, languages()),
    }


def _sources(settings: Settings) -> list[dict[str, object]]:
    """Return what can be searched, by the name under which it is searched; none for what is only there."""
    try:
        sources = retrievers.discover()
    except (ContractError, PromptError):
        return []
    used = {name: plan.name for plan in settings.search_sources for name in plan.sources}
    return [
        {"name": name, "searched_as": used.get(name), "needs": [setting.upper() for setting in source.needs]}
        for name, source in sources.items()
    ]


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
