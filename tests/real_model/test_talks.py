"""A talk with a tiny real model: what it says is mostly nonsense, so only what no model may decide is asserted."""

import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.events import Event, Message, ModelEnd, ModelStart, Token, ToolEnd, TurnEnd
from agents.events.views import View
from agents.toolkit.traits import traits_of
from app.assistant import Assistant, Turn
from app.settings import Settings
from tests.real_model.local_server import missing, serving
from tests.support.scripted_assistant import stage

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

# Two cores read a cold prompt of 2,000 tokens in twenty seconds: twenty turns in each language take three minutes.
TALKS = {
    "en": [
        "hello, what can you do for me",
        "put milk and bread on my list please",
        "what is on my list",
        "remind me to water the plants tomorrow at nine",
        "no, I meant at ten",
        "and what else is there tomorrow",
        "I would like to watch something funny tonight",
        "what about a cartoon from the eighties",
        "stop",
        "I want to send back the boots that I ordered",
        "they are too small, that is all",
        "where is my other order",
        "thanks, that's all",
        "let us talk about my work",
        "I am a nurse and have been one for nine years",
        "nights are too much for me now",
        "stop",
        "what day is it today",
        "how far is the moon",
        "stop",
    ],
    "ru": [
        "привет, что ты умеешь",
        "запиши в список молоко и хлеб",
        "что в моём списке",
        "напомни завтра в девять полить цветы",
        "нет, в десять",
        "а что ещё у меня завтра",
        "хочу посмотреть что-нибудь смешное",
        "а мультфильм восьмидесятых",
        "стоп",
        "хочу вернуть ботинки, которые заказал",
        "они малы, вот и всё",
        "где другой мой заказ",
        "спасибо, это всё",
        "поговорим о моей работе",
        "я медсестра, работаю девять лет",
        "ночные смены мне тяжелы",
        "стоп",
        "какой сегодня день",
        "далеко ли до луны",
        "стоп",
    ],
}
LOG = logging.getLogger(__name__)
STOPS = ("stop", "стоп")
MACHINERY = re.compile(
    r"</?\s*(context|tool_call|tool_response|tools|think)\b|<\|\w+\|>|<(start|end)_of_turn>|\[/?(TOOL_CALLS|INST)\]"
    r"|\{\s*\"(arguments|function)\"\s*:|\{\s*\"name\"\s*:[^{}]*\"(arguments|parameters)\"\s*:",
    re.IGNORECASE,
)
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
"""In code, marks are text (docs/models.md)."""
MOST_CALLS = 18
MOST_TOKENS = 60_000
WORD = re.compile(r"\w{3,}")


@asynccontextmanager
async def talking(folder: Path) -> AsyncIterator[Assistant]:
    """Put the application as it is shipped before the model."""
    async with serving(folder / "server.log") as url:
        settings = Settings(_env_file=None, llm_model="openai:smollm2", openai_base_url=url)
        async with stage(folder / "talk.db", settings.models(), settings) as assistant:
            yield assistant


def shown(events: Sequence[Event]) -> Iterator[str]:
    """Yield the user's screen: each whole message, and each stretch of streamed pieces."""
    pieces = ""
    for event in events:
        if isinstance(event, Token):
            pieces += event.text
            continue
        if pieces:
            yield pieces
            pieces = ""
        if isinstance(event, Message):
            yield event.text
        if isinstance(event, View):
            yield event.text()
    yield pieces


def foreign_words(end: ToolEnd, said: str) -> set[str]:
    """Return the words that a write was given and that the user never said."""

    def words(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield from WORD.findall(value.casefold())
        elif isinstance(value, dict):
            for inner in value.values():
                yield from words(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from words(inner)

    return {word for word in words(dict(end.args)) if word not in said}


@pytest.mark.parametrize("lang", TALKS)
async def test_a_talk_with_a_tiny_model(lang: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No error, nothing of the machinery shown, bounded turns, a way out, and no write but in the user's words."""
    async with talking(tmp_path) as assistant:
        writes = {
            tool.name for speaker in assistant.speakers for tool in speaker.tools if traits_of(tool).effect == "write"
        }
        names = {tool.name for speaker in assistant.speakers for tool in speaker.tools if "_" in tool.name}
        heard = ""
        for text in TALKS[lang]:
            heard += f" {text.casefold()}"
            events = [event async for event in assistant.play(Turn(thread="t", text=text, lang=lang))]
            *_, end = (event for event in events if isinstance(event, TurnEnd))
            LOG.info("%s (%s): %s", text, end.dialog, " / ".join(shown(events)))
            for text_shown in shown(events):
                assert not MACHINERY.search(CODE.sub(" ", text_shown)), (text, text_shown)
                assert not {name for name in names if name in text_shown}, (text, text_shown)
            ends = [event for event in events if isinstance(event, ModelEnd)]
            assert sum(isinstance(event, ModelStart) for event in events) <= MOST_CALLS, text
            assert sum(event.input_tokens + event.output_tokens for event in ends) <= MOST_TOKENS, text
            for done in (event for event in events if isinstance(event, ToolEnd) and event.ok):
                assert done.tool not in writes or not foreign_words(done, heard), (text, done)
            if text in STOPS:
                assert end.is_active, text
    traces = [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    assert not traces, [record.getMessage() for record in traces]
