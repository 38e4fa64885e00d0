"""Slash commands in Telegram: their menu, their buttons, and /stop, which overtakes."""

from agents.models.script import Script
from tests.support.scripted_assistant import ROLES
from tests.support.telegram_people import ANN, Echo, Holding, Open
from tests.support.telegram_server import BotApi


async def test_stop_ends_the_answer_and_nothing_else(door: Open, world: BotApi, script: Script) -> None:
    """/stop overtakes what waits, shows how far the answer came, and the next message is answered."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three", "Fine."])
    async with door() as one:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        world.says(ANN, "and now?")
        world.says(ANN, "/stop")
        texts = await world.until_sent(ANN, 2)
        assert texts == ["One two", "⏹ stopped"]
        gate.set()
        assert (await world.until_sent(ANN, 3))[2] == "Fine."
        await world.until(lambda: not one.chats.is_busy(ANN))
        world.says(ANN, "/stop")
        assert "Nothing is being answered" in (await world.until_sent(ANN, 4))[3]


async def test_forgetting_is_confirmed_by_a_button(door: Open, world: BotApi) -> None:
    """/forget asks; "no" keeps everything, "yes" leaves nothing, and the buttons go."""
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "remember me")
        await world.until_sent(ANN, 1)
        world.says(ANN, "/forget")
        await world.until_sent(ANN, 2)
        world.taps(world.sent[-1], "No")
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        assert await one.assistant.history(f"telegram-{ANN}")
        world.taps(world.sent[-1], "Yes, do it")
        assert (await world.until_sent(ANN, 3))[2].startswith(
            "This conversation and all that was kept about you is deleted."
        )
        assert await one.assistant.history(f"telegram-{ANN}") == []
        assert await one.assistant.state(f"telegram-{ANN}") is None
    assert world.methods().count("answerCallbackQuery") == 2


async def test_commands_have_a_menu_in_every_language(door: Open, world: BotApi) -> None:
    """The menu holds what the registry offers here, and no more than that can be run."""
    async with door():
        world.says(ANN, "/help@SUE_bot")
        world.says(ANN, "/threads")
        texts = await world.until_sent(ANN, 2)
    menus = [call for method, call in world.calls if method == "setMyCommands"]
    assert [menu.get("language_code") for menu in menus] == [None, "en", "ru"]
    offered = {command["command"] for command in menus[0]["commands"]}
    assert {"start", "help", "stop", "forget"} <= offered
    assert not offered & {"threads", "quit", "trace", "new"}
    assert all(f"/{name}" in texts[0] for name in offered)
    assert "There is no /threads" in texts[1]
