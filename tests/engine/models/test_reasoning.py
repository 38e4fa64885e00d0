"""Models that think before they answer, over HTTP: the thinking is never shown, stored or taken for an answer."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.events import Event, ModelThinking, Token
from agents.models.reply import Listener, reply
from tests.support.endpoint_talk import TEXT, endpoint_model, errors, heard, talk, tools, turn
from tests.support.odd_provider import Chunk, Provider, call, delta, end, words
from tests.support.scripted_assistant import play, said, script_lines, todos

SECRET = "The user is tired"
TAGGED = f"<think>\n{SECRET}\n</think>\n\n{TEXT}"
PLAN = call("plan_things", "{}", "a")
PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]


def text_in(*pieces: str) -> list[Chunk]:
    """Return a reply whose text comes in these pieces."""
    return [delta(role="assistant", content=""), *(delta(content=piece) for piece in pieces), end("stop")]


def in_field(name: str, text: str = TEXT) -> list[Chunk]:
    """Return a reply whose thinking comes in a field of its own."""
    thoughts: list[Chunk] = [delta(role="assistant", **{name: word}) for word in SECRET.split()]
    return [*thoughts, delta(content="\n\n"), *words(text)[1:]]


def shown(events: Sequence[Event]) -> str:
    """Return the pieces of text that were shown."""
    return "".join(event.text for event in events if isinstance(event, Token))


@pytest.mark.parametrize(
    "answer",
    [
        text_in(TAGGED),
        text_in(*TAGGED),
        in_field("reasoning_content"),
        in_field("reasoning"),
        text_in(f"[THINK]{SECRET}[/THINK]{TEXT}"),
        text_in(f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}"),
    ],
    ids=["tags", "letters", "reasoning_content", "reasoning", "magistral", "harmony"],
)
async def test_only_the_answer_counts(tmp_path: Path, answer: list[Chunk]) -> None:
    """The answer is shown and stored without the thinking, and only that goes into the next prompt."""
    async with Provider.open(answer, words("Fine.")) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert (shown(events), said(events), errors(events)) == (TEXT, [TEXT], [])
        assert [event.model for event in events if isinstance(event, ModelThinking)] == ["openai:m"]
        assert said(await turn(assistant, "and now?")) == ["Fine."]
        assert heard(server.bodies[-1], "assistant") == [TEXT]
        assert SECRET not in str(await assistant.state("t")) + str(server.bodies) + str(await script_lines(assistant))


@pytest.mark.parametrize("field", ["text", "reasoning_content"])
async def test_a_limit_reached_while_thinking_is_said(tmp_path: Path, field: str) -> None:
    """The user reads that the length was used up, after a second request that had room for thinking."""
    cut = delta(content=f"<think>{SECRET}") if field == "text" else delta(**{field: SECRET})
    async with Provider.open([cut, end("length")]) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert (errors(events), said(events)) == (["model_retry", "cut_length"], [])
        assert [body["max_tokens"] for body in server.bodies] == [1024, 16384]
        assert SECRET not in str(events)


async def test_a_reply_of_thinking_alone_is_broken(tmp_path: Path) -> None:
    """A model that only thinks is asked again, and nothing of it is shown."""
    replies = [text_in(f"<think>{SECRET}</think>\n"), text_in(f"<think>{SECRET}"), text_in(TAGGED)]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry", "model_retry"]
        assert (shown(events), said(events)) == (TEXT, [TEXT])


@pytest.mark.needs("planner")
async def test_thinking_before_a_call_is_no_answer(tmp_path: Path) -> None:
    """Thinking beside a tool call is not shown as words to the user."""
    thinking: list[Chunk] = [delta(role="assistant", content=f"<think>{SECRET}</think>\n\n")]
    replies = [thinking + PLAN, thinking + call("add_todos", '{"items": ["milk"]}', "b"), words("Noted.")]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "put down milk")
        assert (shown(events), said(events)) == ("Noted.", ["Noted."])
        assert tools(events) == [("add_todos", True)]
        assert await todos(assistant) == ["milk"]


async def test_a_text_that_begins_inside_the_thinking(tmp_path: Path) -> None:
    """The closing tag alone takes back what was shown; from then on nothing is shown before that tag."""
    inside = text_in(SECRET, "</think>", "One two", " three four")
    async with Provider.open(inside) as server, talk(tmp_path, server.url) as assistant:
        events = await play(assistant, "hi")
        assert (errors(events), said(events)) == (["model_retry"], [TEXT])
        assert shown(events).removeprefix(SECRET) == TEXT
        assert len(server.bodies) == 1
        events = await turn(assistant, "and now?")
        assert (errors(events), shown(events), said(events)) == ([], TEXT, [TEXT])


@pytest.mark.parametrize("name", ["deepseek-r1:8b", "qwq-32b", "qwen3-4b-thinking-2507"])
async def test_some_names_say_where_the_thinking_begins(name: str) -> None:
    """Nothing of the first reply is shown before its thinking is closed; a reply without any is shown whole."""
    pieces: list[str] = []
    listener = Listener("supervisor", lambda event: None, pieces.append)
    async with Provider.open(text_in(SECRET, "</think>\n", TEXT), words(TEXT)) as server:
        model = endpoint_model(server.url, name)
        assert (await reply([model], PROMPT, [], listener)).text == TEXT
        assert (await reply([model], PROMPT, [], listener)).text == TEXT
    assert "".join(pieces) == TEXT * 2
    assert not model.is_headless
