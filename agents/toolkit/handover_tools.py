"""The tools by which speakers pass the conversation on and fill forms.

`hand_back` and the dialogs' entry tools change the holder of the conversation, so they are not run as tools:
`agents.nodes.tools` reads them. The model reads their docstrings, which are short: they are in every prompt.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SkipValidation, ValidationError, create_model

from agents.state import SUPERVISOR
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime
from agents.toolkit.descriptions import PARAMETERS, Texts, with_texts
from agents.toolkit.questions.form import extra, misfits, missing, size_of
from agents.toolkit.result import Misused
from agents.toolkit.speaker import Speaker
from agents.toolkit.traits import Traits, traits, with_traits
from agents.toolkit.undo import FORM, entered, form_changes
from prompts import phrase

HAND_BACK = "hand_back"
FILL_FORM = "fill_form"
ASK = "ask_user"
UNREAD: Any = PlainSerializer(lambda value: value), SkipValidation  # The value as the model gave it; `fill` reads it.
NAMES_USER = "names_user"
"""Marks, in `json_schema_extra`, the field of a remembered form that has the user's name."""


@tool(HAND_BACK)
def hand_back(wish: str = "") -> Command[str]:
    """Give the conversation back; your last words stand in the same reply.

    wish: what is still to be done, in the user's own words.
    """
    # Only agent graphs run this tool.
    return Command(goto=SUPERVISOR, graph=Command.PARENT, update={"wish": wish})


@traits(volatile=True)
@tool(ASK)
def ask_user(question: str | Json) -> object:
    """Ask the user what an agent graph waits for."""
    return interrupt(question)


@cache
def entry_tool(name: str, description: str) -> BaseTool:
    """Return the tool by which the supervisor hands over to a dialog."""

    def enter(brief: str) -> str:
        return brief

    return StructuredTool.from_function(enter, name=name, description=description, metadata={PARAMETERS: "entry_brief"})


def entry_of(dialog: Speaker) -> BaseTool:
    """Return the tool that hands over to a dialog, with the dialog's examples."""
    return with_texts(entry_tool(dialog.tool, dialog.description), Texts(examples=dialog.examples))


@cache
def form_tool(form: type[BaseModel]) -> BaseTool:
    """Return the tool that fills a dialog's form.

    Fields the model leaves out keep their values; a list replaces the former list.
    """
    optional: dict[str, Any] = {
        name: (Annotated[field.annotation | None, *UNREAD], Field(default=None, description=field.description))  # type: ignore[operator]
        for name, field in form.model_fields.items()
    }
    config = ConfigDict(arbitrary_types_allowed=True)
    schema = create_model(f"{form.__name__}Fields", __config__=config, runtime=(Runtime, ...), **optional)

    async def fill(runtime: Runtime, **values: object) -> Command[str]:
        new = {name: value for name, value in values.items() if value is not None}
        most = runtime.context.limits.field_length
        for name, value in new.items():
            if (length := size_of(value)) > most:
                raise Misused(phrase("field_long", runtime.state["lang"], field=name, most=most, length=length))
        lang = runtime.state["lang"]
        new = runtime.context.fitting(form, runtime.state.get("speaker", ""), lang, new)
        try:
            everything = {**runtime.state["form"], **new}
            filled = form.model_validate(everything, by_alias=True, by_name=True).model_dump(mode="json")
        except ValidationError as wrong:
            raise Misused("; ".join(f"{name}: {why}" for name, why in misfits(form, wrong, lang).items())) from None
        await entered(runtime, FORM, form_changes(runtime, {name: filled[name] for name in new}))
        names, open_names = ", ".join(new) or "-", ", ".join(missing(form, filled)) or "-"
        note = phrase("form_filled", runtime.state["lang"], filled=names, missing=open_names)
        answer = ToolMessage(note, tool_call_id=runtime.tool_call_id or "", name=FILL_FORM)
        return Command(update={"form": {name: filled[name] for name in new}, "messages": [answer]})

    description = "Write down or correct what the user told you. A list replaces the former list."
    filling = StructuredTool.from_function(
        coroutine=fill, name=FILL_FORM, description=description, args_schema=schema, infer_schema=False
    )
    return with_traits(filling, Traits(effect="write", repeatable=True, undo=FORM))


def names_user(speaker: Speaker, values: Mapping[str, object]) -> str:
    """Return the user's name, from the form's field that is marked with `NAMES_USER`; empty if it is unknown."""
    fields = speaker.form.model_fields if speaker.form else {}
    marked = [name for name, field in fields.items() if extra(field, NAMES_USER) is True]
    return next((str(values[name]) for name in marked if values.get(name)), "")


def revise(form: type[BaseModel], values: Mapping[str, object]) -> dict[str, object]:
    """Return those of the stored values that the present form still accepts."""
    accepted: dict[str, object] = {}
    for name, value in values.items():
        try:
            form.model_validate({**accepted, name: value}, extra="forbid", by_alias=True, by_name=True)
        except ValidationError as error:
            if any(problem["loc"][:1] == (name,) for problem in error.errors()):
                continue
        accepted[name] = value
    return accepted
