"""Pages that hand a value back to the bot: a web app, a link that leads back to the chat, a pasted address."""

from functools import partial

import pytest

from agents.events import Interrupt
from app.plugins.telegram.delivery.buttons import Tap, keyboard
from app.testing.script import Call, Script
from prompts import phrase, sentence
from tests.plugins.telegram.people import ANN, GROUP, Open
from tests.support.page_tools import BEGIN, PAGE, with_pages
from tests.support.scripted_assistant import script_lines
from tests.support.telegram_server import BotApi, refusal

pytestmark = pytest.mark.needs("planner")

OPEN = "Open: shop.example"


@pytest.fixture
def pages(door: Open) -> Open:
    """Open the door of an assistant whose planner opens pages."""
    return partial(door, change=with_pages)


def sends(world: BotApi, data: str) -> None:
    """Let a web app send its data for Ann."""
    world.says(ANN, web_app_data={"data": data, "button_text": OPEN})


def tool_results(script: Script) -> list[str]:
    """Return the results of the planner's tools, without the notes on each."""
    return [message.text.partition("\n")[0] for message in script.asked[-1].messages if message.type == "tool"]


async def test_a_web_app_hands_its_data_back(pages: Open, world: BotApi, script: Script) -> None:
    """Its button stands below the chat; data that the form refuses are asked for again, others are the answer."""
    script.add(supervisor=BEGIN, planner=[Call("pick_slot"), "Noted."])
    async with pages() as telegram:
        await world.asks(ANN, "Deliver it", sent=1)
        [asked] = [sent for method, sent in world.calls if method == "sendMessage"]
        assert asked["reply_markup"]["keyboard"] == [[{"text": OPEN, "web_app": {"url": PAGE}}]]
        sends(world, '{"day": "Monday", "hour": "late"}')
        assert "That does not fit (hour: " in (await world.until_sent(ANN, 2))[1]
        sends(world, '{"day": "Monday", "hour": 9}')
        assert (await world.until_sent(ANN, 3, door=telegram))[2] == "Noted."
        assert 'user: {"day": "Monday", "hour": 9}' in await script_lines(telegram.assistant, f"telegram-{ANN}")
    assert '{"day":"Monday","hour":9}' in tool_results(script)


async def test_data_that_nothing_asks_for_get_a_word(pages: Open, world: BotApi, script: Script) -> None:
    """A button below the chat may outlive its question; its data then reaches no model."""
    script.add(supervisor=[*BEGIN, "Never asked."], planner=[Call("pay"), "Paid."])
    async with pages():
        await world.asks(ANN, "I want to pay", sent=1)
        sends(world, "receipt 5")
        assert (await world.until_sent(ANN, 2))[1] == "Paid."
        sends(world, "yes")
        assert (await world.until_sent(ANN, 3))[2] == phrase("choice_gone", "en")
    assert tool_results(script)[-1] == '{"done":true,"answer":"receipt 5"}'
    assert len(script.asked) == 3


async def test_in_a_group_a_web_app_is_a_link(pages: Open, world: BotApi, script: Script) -> None:
    """Telegram lets a web app send data to private chats alone."""
    script.add(supervisor=BEGIN, planner=[Call("pay"), "Paid."])
    async with pages():
        world.says(GROUP, "@sue_bot I want to pay", user=ANN)
        # A slow machine shows a placeholder with another button first.
        await world.until(lambda: any(PAGE in str(call.get("reply_markup")) for _, call in world.calls))
        link, done = (row[0] for row in world.calls[-1][1]["reply_markup"]["inline_keyboard"])
        assert (link["url"], done["text"]) == (PAGE, "Done")


async def test_a_web_app_that_telegram_refuses_is_an_address(pages: Open, world: BotApi, script: Script) -> None:
    """The question arrives without its button; the text has the address."""
    script.add(supervisor=BEGIN, planner=[Call("pay"), "Paid."])
    async with pages():
        world.fail("sendMessage", refusal(400, "Bad Request: BUTTON_TYPE_INVALID"))
        assert PAGE in (await world.asks(ANN, "I want to pay", sent=1))[0]
        asked = [sent for method, sent in world.calls if method == "sendMessage"]
        assert ["reply_markup" in sent for sent in asked] == [True, False]


async def test_a_link_back_to_the_chat_is_an_answer(pages: Open, world: BotApi, script: Script) -> None:
    """`/start` with a payload is one while a page may lead back so, also after a restart; its form checks it."""
    script.add(supervisor=BEGIN, planner=[Call("link_account"), "Linked."])
    async with pages():
        await world.asks(ANN, "Link my account", sent=1)
        assert [row[0]["text"] for row in world.sent[0]["reply_markup"]["inline_keyboard"]] == [OPEN, "✖ Cancel"]
        assert "That does not fit (code: " in (await world.asks(ANN, "/start abc", sent=2))[1]
    async with pages():
        assert (await world.asks(ANN, "/start 0042", sent=3))[2] == "Linked."
        assert (await world.asks(ANN, "/start 0042", sent=4))[3] == sentence("cli", "reply.started_before", "en")
    assert '{"code":"0042"}' in tool_results(script)


async def test_a_link_that_no_page_declared_only_starts(pages: Open, world: BotApi, script: Script) -> None:
    """Anybody can make a link to the bot: it answers no question that is not to be answered so."""
    script.add(supervisor=BEGIN, planner=[Call("sign_in"), "Welcome."])
    async with pages() as telegram:
        await world.asks(ANN, "Sign me in", sent=1)
        assert (await world.asks(ANN, "/start 0042", sent=2))[1] == sentence("cli", "reply.started_before", "en")
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["pending"]
        assert (await world.asks(ANN, "https://shop.example/end?code=x1&state=7", sent=3))[2] == "Welcome."
    assert '{"done":true,"answer":"x1"}' in tool_results(script)


def test_a_page_with_a_form_has_no_button_for_done() -> None:
    """The word would fill in the form; an older message's button is too late."""
    question = Interrupt(id="1", kind="breaker", prompt="?", url=PAGE, fields=[{"name": "code", "label": "Code"}])
    buttons = keyboard(question, f"telegram-{ANN}", "en")

    assert buttons is not None
    assert [[button.text for button in row] for row in buttons.inline_keyboard] == [[OPEN], ["✖ Cancel"]]
    assert Tap("", "0", "").says(question, "en") is None
