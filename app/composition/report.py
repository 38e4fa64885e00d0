"""Everything that is discovered, for `python -m app check`: dialogs, observers, tools, models, faults, warnings."""

from collections.abc import Iterator
from typing import Any

from agents.errors import ConfigError, ContractError
from agents.toolkit.card import faults, warnings
from agents.toolkit.descriptions import texts_of
from agents.toolkit.speaker import Speaker, Speakers
from app.composition import discover
from app.composition.help_chain import check_help
from app.composition.services import dialogs_of
from app.settings import Settings, read
from prompts import PromptError, languages, observer_file, translated


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
    try:
        check_help(settings)
    except ConfigError as wrong:
        problems.append(str(wrong))
    try:
        discovered, observers = discover()
        problems += _wrong_settings()
    except (ContractError, PromptError) as broken:
        nothing: dict[str, Any] = {"dialogs": [], "observers": [], "tools": []}
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
                "languages": translated(observer_file(name)),
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
        "models": models,
        "faults": problems,
        "warnings": warnings(speakers, languages()),
    }


def _wrong_settings() -> Iterator[str]:
    for dialog in dialogs_of().values():
        try:
            if dialog.settings:
                read(dialog.settings)
        except ConfigError as wrong:
            yield str(wrong)


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
