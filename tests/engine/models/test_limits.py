"""Limits of a model's reply: tokens by role, no circles, one word for a verdict."""

import random
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.conversation.context_window import surplus
from agents.errors import ModelUnavailable
from agents.events import Event
from agents.language.text.repetition import Repetition
from agents.models import Choice, Model
from agents.models.factory import Endpoint, Parameters, make_models
from agents.models.reply import Listener, reply
from agents.models.streamed_reply import CUT
from tests.support.endpoint_talk import TEXT, errors
from tests.support.odd_provider import Chunk, Provider, delta, end, refuse, words

PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]


def model_at(url: str, role: str = "supervisor", **parameters: Any) -> Model:
    """Return the model of a role at an address."""
    made = make_models("openai:m", {}, None, Endpoint(base_url=url), {"default": Parameters(**parameters)})
    return made.chain(role)[0]


async def answer(model: Model, *wanted: str) -> tuple[str, list[str]]:
    """Return a model's answer, and the faults on the way."""
    events: list[Event] = []
    message = await reply([model], PROMPT, [], Listener("supervisor", events.append, words=wanted))
    return message.text, [*errors(events), *filter(None, [message.response_metadata.get(CUT)])]


async def test_each_role_has_so_many_tokens() -> None:
    """A speaker has a sane number, an observer fewer, a verdict a few; the operator's setting overrides it."""
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
    """A reply that begins like a prompt is ended early, and does not count as thinking that needs more room."""
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
    """After a refused limit, or one that does not fit beside the prompt, the request has none."""
    async with Provider.open(refuse(400, {"message": message}), words(TEXT)) as server:
        model = model_at(server.url)
        assert await answer(model) == (TEXT, ["model_retry"])
        assert await answer(model) == (TEXT, [])
        assert ["max_tokens" in body for body in server.bodies] == [True, False, False]


PARAGRAPH = "\n".join(f"{number}: a line that says the same again, with many words in it." for number in range(4))
CIRCLES = ["I am sorry. ", "ha", "\n", PARAGRAPH]


@pytest.mark.parametrize("unit", CIRCLES, ids=["sentence", "syllable", "line", "paragraph"])
async def test_a_circle_is_left(unit: str) -> None:
    """A reply that only repeats itself is ended; its shown part stays."""
    flood = [delta(content="Let me see: "), *[delta(content=unit)] * 40_000]
    async with Provider.open(flood) as server:
        text, codes = await answer(model_at(server.url))
        assert text.startswith("Let me see:")
        assert text == f"Let me see: {unit * ((len(text) - 12) // len(unit) + 1)}"[: len(text)]
        assert codes == ["cut_loop"]
        assert len(text) < 10_000


async def test_how_often_is_a_setting() -> None:
    """The operator says how many times in a row the same may come; with 0 a reply is never cut for it."""
    flood = [*[delta(content="We can go to the blue house.\n")] * 300, end("stop")]
    async with Provider.open(flood) as server:
        for most, seen in ((20, 20), (200, 200), (0, 300)):
            model = replace(model_at(server.url), reply_repeats=most)
            text, codes = await answer(model)
            assert abs(len(text.splitlines()) - seen) <= 6
            assert codes == (["cut_loop"] if most else [])


def is_cut(text: str, most: int = 100) -> bool:
    """Tell whether a text that comes in small pieces is cut."""
    pick, repetition, place = random.Random(1), Repetition(most), 0
    while place < len(text):
        size = pick.randint(1, 9)
        if repetition.feed(text[place : place + size]):
            return True
        place += size
    return repetition.feed("\n")


ROW = "    { 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00 },\n"
LINE = "I must not talk in class.\n"
MEANT = {
    "lines that were asked for": LINE * 60,
    "words that were asked for": "I am sorry. " * 60,
    "a fenced block": f"Here it is:\n```c\n{ROW * 400}```\nThat is all.\n",
    "a fence of waves": f"~~~\n{LINE * 400}~~~\n",
    "a fence within a fence": f"````\n```\n{LINE * 400}```\n{LINE * 400}````\n",
    "a fence in a list": f"- so:\n  ```\n{LINE * 400}  ```\n",
    "an indented block": f"So:\n\n{ROW * 400}",
    "inline code": f"The key is `{'A' * 5000}`, and that is all.\n",
    "a table": "| a | b |\n| - | - |\n" + "| . | . |\n" * 400,
    "a table without edges": "a | b\n- | -\n" + ". | .\n" * 400,
    "values with commas": "0,0,1,none\n" * 400,
    "values with tabs": "zero\t0\tnone\n" * 400,
    "a poem": "".join(f"Verse {verse}, line one\nand line two\nSing it again, my friend\n\n" for verse in range(200)),
    "a log": "".join(f"12:00:{second:02} GET /health 200\n" for second in range(400)),
    "a count": "\n".join(map(str, range(2000))),
    "files": "".join(f"- `part_{number}.py`: unchanged\n" for number in range(400)),
    "rulers": f"{'-' * 300}\n{'═' * 400}\n",
    "laughter": "ha" * 200,
}


@pytest.mark.parametrize("text", MEANT.values(), ids=MEANT)
def test_what_is_meant_is_no_circle(text: str) -> None:
    """Code and tables may say the same as often as they like, and lists, poems and logs are not the same."""
    assert not is_cut(text)


GARBAGE = {
    "lines": LINE * 120,
    "lines behind code": f"```\n{LINE * 5}```\n{LINE * 120}",
    "a verse": "We go on.\nAnd we go on again, as ever.\n\n" * 150,
    "other letters": "наблока " * 150,
    "lines with code": "Use `go_on` for this.\n" * 120,
    "no spaces": "对不起" * 400,
    "a paragraph": ("There is nothing else that I could tell you about it, so I say it again. " * 4 + "\n") * 40,
    "blank lines": "\n" * 2000,
    "lines, and now and then a blank one": "".join(LINE + "\n" * (number % 3 == 0) for number in range(120)),
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE)
def test_what_goes_round_is_cut(text: str) -> None:
    """Equal lines, verses of several lines, words in a line and blank lines have one bound."""
    assert is_cut(text)
    assert not is_cut(text, 0)
    assert not is_cut(text[: len(text) // 4])


async def test_the_first_word_counts() -> None:
    """A verdict ends with the first line of the reply."""
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
    """With the operator's setting a server is bound to the verdicts; other replies are free."""
    async with Provider.open(words("stay")) as server:
        model = model_at(server.url, "observer", choice=choice)
        await answer(model, "stay", "planner", "own")
        await answer(replace(model, habits={"unlimited": True}), "stay", "planner", "own")
        await answer(model)
        assert [body.get(choice or "grammar") for body in server.bodies] == [field, field, None]


def test_patience_and_histories_are_parameters() -> None:
    """Of each role's model; left out, a history has half of the window, and 16,000 tokens at most."""
    history: list[AnyMessage] = [HumanMessage("word " * 600) for _ in range(100)]
    sets: list[dict[str, Any]] = [{}, {"window": 8_192}, {"window": 131_072}, {"history": 50_000}, {"history": 200_000}]
    windows = [model_at("http://127.0.0.1:1", **parameters).window for parameters in sets]
    kept = [len(history) - surplus(history, window) for window in windows]
    # Each message is estimated at 998 tokens.
    assert kept == [8, 2, 8, 25, 100]
    assert model_at("http://127.0.0.1:1").aside_seconds == 10
    assert model_at("http://127.0.0.1:1", "observer", patience=900).aside_seconds == 900
