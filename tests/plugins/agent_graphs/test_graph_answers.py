"""The answer of an agent graph's run, in any form: words for the user, or the apology; never machinery."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import TypedDict

from agents.events import Error, Message, Token
from app.testing import Chat
from app.testing.script import Call
from tests.plugins.agent_graphs.desk import SCRIPT, model, row, seat


def says(*steps: list[Any]) -> Any:
    """Return a graph whose nodes add these messages, one node after the other."""
    return row(*(lambda _, messages=messages: {"messages": messages} for messages in steps))


def answers(chat: Chat) -> list[str]:
    """Return the dialog's answers."""
    return [event.text for event in chat.events if isinstance(event, Message) and event.speaker == "desk"]


def errors(chat: Chat) -> list[str]:
    """Return the codes of the apologies."""
    return [event.code for event in chat.events if isinstance(event, Error)]


CALL = {"name": "look", "args": {}, "id": "1"}
GOOD = AIMessage("42 is the answer.")
EMPTY: dict[str, AnyMessage] = {
    "empty": AIMessage(""),
    "marks": AIMessage("<|im_end|>"),
    "thinking": AIMessage("<think>What was it?</think>"),
    "no text": AIMessage([{"type": "image", "url": "https://x.example/a.png"}]),
    "a call": AIMessage("", tool_calls=[CALL]),
    "another's words": HumanMessage("Is that so?"),
}


async def test_half_a_character_is_marked(chat: Chat) -> None:
    """A graph may cut a text within a character; no file and no database takes that."""
    seat(chat, says([AIMessage("A box \ud83d.\0")]))
    await chat.says("What was sent?")

    assert answers(chat) == ["A box \ufffd."]


@pytest.mark.parametrize("last", EMPTY.values(), ids=EMPTY)
async def test_the_last_words_of_a_run_are_shown(chat: Chat, last: AnyMessage) -> None:
    """A last message without words does not hide the words before it."""
    seat(chat, says([GOOD.model_copy()], [last.model_copy()]))
    await chat.says("What is the answer?")
    assert (answers(chat), errors(chat)) == (["42 is the answer."], [])


@pytest.mark.parametrize("kind", ["empty", "thinking", "a call"])
async def test_a_run_without_words_is_told(chat: Chat, kind: str) -> None:
    """An earlier run's words are no answer to this message: the user reads the apology, and the talk goes on."""
    turns = iter([GOOD, EMPTY[kind], AIMessage("Still here.")])
    seat(chat, row(lambda _: {"messages": [next(turns).model_copy()]}))
    chat.expects(observer=["stay", "stay"])
    await chat.says("What is the answer?")
    assert answers(chat) == ["42 is the answer."]
    await chat.says("And what is the question, after all these years?")
    assert (answers(chat), errors(chat)) == ([], ["garbled"])
    await chat.says("Are you still there, or has something gone wrong?")
    assert answers(chat) == ["Still here."]


@pytest.mark.parametrize(("is_done", "again"), [(False, ["Here."]), (True, [])], ids=["no tool", "a tool"])
async def test_the_same_message_again_begins_anew(chat: Chat, is_done: bool, again: list[str]) -> None:
    """A run that came to no words is made again, unless a tool was called: what it did is not done twice."""
    runs: list[str] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        runs.append("run")
        done: list[AnyMessage] = [AIMessage("", tool_calls=[CALL]), ToolMessage("Paid.", tool_call_id="1")]
        return {"messages": [*(done if is_done else []), AIMessage("Here." if len(runs) > 1 else "")]}

    seat(chat, row(answer))
    await chat.says("Pay Bob", id="1")
    assert errors(chat) == ["garbled"]
    await chat.says("Pay Bob", id="1")
    assert answers(chat) == again
    assert len(runs) == 1 + len(again)


class Out(TypedDict):
    """An output without messages."""

    answer: str
    sure: bool


class Answering(MessagesState):
    """The state of a graph that answers under a key."""

    answer: str
    sure: bool


class Asked(TypedDict):
    """An input of messages alone."""

    messages: list[AnyMessage]


def keyed(values: dict[str, Any]) -> Any:
    """Return a graph that answers under keys of its output, and goes to its end by a command."""
    graph = StateGraph(Answering, input_schema=Asked, output_schema=Out)
    graph.add_node("a", lambda _: Command(goto=END, update=values))
    graph.add_edge(START, "a")
    return graph.compile()


def function(result: Any) -> Any:
    """Return a function as a graph."""

    @entrypoint()
    async def answer(state: MessagesState) -> Any:
        return result

    return answer


FORMS: dict[str, tuple[Any, str]] = {
    "a key": (keyed({"answer": "It is five."}), "It is five."),
    "keys": (keyed({"answer": "five", "sure": True}), "- answer: five\n- sure: yes"),
    "a function's text": (function("It is five."), "It is five."),
    "a function's message": (function(AIMessage("It is five.")), "It is five."),
    "a function's messages": (function({"messages": [AIMessage("It is five."), AIMessage("")]}), "It is five."),
    "a function's values": (function({"answer": 5}), "answer: 5"),
    "a pair": (says([("ai", "It is five.")]), "It is five."),
    "blocks": (says([AIMessage([{"type": "text", "text": "It is five."}])]), "It is five."),
    "a tool's words": (
        says([AIMessage("", tool_calls=[CALL])], [ToolMessage("It is five.", tool_call_id="1")]),
        "It is five.",
    ),
    "a tool's values": (
        says([ToolMessage('{"answer": 5, "of": [1, 2]}', tool_call_id="1")]),
        "- answer: 5\n- of:\n  - 1\n  - 2",
    ),
    "a tool's failure": (
        says([AIMessage("I look.", tool_calls=[CALL])], [ToolMessage("Error: X()", tool_call_id="1", status="error")]),
        "I look.",
    ),
}


@pytest.mark.parametrize(("graph", "answer"), FORMS.values(), ids=FORMS)
async def test_other_ends_of_a_graph_are_words(chat: Chat, graph: Any, answer: str) -> None:
    """A graph may answer under a key, by a command, as a function, or with a tool's result."""
    seat(chat, graph)
    await chat.says("How long is house?")
    assert (answers(chat), errors(chat)) == ([answer], [])


async def test_a_function_that_returns_nothing_is_told(chat: Chat) -> None:
    """A run that has said nothing at all breaks a rule, and the user reads an apology."""
    seat(chat, function(None))
    await chat.says("How long is house?")
    assert (answers(chat), errors(chat)) == ([], ["internal"])


class Sky(Enum):
    """The state of the sky."""

    BLUE = "blue"


class Wind(BaseModel):
    """The wind."""

    speed: int
    gusts: list[int] = []


class Weather(BaseModel):
    """The weather."""

    degrees: int
    sky: Sky = Sky.BLUE
    wind: Wind | None = None
    needs_umbrella: bool = False


@dataclass
class Plain:
    """The weather as a dataclass."""

    degrees: int


class Named(TypedDict):
    """The weather as a dict."""

    degrees: int


NESTED = {"degrees": 5, "wind": {"speed": 3, "gusts": [4, 6]}, "needs_umbrella": True}
LINES = """- degrees: 5
- sky: blue
- wind:
  - speed: 3
  - gusts:
    - 4
    - 6
- needs umbrella: yes"""


@tool(return_direct=True)
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is warm."


@pytest.mark.parametrize(
    ("schema", "args", "words", "is_inner"),
    [
        (Weather, NESTED, LINES, False),
        (Plain, {"degrees": 5}, "degrees: 5", True),
        (Named, {"degrees": 5}, "degrees: 5", False),
        (
            {"title": "Weather", "description": "-", "type": "object", "properties": {"degrees": {"type": "integer"}}},
            {"degrees": 5},
            "degrees: 5",
            True,
        ),
    ],
    ids=["pydantic", "dataclass in a graph", "dict", "schema in a graph"],
)
async def test_structured_output_is_written_in_words(
    chat: Chat, schema: Any, args: dict[str, Any], words: str, is_inner: bool
) -> None:
    """The values that were asked for stand in lines, and no text of LangChain's."""
    agent: Any = create_agent(model(), [look], response_format=ToolStrategy(schema))
    if is_inner:
        agent = row(agent)
    name = schema["title"] if isinstance(schema, dict) else schema.__name__
    SCRIPT.add(desk=[Call(name, args)])
    seat(chat, agent)
    await chat.says("What is the weather like?")
    assert (answers(chat), errors(chat)) == ([words], [])


class Structured(MessagesState):
    """A state with structured output."""

    structured_response: Any


async def test_words_beside_structured_output_are_kept(chat: Chat) -> None:
    """The words of the agent's model beside the values stand before them."""

    async def answer(_: Structured) -> dict[str, Any]:
        call = {"name": "Weather", "args": {"degrees": 5}, "id": "1"}
        said = AIMessage("Here it is.", tool_calls=[call])
        note = ToolMessage("Returning structured response: degrees=5", tool_call_id="1", name="Weather")
        return {"messages": [AIMessage("I look."), said, note], "structured_response": Plain(5)}

    seat(chat, row(answer, schema=Structured))
    await chat.says("What is the weather like?")
    assert answers(chat) == ["Here it is.\n\ndegrees: 5"]


async def test_structured_output_of_a_provider_is_written_in_words(chat: Chat) -> None:
    """JSON that a provider gives as the text is neither streamed nor shown as it is."""
    agent = create_agent(model(), [], response_format=ProviderStrategy(Weather))
    SCRIPT.add(desk=['{"degrees": 5, "sky": "blue"}'])
    seat(chat, agent)
    await chat.says("What is the weather like?")
    assert answers(chat) == ["- degrees: 5\n- sky: blue\n- needs umbrella: no"]
    assert not any("{" in event.text for event in chat.events if isinstance(event, Token))


async def test_a_tool_that_answers_itself(chat: Chat) -> None:
    """The result of a tool with `return_direct` is the answer."""
    SCRIPT.add(desk=[Call("look", {"at": "Oslo"})])
    seat(chat, create_agent(model(), [look], response_format=ToolStrategy(Weather)))
    await chat.says("What is Oslo like?")
    assert (answers(chat), errors(chat)) == (["Oslo is warm."], [])
