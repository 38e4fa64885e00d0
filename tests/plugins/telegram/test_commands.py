"""Slash commands in Telegram: their menu, their buttons, and /stop, which overtakes."""

import pytest

from app.plugins.telegram.access import link
from app.testing.script import Line, Script
from prompts import language, languages
from tests.plugins.telegram.people import ANN, Open, labels
from tests.support.scripted_assistant import ROLES, Echo, Holding
from tests.support.telegram_server import TOKEN, BotApi

NAMES = [language(lang).names[0].capitalize() for lang in languages()]
SCOPES = ("all_private_chats", "all_group_chats", "all_chat_administrators", "chat 11")
ASKED = {
    *("start", "help", "new", "stop", "retry", "undo", "history", "threads", "export", "lang", "busy", "privacy"),
    "forget",
}


async def test_stop_ends_the_answer_and_nothing_else(door: Open, world: BotApi, script: Script) -> None:
    """/stop overtakes what waits, shows how far the answer came, and the next message is answered."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three", "Fine."])
    async with door() as telegram:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        world.says(ANN, "and now?")
        texts = await world.asks(ANN, "/stop", sent=2)
        assert texts == ["One two", "⏹ stopped"]
        gate.set()
        assert (await world.until_sent(ANN, 3, door=telegram))[2] == "Fine."
        assert "Nothing is being answered" in (await world.asks(ANN, "/stop", sent=4))[3]


@pytest.mark.parametrize(
    ("command", "heard"), [("/go planner", "planner"), ("/go", None), ("/undo", "undo"), ("/retry", "count")]
)
@pytest.mark.needs("planner")
async def test_a_text_is_answered_behind_the_command_before_it(
    door: Open, world: BotApi, script: Script, command: str, heard: str | None
) -> None:
    """While an answer runs, a command and then a text are done in this order, and each is shown once."""
    script.gates["supervisor"] = gate = Holding(1)
    answers: list[Line] = ["Now then." if command != "/undo" else "Hello.", "Hello."]
    script.add(supervisor=["One two", *answers], planner=answers, observer=["stay"])
    async with door() as telegram:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        world.says(ANN, command)
        last = world.says(ANN, "say hello")
        await world.until(lambda: world.offset > last["message_id"])
        script.gates.clear()
        gate.set()
        texts = await world.until_sent(ANN, 3, door=telegram)
        lines = await telegram.assistant.history(f"telegram-{ANN}")
        assert await telegram.assistant.memory.updates.open(telegram.name) == []
    assert (texts[0], texts[2:]) == ("One two", ["Hello."])
    assert world.texts(ANN) == texts
    user_texts = [line.text for line in lines if line.role == "user"]
    assert user_texts == ["count", *([heard] if heard else []), "say hello"]


async def test_forgetting_is_confirmed_by_a_button(door: Open, world: BotApi) -> None:
    """/forget asks; "no" keeps everything, "yes" leaves nothing, and the buttons go."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "remember me", sent=1)
        await world.asks(ANN, "/forget", sent=2)
        world.taps(world.sent[-1], "No")
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        assert await telegram.assistant.history(f"telegram-{ANN}")
        assert (await world.presses(world.sent[-1], "Yes, do it", sent=3))[2].startswith(
            "This conversation and all that was kept about you is deleted."
        )
        assert await telegram.assistant.history(f"telegram-{ANN}") == []
        assert await telegram.assistant.state(f"telegram-{ANN}") is None
    assert world.methods().count("answerCallbackQuery") == 2


@pytest.mark.usefixtures("menus")
async def test_commands_have_a_menu_for_each_kind_of_chat(door: Open, world: BotApi) -> None:
    """Private chats, groups, their administrators and the bot's have menus, in the languages there are."""
    async with door() as telegram:
        code = link("sue_bot", TOKEN).partition("=")[2]
        assert await telegram.access.enter(ANN, code) == "let_in_admin"
    further = languages()[1:]
    before = 3 * (1 + len(further))
    assert world.methods().count("setMyCommands") == before
    async with door():
        pass
    assert world.methods().count("setMyCommands") == before + 4 * (1 + len(further))
    menus = world.chats.menus
    assert {lang for _, lang in menus} == {"", *further}
    private, group, admins, operator = (set(menus[scope, ""]) for scope in SCOPES)
    assert private >= ASKED
    assert not {"stats", "prompt"} & (private | admins)
    assert operator == private | {"stats", "prompt"}
    assert admins == group | {"new"}
    assert not group & {"new", "start", "today", "quit", "trace"}
    assert menus["all_private_chats", "ru"]["privacy"].startswith("что хранится")


@pytest.mark.usefixtures("menus")
async def test_new_menus_are_set_when_somebody_becomes_administrator(door: Open, world: BotApi) -> None:
    """The chat of who opens the first link gets its own menu at once."""
    async with door(allowed=[]):
        opened = link("sue_bot", TOKEN)
        world.says(ANN, f"/start {opened.partition('=')[2]}")
        await world.until(lambda: ("chat 11", "") in world.chats.menus)
    assert "stats" in world.chats.menus["chat 11", ""]


@pytest.mark.usefixtures("menus")
async def test_only_what_is_offered_can_be_run(door: Open, world: BotApi) -> None:
    """The help names the commands of the menu; those of the terminal are unknown here."""
    async with door():
        world.says(ANN, "/HELP@SUE_bot")
        texts = await world.asks(ANN, "/trace", sent=2)
    assert [f"/{name}" for name in world.chats.menus["all_private_chats", ""]] == [
        line.split()[0] for line in texts[0].split("\n")
    ]
    assert "There is no /trace" in texts[1]


async def test_reading_commands_overtake_the_answer(door: Open, world: BotApi, script: Script) -> None:
    """Help, history and the like are answered while a turn runs; commands that change something wait for it."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three"])
    async with door():
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        for command in ("/lang ru", "/help", "/history", "/threads", "/privacy", "/state", "/dialogs", "/busy"):
            world.says(ANN, command)
        assert len(await world.until_sent(ANN, 7)) == 7
        assert not any("Русский" in text for text in world.texts(ANN))
        gate.set()
        assert (await world.until_sent(ANN, 9))[7:] == ["One two three", f"Язык: Русский. Есть: {', '.join(NAMES)}."]


@pytest.mark.needs("profile")
async def test_a_language_is_called_by_its_name(door: Open, world: BotApi) -> None:
    """In any of its names; dialogs are told of in it from then on."""
    async with door():
        for number, typed in enumerate(("русский", "English", "Russian", "en", "по-русски"), 1):
            text = (await world.asks(ANN, f"/lang {typed}", sent=number))[-1]
            assert text.startswith("The language is English." if typed[0] in "Ee" else "Язык: Русский.")
        assert "/go profile – познакомиться с вами" in (await world.asks(ANN, "/dialogs", sent=6))[5]


async def test_a_language_is_chosen_by_a_button(door: Open, world: BotApi) -> None:
    """Without a name there are buttons; a name that no language has is refused."""
    async with door():
        await world.asks(ANN, "/lang", sent=1)
        assert labels(world.sent[0]) == [NAMES]
        assert (await world.presses(world.sent[0], "Русский", sent=2))[1].startswith("Язык: Русский.")
        assert "klingon" in (await world.asks(ANN, "/lang klingon", sent=3))[2]
