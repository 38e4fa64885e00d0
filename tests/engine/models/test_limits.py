"""How much a model may write: tokens by role, no circles, one word where a word is wanted."""

import random
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.events import Event
from agents.models import Choice, Model
from agents.models.factory import Endpoint, Parameters, make_models
from agents.models.reply import Listener, reply
from agents.models.streamed_reply import CUT, repeated
from tests.support.endpoint_talk import TEXT, errors
from tests.support.odd_provider import Chunk, Provider, delta, end, refuse, words

PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]


def model_at(url: str, role: str = "supervisor", **parameters: Any) -> Model:
    """Return the model of a role at an address."""
    made = make_models("openai:m", {}, None, Endpoint(base_url=url), {"default": Parameters(**parameters)})
    return made.chain(role)[0]


async def answer(model: Model, *wanted: str) -> tuple[str, list[str]]:
    """Return what a model answers, and what went wrong on the way."""
    events: list[Event] = []
    message = await reply([model], PROMPT, [], Listener("supervisor", events.append, words=wanted))
    return message.text, [*errors(events), *filter(None, [message.response_metadata.get(CUT)])]


async def test_each_role_has_so_many_tokens() -> None:
    """A speaker has a sane number, an observer fewer, who wants a word a few; what the operator sets goes over it."""
    async with Provider.open(words("stay put")) as server:
        await answer(model_at(server.url))
        await answer(model_at(server.url, "observer"))
        await answer(model_at(server.url, "observer"), "stay", "own")
        await answer(model_at(server.url, max_tokens=77))
        await answer(model_at(server.url, max_tokens=None))
        limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in server.bodies]
        assert limits == [(1024, None), (256, None), (32, None), (None, 77), (None, None)]


async def test_who_thinks_first_gets_room() -> None:
    """A word's tokens are too few for thoughts: the model is asked once more, and from then on with room for them."""
    thoughts = [delta(reasoning_content="Well, "), end("length")]
    async with Provider.open(thoughts, words("stay")) as server:
        model = model_at(server.url, "observer")
        assert await answer(model, "stay") == ("stay", ["model_retry"])
        assert await answer(model, "stay") == ("stay", [])
        assert [body["max_tokens"] for body in server.bodies] == [32, 16384, 16384]


@pytest.mark.parametrize("opening", ["<context>\n", "<tool_response>\n"])
async def test_who_only_writes_a_prompt_is_asked_once_more(opening: str) -> None:
    """What only a prompt has is not waited for, and is no thinking that needs more room."""
    flood: list[Chunk] = [delta(content=opening), *[delta(content=f"line {number} ") for number in range(5000)]]
    async with Provider.open(flood, words(TEXT), flood, flood) as server:
        model = model_at(server.url)
        assert await answer(model) == (TEXT, ["model_retry"])
        assert server.sent < 500
        with pytest.raises(ModelUnavailable, match="garbled"):
            await answer(model)
        assert [body["max_tokens"] for body in server.bodies] == [1024] * 4


async def test_who_never_comes_to_an_end_gets_less_room() -> None:
    """From the third such reply on half the tokens, then a quarter; an answer that ends by itself brings all back."""
    endless = [delta(content="And then, "), end("length")]
    async with Provider.open(*[endless] * 4, words(TEXT)) as server:
        model = model_at(server.url)
        for _ in range(6):
            await answer(model)
        assert [body["max_tokens"] for body in server.bodies] == [1024, 1024, 512, 256, 256, 1024]


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "This model's maximum context length is 4096 tokens and your request has 3000 input tokens.",
        "maximum context length is 4096 tokens; you requested 4200 tokens (3176 in the messages, 1024 in it)",
    ],
)
async def test_a_server_that_takes_no_limit_is_given_none(message: str) -> None:
    """Where a limit is refused, or does not fit beside the prompt, the model is asked without it."""
    async with Provider.open(refuse(400, {"message": message}), words(TEXT)) as server:
        model = model_at(server.url)
        assert await answer(model) == (TEXT, ["model_retry"])
        assert await answer(model) == (TEXT, [])
        assert ["max_tokens" in body for body in server.bodies] == [True, False, False]


PARAGRAPH = "\n".join(f"{number}: a line that says the same again, with many words in it." for number in range(4))
CIRCLES = ["I am sorry. ", "ha", "\n", PARAGRAPH]


@pytest.mark.parametrize("unit", CIRCLES, ids=["sentence", "syllable", "line", "paragraph"])
async def test_a_circle_is_left(unit: str) -> None:
    """A reply that only repeats itself is ended, and what it repeats is kept once."""
    flood = [delta(content="Let me see: "), *[delta(content=unit)] * 40_000]
    async with Provider.open(flood) as server:
        text, codes = await answer(model_at(server.url))
        assert (text, codes) == (f"Let me see: {unit if unit.strip() else ''}".rstrip(), ["cut_loop"])
        assert server.sent < 40_000


async def test_blank_lines_make_no_circle_new() -> None:
    """The same line, with a blank one behind it now and then, is a circle."""
    pick = random.Random(1)
    flood = [delta(content=f"We can go to the blue house.{pick.choice(['', chr(10)])}\n") for _ in range(2000)]
    async with Provider.open(flood) as server:
        _, codes = await answer(model_at(server.url))
        assert codes == ["cut_loop"]
        assert server.sent < 200


def test_a_circle_of_other_letters_is_seen_sooner() -> None:
    """Two hundred and forty Russian letters take as long to write as 480 English ones."""
    assert repeated("# Блок " + "наблока " * 31)
    assert not repeated("# Block " + "a block " * 31)
    assert repeated("# Block " + "a block " * 61)


async def test_what_is_alike_is_no_circle() -> None:
    """Lists, tables, code and rulers may be much alike."""
    pick = random.Random(1)
    rows = "\n".join(f"| {hour}:00 | {pick.choice(['free', 'busy'])} | - |" for hour in range(60))
    count = "\n".join(str(number) for number in range(400))
    for text in (rows, count, "-" * 200, "═" * 400, "| --- " * 40, "нет, нет! " * 20):
        assert not any(repeated(text[:size]) for size in range(len(text) + 1))


async def test_the_first_word_counts() -> None:
    """What comes behind the first line of a reply that is to be a word is not waited for."""
    endless: list[Chunk] = [delta(content="stay\n"), *[delta(content=f"since {number} ") for number in range(5000)]]
    async with Provider.open(endless, pace=0.001) as server:
        text, _ = await answer(model_at(server.url, "observer"), "stay", "own")
        assert text.split()[0] == "stay"
        assert server.sent < 100


@pytest.mark.parametrize(
    ("choice", "field"),
    [("grammar", 'root ::= "stay" | "planner" | "own"'), ("guided_choice", ["stay", "planner", "own"]), (None, None)],
)
async def test_a_server_may_be_told_the_words(choice: Choice | None, field: object) -> None:
    """Where the operator says that a server can be bound to words, it is; other replies are free."""
    async with Provider.open(words("stay")) as server:
        model = model_at(server.url, "observer", choice=choice)
        await answer(model, "stay", "planner", "own")
        await answer(replace(model, habits={"unlimited": True}), "stay", "planner", "own")
        await answer(model)
        assert [body.get(choice or "grammar") for body in server.bodies] == [field, field, None]
