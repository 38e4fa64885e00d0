"""The user's settings: the language of the conversation."""

from typing import Annotated

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from pydantic import AfterValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agents.memory.preferences import Preferences
from agents.toolkit import Runtime, traits
from agents.toolkit.supervisor.user_settings import SETTINGS, enter_setting
from prompts import languages, phrase


class _LanguageSchema:
    """Names the languages to the model: those that have prompts."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": languages()}


def _has_prompts(language: str) -> str:
    if language not in languages():
        raise ValueError(f"is one of {', '.join(languages())}")
    return language


Language = Annotated[str, AfterValidator(_has_prompts), _LanguageSchema()]


@traits(effect="write", repeatable=True, always=True, undo=SETTINGS)
@tool
async def change_language(language: Language, runtime: Runtime) -> Command[str]:
    """Hold the conversation in another language from now on, when the user asks for it."""
    await enter_setting(runtime, "language", {"lang": language})
    await Preferences(lang=language).save(runtime.store, runtime.context.user)
    answer = ToolMessage(phrase("language_set", language), tool_call_id=runtime.tool_call_id or "")
    return Command(update={"lang": language, "messages": [answer]})
