"""The supervisor's tools in every application: the time, the assistant's abilities, the language."""

from typing import Annotated

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from pydantic import AfterValidator, Field

from agents.memory.preferences import Preferences
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime, present, zone_of
from agents.toolkit.traits import traits
from agents.toolkit.undo import SETTINGS, enter_setting
from prompts import languages, phrase, prompt, table, title_of


@traits(volatile=True, shortcut=True, always=True)
@tool
async def current_time(runtime: Runtime) -> str:
    """Tell the date, weekday and time now."""
    now = present(runtime).astimezone(await zone_of(runtime))
    lang = runtime.state["lang"]
    weekday = table("texts", lang)["weekdays"][now.weekday()]
    return phrase("now", lang, weekday=weekday, date=f"{now:%Y-%m-%d}", time=f"{now:%H:%M}", zone=f"{now:%Z}")


@traits(shortcut=True, always=True)
@tool
async def abilities(runtime: Runtime) -> str:
    """Tell what you can do for the user."""
    lang: str = runtime.state["lang"]
    lines = [f"- {ability(name, use, lang)}" for name, use in runtime.state.get("dialogs", {}).items()]
    return prompt("abilities", lang, dialogs="\n".join(lines))


def ability(name: str, use: str, lang: str) -> str:
    """Return the ability of a dialog: in its own words for the user if it has some, else from its description."""
    able = table(f"{name}/phrases", lang).get("able")
    return str(able or f"{title_of(name, lang).replace('_', ' ')}: {use.removeprefix('Used for ').rstrip('.')};")


def _with_languages(schema: Json) -> None:
    schema["enum"] = languages()


def _has_prompts(language: str) -> str:
    if language not in languages():
        raise ValueError(f"is one of {', '.join(languages())}")
    return language


Language = Annotated[str, AfterValidator(_has_prompts), Field(json_schema_extra=_with_languages)]


@traits(effect="write", repeatable=True, always=True, undo=SETTINGS)
@tool
async def change_language(language: Language, runtime: Runtime) -> Command[str]:
    """Go on in another language, when the user asks for it.

    language: its name or code.
    """
    await enter_setting(runtime, "language", {"lang": language})
    await Preferences(lang=language).save(runtime.store, runtime.context.user)
    answer = ToolMessage(phrase("language_set", language), tool_call_id=runtime.tool_call_id or "")
    return Command(update={"lang": language, "messages": [answer]})
