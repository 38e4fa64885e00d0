"""A conversation in Telegram: it begins, changes hands, and keeps its order."""

import pytest

from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, BOB, MEET, Open
from tests.support.scripted_assistant import PLAN, ROLES, Echo, Gate
from tests.support.telegram_http import Upload
from tests.support.telegram_server import BotApi

pytestmark = pytest.mark.needs("profile")


async def test_first_contact_greets(door: Open, world: BotApi, script: Script) -> None:
    """/start in a new chat lets the assistant speak first, in a known one it tells how things are."""
    script.add(supervisor=["Welcome!"])
    async with door():
        assert await world.asks(ANN, "/start", sent=1) == ["Welcome!"]
        assert "already talking" in (await world.asks(ANN, "/start", sent=2))[1]
    assert "sendMessageDraft" in world.methods()


async def test_a_first_contact_in_the_language_of_the_users_telegram(door: Open, world: BotApi) -> None:
    """The greeting and the door's own sentences follow the user's Telegram until the user writes."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "/start", writer={"language_code": "ru-RU"}, sent=1)
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["lang"] == "ru"
        assert "Мы уже беседуем" in (await world.asks(ANN, "/start", sent=2))[1]


@pytest.mark.needs("planner")
async def test_two_chats_do_not_wait_for_each_other(door: Open, world: BotApi, script: Script) -> None:
    """While one chat's answer is made, another chat is answered."""
    script.gates["planner"] = gate = Gate(0)
    script.add(supervisor=[PLAN, "At once."], planner=["At last."])
    async with door():
        world.says(ANN, "something for the week")
        await world.until(lambda: len(script.asked) == 2)
        assert await world.asks(BOB, "hello", sent=1) == ["At once."]
        assert world.texts(ANN) == []
        gate.set()
        assert await world.until_sent(ANN, 1) == ["At last."]


async def test_a_document_is_sent_as_one(door: Open, world: BotApi, script: Script) -> None:
    """A tool's document arrives as a file, and stands for the answer."""
    script.add(
        supervisor=[MEET],
        profile=[
            Call("fill_form", {"experience": "медсестра"}),
            Call("export_profile", {"format": "markdown"}),
            "Here it is.",
        ],
    )
    async with door():
        [name] = await world.asks(ANN, "I am a nurse, export that", sent=1)
    assert name.endswith(".md")
    document = next(call["document"] for method, call in world.calls if method == "sendDocument")
    assert isinstance(document, Upload)
    assert "медсестра" in document.decode()
