"""Three people in one group, at the same time: each is answered, asked, shown and obeyed as themselves."""

import re
from typing import Any

import pytest

from agents.models import Model, Models
from app.plugins.telegram.door import TelegramDoor
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import todos
from tests.support.shop_tools import BEGIN
from tests.support.telegram_server import BotApi

pytestmark = pytest.mark.needs("planner")

CAROL = 33
PEOPLE = {ANN: "Ann", BOB: "Bob", CAROL: "Carol"}


def say(world: BotApi, user: int, text: str, **more: Any) -> dict[str, Any]:
    """Let one of the three write in the group."""
    return world.says(GROUP, text, user=user, writer={"first_name": PEOPLE[user]}, **more)


def toasts(world: BotApi) -> list[str]:
    """Return the texts that answered taps."""
    return [call["text"] for method, call in world.calls if method == "answerCallbackQuery" and "text" in call]


async def over(world: BotApi, door: TelegramDoor, number: int) -> list[str]:
    """Wait until the group has so many messages and nothing is being done; return them."""
    texts = await world.until_sent(GROUP, number)
    await world.until(lambda: not door.chats.busy)
    return texts


@pytest.fixture
def rules() -> Models:
    """Return the model that needs no key."""
    return Models(default=Model("local:rules", RulesModel()))


async def test_each_has_a_question_of_their_own(shop: Open, world: BotApi, script: Script) -> None:
    """Two are asked at the same time: each answers theirs, in any order, and nobody answers another's."""
    script.add(supervisor=[*BEGIN, *BEGIN], planner=[Call("choose_order"), Call("choose_order"), "Bobs.", "Anns."])
    async with shop() as telegram:
        for number, user in enumerate((ANN, BOB), 1):
            say(world, user, "@sue_bot I want to return something")
            await over(world, telegram, number)
        first, second = world.sent
        for message, user in ((first, BOB), (first, CAROL), (second, ANN), (second, CAROL)):
            world.taps(message, "2. Red hat", user=user)
        await world.until(lambda: len(toasts(world)) == 4)
        assert {*toasts(world)} == {"This question was put to somebody else."}
        world.taps(second, "3. Green coat", user=BOB)
        await over(world, telegram, 3)
        say(world, ANN, "@sue_bot 1")
        assert (await over(world, telegram, 4))[2:] == ["Bobs.", "Anns."]
        chosen = {
            user: (await telegram.assistant.history(f"telegram-{GROUP}", f"telegram-{user}"))[-2] for user in (ANN, BOB)
        }
    assert [chosen[user].text for user in (ANN, BOB)] == ["1", "Green coat"]


async def test_each_has_lists_of_their_own(door: Open, world: BotApi, rules: Models) -> None:
    """A to-do asks first after others have spoken; its owner alone sees it, and alone takes it back."""
    async with door(rules) as telegram:
        say(world, ANN, "@sue_bot add anchovies to my list")
        await over(world, telegram, 1)
        for number, (user, other, thing) in enumerate(((BOB, CAROL, "bananas"), (CAROL, ANN, "cherries"))):
            say(world, user, f"@sue_bot add {thing} to my list")
            await over(world, telegram, 2 + 2 * number)
            world.taps(world.sent[-1], "Yes", user=other)
            world.taps(world.sent[-1], "Yes", user=user)
            await over(world, telegram, 3 + 2 * number)
        for number in (6, 7):
            say(world, BOB, "/undo@sue_bot")
            await over(world, telegram, number)
        lists = {user: await todos(telegram.assistant, f"telegram-{user}") for user in PEOPLE}
        assert lists == {ANN: ["anchovies"], BOB: [], CAROL: ["cherries"]}
        for number, user in enumerate(PEOPLE, 8):
            say(world, user, "@sue_bot show my list")
            await over(world, telegram, number)
        say(world, CAROL, "/history@sue_bot")
        shown = (await over(world, telegram, 11))[-1]
    private = ["\n".join(world.texts(user)) for user in PEOPLE]
    assert [re.findall(r"anchovies|bananas|cherries", text) for text in private] == [["anchovies"], [], ["cherries"]]
    assert "add cherries" in shown
    assert not re.search("anchovies|bananas", shown)
