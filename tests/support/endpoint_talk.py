"""Conversations with an assistant whose model is an endpoint that the test controls."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Behavior, Delay, Match, Reply, ToolCall
from pydantic import SecretStr

from agents.events import Error, Event, ModelStart, ToolEnd, TurnEnd
from agents.models import Model, ToolSchema
from agents.models.factory import Endpoint, make_model, make_models
from agents.models.reply import Listener, reply
from app.assistant import Assistant
from tests.support.scripted_assistant import open_calls, play, stage
from tests.support.user_words import bare

SPEAKER = Match(tools=True)
"""Requests of the supervisor and the dialogs; observers are given no tools."""
STREAM = Match(tools=True, stream=True)
TEXT = "One two three four"
SOON = 0.5
"""Seconds: a timeout that a test can wait for."""
LATE = 1.5
"""Seconds: longer than that."""


def calm(mock: LLMock) -> LLMock:
    """Remove all prepared answers."""
    return mock.reset().tool_mode("off").add(Reply(text="stay", times=None, match=Match(tools=False)))


@asynccontextmanager
async def talk(folder: Path, url: str, *, timeout: float = 10) -> AsyncIterator[Assistant]:
    """Open the application with the model "openai:m" at `url`."""
    endpoint = Endpoint(key=SecretStr("key"), base_url=url, timeout=timeout)
    async with stage(folder / "talk.db", make_models("openai:m", {}, None, endpoint)) as assistant:
        yield assistant


def endpoint_model(url: str, name: str = "m") -> Model:
    """Return the model "openai:<name>" at `url`."""
    return make_model(f"openai:{name}", Endpoint(key=SecretStr("key"), base_url=url))


async def answered(url: str, *tools: ToolSchema) -> tuple[AIMessage, list[str]]:
    """Ask the model at `url`, which is offered these tools; return its reply, and the errors before it."""
    events: list[Event] = []
    prompt: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
    message = await reply([endpoint_model(url)], prompt, tools, Listener("supervisor", events.append))
    return message, errors(events)


def patience(fault: Behavior) -> float:
    """Return a short timeout for faults that make the model wait."""
    return SOON if isinstance(fault, Delay) or getattr(fault, "kind", "") == "stall" else 10


def says(text: str) -> Reply:
    """Prepare an answer."""
    return Reply(text=text, match=SPEAKER)


def calls(name: str, **args: Any) -> Reply:
    """Prepare a tool call."""
    return Reply(tool_calls=(ToolCall(name, args),), match=SPEAKER)


PLAN = calls("plan_things", brief="to-dos")


async def turn(assistant: Assistant, text: str) -> list[Event]:
    """Play a message. Checks that a retry is announced only when it comes, and that nothing stays open."""
    events = await play(assistant, text)
    for place, event in enumerate(events):
        if isinstance(event, Error) and event.code == "model_retry":
            assert isinstance(events[place + 1], ModelStart)
    assert isinstance(events[-1], TurnEnd)
    assert await open_calls(assistant) == []
    return events


def errors(events: Sequence[Event]) -> list[str]:
    """Return the codes of the errors."""
    return [event.code for event in events if isinstance(event, Error)]


def tools(events: Sequence[Event]) -> list[tuple[str, bool]]:
    """Return the called tools, each with its success."""
    return [(event.tool, event.ok) for event in events if isinstance(event, ToolEnd)]


def bodies(mock: LLMock) -> list[dict[str, Any]]:
    """Return the requests of the supervisor and the dialogs."""
    return [record.body for record in mock.requests if "tools" in record.body]


def heard(body: dict[str, Any], role: str) -> list[str]:
    """Return the texts of a role in a request; the user's without context blocks."""
    return [bare(message["content"]) for message in body["messages"] if message["role"] == role]
