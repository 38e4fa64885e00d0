"""The daily limits of models: the user reads when it goes on, and all without a model works as before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage

from agents.events import Error, ModelStart
from agents.models import Models
from app.plugins.usage.counts import Usage, UsageSettings
from app.prices import Price
from app.testing import Chat
from app.testing.script import Call, Line, ScriptModel
from prompts import phrase

pytestmark = pytest.mark.needs("planner")

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
ADD: list[Line] = [Call("plan_things", {"brief": "-"})]
MILK: list[Line] = [Call("add_todos", {"items": ["milk"]}), "Milk is on the list."]


class Clock:
    """The present time, as a test sets it."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> float:
        """Return the Unix time in seconds."""
        return self.at.timestamp()


@pytest.fixture
def clock(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let each call of a model take 100 tokens, 10 of them written, in a conversation at noon."""

    def message(model: ScriptModel, parts: Sequence[str | Call]) -> AIMessage:
        usage = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
        return worded(model, parts).model_copy(update={"usage_metadata": usage})

    worded = ScriptModel.message
    monkeypatch.setattr(ScriptModel, "message", message)
    monkeypatch.setenv("TZ", "UTC")
    chat.now = clock = Clock()
    return clock


def sorry(lang: str = "en") -> str:
    """Return the refusal for a user at the daily limit."""
    return phrase("sorry_spent", lang, time="00:00 (UTC)")


def told(chat: Chat) -> list[str]:
    """Return the errors that the last turn has shown."""
    return [event.text for event in chat.events if isinstance(event, Error)]


async def used(chat: Chat) -> list[tuple[str, int, float]]:
    """Return today's usage: model, tokens, money."""
    async with chat.assistant() as assistant:
        days = await assistant.services.get(Usage).by_day()
    return [(day.model, day.input_tokens + day.output_tokens, day.money) for day in days]


@pytest.mark.parametrize("lang", ["en", "ru", "zh"])
async def test_a_user_who_has_used_up_the_day_is_told_when_it_goes_on(chat: Chat, clock: Clock, lang: str) -> None:
    """No model is asked, in any process, until the next day begins; the message is kept, and answered again then."""
    chat.services = [UsageSettings(user_tokens_per_day=200)]
    chat.expects(supervisor=["Hello.", "Fine."])
    await chat.says("hello", "how are you?")

    await chat.says("and now?", id="m3", lang=lang)
    assert told(chat) == [sorry(lang)]
    assert not [event for event in chat.events if isinstance(event, ModelStart)]

    clock.at += timedelta(hours=12)
    chat.expects(supervisor=["A new day."])
    assert (await chat.says("and now?", id="m3", lang=lang)).endswith("supervisor: A new day.")


async def test_a_turn_stops_at_the_limit_and_the_dialog_stays(chat: Chat, clock: Clock) -> None:
    """A turn is not asked to go on beyond the limit, and however often it is tried, no dialog loses its place."""
    chat.services = [UsageSettings(user_tokens_per_day=200)]
    chat.expects(supervisor=ADD, planner=MILK[:1])

    await chat.says("put milk on my list")
    assert told(chat) == [sorry()]
    await chat.says("and bread")
    await chat.says("and bread")

    assert told(chat) == [sorry()]
    assert (await chat.state())["dialog"] == "planner"


async def test_what_needs_no_model_goes_on(chat: Chat, clock: Clock) -> None:
    """A write is taken back, and a dialog is left, by the user's words alone."""
    chat.services = [UsageSettings(user_tokens_per_day=300)]
    chat.expects(supervisor=ADD, planner=MILK)
    await chat.says("put milk on my list")

    await chat.says("undo that")
    assert not told(chat)
    await chat.says("that's enough")
    assert not told(chat)
    assert (await chat.state())["is_active"]


async def test_each_user_has_a_day_of_their_own_and_all_have_one(chat: Chat, clock: Clock) -> None:
    """One user's limit concerns nobody else; the installation's concerns everybody."""
    chat.services = [UsageSettings(user_tokens_per_day=100, tokens_per_day=200)]
    chat.expects(supervisor=["Hello Ann.", "Hello Bob."])
    await chat.says("hello", thread="ann")
    await chat.says("hello again", thread="ann")
    assert told(chat) == [sorry()]

    await chat.says("hello", thread="bob")
    assert not told(chat)
    await chat.says("hello", thread="carl")
    assert told(chat) == [sorry()]


async def test_money_is_counted_by_the_prices(chat: Chat, clock: Clock) -> None:
    """90 tokens at 10 and 10 at 110 for a million are 0.002; a limit of money holds as one of tokens does."""
    chat.settings = chat.settings.model_copy(update={"llm_prices": {"script:supervisor": Price(10, 1, 110)}})
    chat.services = [UsageSettings(user_money_per_day=0.002)]
    chat.expects(supervisor=["Hello."])
    await chat.says("hello", "and now?")

    assert told(chat) == [sorry()]
    assert await used(chat) == [("script:supervisor", 100, 0.002)]


async def test_nobody_forgets_away_a_limit(chat: Chat, clock: Clock) -> None:
    """A user's usage stays counted after the thread's deletion, under a hash that is gone two days later."""
    chat.services = [UsageSettings(user_tokens_per_day=100)]
    chat.expects(supervisor=["Hello.", "Hello anew."])
    await chat.says("hello", thread="annabel")
    async with chat.assistant() as assistant:
        assert await assistant.forgetting.thread("annabel")
    assert b"annabel" not in chat.path.read_bytes()
    await chat.says("hello", thread="annabel")
    assert told(chat) == [sorry()]

    clock.at += timedelta(days=2)
    await chat.says("hello", thread="bob")
    async with chat.assistant() as assistant:
        [(hashes,)] = await assistant.memory.database.execute("SELECT count(*) FROM usage WHERE who <> ''")
    assert (hashes, len(await used(chat))) == (1, 1)


async def test_a_model_of_our_own_costs_nothing(chat: Chat, clock: Clock) -> None:
    """The rules answer whatever was used up, and are not counted."""
    chat.services = [UsageSettings(tokens_per_day=1, user_tokens_per_day=1)]
    chat.expects(supervisor=["Hello.", "Still here."])
    [scripted] = chat.script.models(["supervisor"]).roles.values()
    chat.models = Models(replace(scripted, name="local:script"))

    await chat.says("hello", "and now?")
    assert not told(chat)
    assert await used(chat) == []
