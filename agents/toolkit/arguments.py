"""What a model may give a tool: the schema of its arguments, and identifiers that the user has spelled out."""

from typing import cast

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from agents.state.talk import Json
from agents.toolkit.context import ToolState
from agents.toolkit.questions import ANSWERS


def parameters(tool: BaseTool) -> Json:
    """Return the JSON schema of what the model may give a tool; trusted parameters are not in it."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else cast(type[BaseModel], schema).model_json_schema()


def accepted(tool: BaseTool, args: Json) -> Json | None:
    """Return the checked arguments as plain data; None if they are invalid, which the tool reports when it is run."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return args
    try:
        return schema.model_validate(args).model_dump(mode="json", warnings=False, fallback=str)
    except ValidationError:
        return None


def said_by_user(state: ToolState) -> list[str]:
    """Return the user's texts in the speaker's history and now.

    The text of a button or a page is left out: others wrote it.
    """
    heard = state["heard"]
    now = [] if heard["source"] in ANSWERS else [heard["text"] or ""]
    return [*now, *(message.text for message in state.get("talk", ()) if isinstance(message, HumanMessage))]
