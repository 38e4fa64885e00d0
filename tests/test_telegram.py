"""The Telegram door, end to end: people write through a Bot API server, the assistant answers over HTTP."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import BaseMessage

from agents.errors import ConfigError
from agents.models import Models
from agents.models.script import Call, Line, Script
from app import telegram, telegram_sending
from app.settings import Settings
from app.telegram_bot import ServiceBot
from app.telegram_door import Door
from tests.bot_api import BOT, TOKEN, BotApi, refusal
from tests.bot_api_http import Upload
from tests.staging import ROLES, Gate, script_lines, stage

ANN, BOB, GROUP = 11, 22, -100777
PLAN = Call("plan_things", {"brief": "to-dos"})
MEET = Call("get_acquainted", {"brief": "wants to get acquainted"})


@pytest.fixture
async def world() -> AsyncIterator[BotApi]:
    """A Bot API server; a request that it forbids fails the test."""
    api = BotApi()
    async with api.serving():
        yield api
    assert api.violations == []


@pytest.fixture
def script() -> Script:
    """Lay out what the models say."""
    return Script()


Open = Callable[..., Any]


@pytest.fixture
def door(tmp_path: Path, world: BotApi, script: Script) -> Open:
    """Open the door on a database file that stays; `allowed` are the ids of those who may talk."""

    @asynccontextmanager
    async def opened(models: Models | None = None, allowed: Sequence[int] = ()) -> AsyncIterator[Door]:
        settings = Settings(_env_file=None, telegram_allowed_users=frozenset(allowed))
        bot = ServiceBot(TOKEN, world.url)
        async with (
            stage(tmp_path / "telegram.db", models or script.models(ROLES)) as assistant,
            telegram.open_door(assistant, bot, settings) as one,
        ):
            yield one

    return opened


class Echo(Script):
    """A supervisor that repeats what it heard."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the last message."""
        return next((one.text for one in reversed(messages) if one.type == "human"), "Hello, who are you?")


class Holding(Gate):
    """A gate that tells when it has let through what it may."""

    holds = False

    async def wait(self) -> Literal[True]:
        """Wait unless there is a pass left."""
        self.holds = self._passes <= 0
        return await super().wait()


async def test_first_contact_greets(door: Open, world: BotApi, script: Script) -> None:
    """/start in a new chat lets the assistant speak first, in a known one it tells how things are."""
    script.add(supervisor=["Welcome!"])
    async with door():
        world.says(ANN, "/start")
        assert await world.until_sent(ANN, 1) == ["Welcome!"]
        world.says(ANN, "/start")
        assert "already talking" in (await world.until_sent(ANN, 2))[1]
    assert "sendChatAction" in world.methods()


async def test_a_first_contact_in_the_language_of_the_users_telegram(door: Open, world: BotApi) -> None:
    """The greeting and the door's own sentences follow the user's Telegram until the user writes."""
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "/start", writer={"language_code": "ru-RU"})
        await world.until_sent(ANN, 1)
        assert (await one.assistant.state(f"telegram-{ANN}"))["lang"] == "ru"
        world.says(ANN, "/start")
        assert "Мы уже беседуем" in (await world.until_sent(ANN, 2))[1]


async def test_dialogs_take_over_and_are_switched(door: Open, world: BotApi, script: Script) -> None:
    """A dialog takes the chat over, goes on, and gives way to another one."""
    script.add(
        supervisor=[MEET, PLAN],
        profile=["What do you do?", "never shown"],
        planner=["What shall I put down?"],
        observer=["planner"],
    )
    async with door() as one:
        world.says(ANN, "Let's get acquainted")
        assert await world.until_sent(ANN, 1) == ["What do you do?"]
        world.says(ANN, "Rather show me all my to-dos for the week, please")
        assert (await world.until_sent(ANN, 2))[1] == "What shall I put down?"
        assert (await one.assistant.state(f"telegram-{ANN}"))["dialog"] == "planner"


async def test_the_application_speaks_unasked(door: Open, world: BotApi) -> None:
    """A text for a chat's thread arrives by itself; what cannot arrive is told as such."""
    async with door() as one:
        assert await one.tell(f"telegram-{ANN}", "Time for **tea**")
        world.blocked.add(BOB)
        assert not await one.tell(f"telegram-{BOB}", "Time for tea")
        assert not await one.tell("me", "Time for tea")
    assert world.texts(ANN) == ["Time for tea"]
    assert world.sent[0]["entities"] == [{"type": "bold", "offset": 9, "length": 3}]


async def test_a_reminder_arrives_by_itself(door: Open, world: BotApi, script: Script) -> None:
    """A reminder that a chat has set comes to it once when it is due, and stands in its transcript."""
    reminder = Call("add_reminder", {"when": "in 1 second", "text": "tea"})
    script.add(supervisor=[PLAN], planner=[reminder, "It is set."])
    async with door() as one:
        world.says(ANN, "Remind me of the tea, please")
        assert await world.until_sent(ANN, 2) == ["It is set.", "⏰ tea"]
        lines = await one.assistant.memory.transcript.lines(f"telegram-{ANN}")
        assert lines[-1].text == "⏰ tea"
    async with door():
        pass
    assert len(world.texts(ANN)) == 2


async def test_a_long_answer_comes_in_several_messages(door: Open, world: BotApi) -> None:
    """An answer beyond Telegram's limit is cut between lines; nothing of it is lost."""
    lines = [f"{number}. какой-то очень длинный ответ 😀 о важном" for number in range(1, 301)]
    async with door() as one:
        await one.tell(f"telegram-{ANN}", "\n".join(lines))
    texts = world.texts(ANN)
    assert len(texts) == 4
    assert "\n".join(texts).split() == " ".join(lines).split()


async def test_a_blocked_bot_goes_quiet(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Who blocks the bot is written to no more; the turn is stored, and the log tells no words of it."""
    world.blocked.add(ANN)
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "a secret word")
        world.says(BOB, "hello")
        assert await world.until_sent(BOB, 1) == ["hello"]
        await world.until(lambda: "sendMessage" in world.methods())
        await world.until(lambda: not one.chats.is_busy(ANN))
        assert await script_lines(one.assistant, f"telegram-{ANN}") == [
            "user: a secret word",
            "supervisor: a secret word",
        ]
    assert f"chat {ANN} cannot be written to" in caplog.text
    assert "secret" not in caplog.text


async def test_a_stranger_is_refused_once(door: Open, world: BotApi) -> None:
    """Who is not on the list hears so once an hour; nothing of it reaches the assistant."""
    async with door(Echo().models(ROLES), allowed=[ANN]) as one:
        for text in ("let me in", "/start", "/history", "please"):
            world.says(BOB, text)
        world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
        await world.until(lambda: not one.chats.is_busy(BOB))
        assert [info.thread for info in await one.assistant.threads()] == [f"telegram-{ANN}"]
    assert len(world.texts(BOB)) == 1
    assert str(BOB) in world.texts(BOB)[0]


async def test_two_chats_do_not_wait_for_each_other(door: Open, world: BotApi, script: Script) -> None:
    """While one chat's answer is made, another chat is answered."""
    script.gates["planner"] = gate = Gate(0)
    script.add(supervisor=[PLAN, "At once."], planner=["At last."])
    async with door():
        world.says(ANN, "my to-dos")
        await world.until(lambda: len(script.asked) == 2)
        world.says(BOB, "hello")
        assert await world.until_sent(BOB, 1) == ["At once."]
        assert world.texts(ANN) == []
        gate.set()
        assert await world.until_sent(ANN, 1) == ["At last."]


async def test_messages_of_a_chat_are_answered_in_order(door: Open, world: BotApi) -> None:
    """What comes while an answer is made is answered after it, each in a turn of its own."""
    async with door(Echo(delays={"supervisor": 0.02}).models(ROLES)) as one:
        for text in ("one", "two", "three"):
            world.says(ANN, text)
        assert await world.until_sent(ANN, 3) == ["one", "two", "three"]
        await world.until(lambda: not one.chats.is_busy(ANN))
        assert [line.turn for line in await one.assistant.history(f"telegram-{ANN}")] == [1, 1, 2, 2, 3, 3]


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


async def test_a_restart_answers_what_was_left_once(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that a stopped process left unanswered are answered by the next one, and only once."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    monkeypatch.setattr(telegram, "PATIENCE", 0.05)
    async with door() as one:
        first = world.says(ANN, "one")
        world.says(ANN, "two")
        await world.until(lambda: script.asked)
        await until_stored(one, f"telegram-{ANN}", 2)
    async with door(Echo().models(ROLES)) as one:
        assert await world.until_sent(ANN, 2) == ["one", "two"]
        world.bring({"message": first})
        world.says(ANN, "three")
        assert await world.until_sent(ANN, 3) == ["one", "two", "three"]
        ids = [line.message_id for line in await one.assistant.history(f"telegram-{ANN}")]
        assert ids[0] == f"telegram-{ANN}-{first['message_id']}"


async def test_an_answer_in_the_making_is_still_sent_at_the_end(door: Open, world: BotApi) -> None:
    """A door that closes waits for the answers that are being made, and begins no others."""
    async with door(Echo(delays={"supervisor": 0.2}).models(ROLES)) as one:
        world.says(ANN, "one")
        world.says(ANN, "two")
        await until_stored(one, f"telegram-{ANN}", 2)
    assert world.texts(ANN) == ["one"]


async def test_a_token_that_is_revoked_ends_the_door(tmp_path: Path, world: BotApi) -> None:
    """A bot whose token is no longer accepted does not wait for messages for ever."""
    bot, settings = ServiceBot(TOKEN, world.url), Settings(_env_file=None)
    async with (
        stage(tmp_path / "telegram.db", Echo().models(ROLES)) as assistant,
        telegram.open_door(assistant, bot, settings),
    ):
        world.token = "another"
        world.says(ANN, "hello")
        await asyncio.wait_for(bot.refused(), 5)
    assert world.sent == []


async def test_an_answer_that_arrived_is_not_sent_again(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends between sending an answer and storing the turn leaves no second copy of it."""
    monkeypatch.setattr(telegram, "PATIENCE", 0.05)
    script.add(supervisor=[PLAN], planner=["What shall I put down?"])

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async with door() as one:
        monkeypatch.setattr(one.assistant.memory.transcript, "close", never)
        world.says(ANN, "my to-dos")
        assert await world.until_sent(ANN, 1) == ["What shall I put down?"]
        await until_stored(one, f"telegram-{ANN}", 1)
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "/help")
        await world.until_sent(ANN, 2)
        assert await script_lines(one.assistant, f"telegram-{ANN}") == [
            "user: my to-dos",
            "planner: What shall I put down?",
        ]
    assert len(world.texts(ANN)) == 2


async def test_nothing_is_acknowledged_before_it_is_stored(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the database fails, Telegram keeps the message and brings it again."""
    async with door(Echo().models(ROLES)) as one:
        accept, acknowledged = one.assistant.memory.transcript.accept, list[int]()

        async def failing(letter: Any) -> Any:
            acknowledged.append(world.offset)
            if len(acknowledged) == 1:
                raise sqlite3.OperationalError("disk full")
            return await accept(letter)

        monkeypatch.setattr(one.assistant.memory.transcript, "accept", failing)
        message = world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
        assert all(offset <= message["message_id"] for offset in acknowledged[:2])
        await world.until(lambda: world.offset > message["message_id"])


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
        assert (await world.until_sent(ANN, 3))[2] == "Everything that was said here is deleted."
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


async def test_a_chosen_language_stays(door: Open, world: BotApi) -> None:
    """/lang holds for the turns that follow, whatever they are written in, also after a restart."""
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "/lang ru")
        await world.until_sent(ANN, 1)
    async with door(Echo().models(ROLES)) as one:
        world.says(ANN, "hello there")
        await world.until_sent(ANN, 2)
        assert (await one.assistant.state(f"telegram-{ANN}"))["lang"] == "ru"


async def test_what_is_no_text_is_told(door: Open, world: BotApi) -> None:
    """A voice message gets a sentence, an album gets one; a service message gets none."""
    sound = {"file_id": "1", "file_unique_id": "1", "duration": 3}
    photo = [{"file_id": "2", "file_unique_id": "2", "width": 9, "height": 9}]
    async with door(Echo().models(ROLES)):
        world.says(ANN, voice=sound)
        world.says(ANN, photo=photo, media_group_id="7", caption="look")
        world.says(ANN, photo=photo, media_group_id="7")
        world.says(ANN, pinned_message={"message_id": 1, "date": 0, "chat": {"id": ANN, "type": "private"}})
        world.bring({"edited_message": world.says(ANN, "hello")})
        texts = await world.until_sent(ANN, 3)
    assert texts == ["I can only read text so far. Please put it into words."] * 2 + ["hello"]
    assert (
        "edited_message" not in next(call for method, call in world.calls if method == "getUpdates")["allowed_updates"]
    )


async def test_in_a_group_it_answers_when_it_is_meant(door: Open, world: BotApi) -> None:
    """A mention, a reply to it and a command are meant for it; talk among people and another bot's command are not."""
    own = {"message_id": 1, "date": 0, "chat": {"id": GROUP, "type": "supergroup"}, "from": BOT, "text": "?"}
    async with door(Echo().models(ROLES)) as one:
        world.says(GROUP, "shall we eat?", user=ANN)
        world.says(GROUP, "/help@other_bot", user=ANN)
        world.says(GROUP, "/roll 6", user=ANN)
        world.says(GROUP, "@sue_bot, hello", user=ANN)
        world.says(GROUP, "yes", user=BOB, reply_to_message=own)
        assert await world.until_sent(GROUP, 2) == ["hello", "yes"]
        assert [info.user for info in await one.assistant.threads()] == [f"telegram-{BOB}"]


async def test_a_document_is_sent_as_one(door: Open, world: BotApi, script: Script) -> None:
    """What a tool puts on the screen arrives as a file, and stands for the answer."""
    script.add(
        supervisor=[MEET],
        profile=[
            Call("fill_form", {"experience": "медсестра"}),
            Call("export_profile", {"format": "markdown"}),
            "Here it is.",
        ],
    )
    async with door():
        world.says(ANN, "I am a nurse, export that")
        [name] = await world.until_sent(ANN, 1)
    assert name.endswith(".md")
    document = next(call["document"] for method, call in world.calls if method == "sendDocument")
    assert isinstance(document, Upload)
    assert "медсестра" in document.decode()


async def test_flood_control_and_failures_are_waited_out(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that Telegram delays or fails on is sent again, later, and in order."""
    monkeypatch.setattr(telegram_sending, "FIRST_WAIT", 0.01)
    async with door() as one:
        world.fail("sendMessage", refusal(429, "Too Many Requests: retry after 1", retry_after=1))
        world.fail("sendMessage", refusal(502, "Bad Gateway"))
        begun = asyncio.get_running_loop().time()
        await asyncio.gather(one.tell(f"telegram-{ANN}", "one"), one.tell(f"telegram-{ANN}", "two"))
        assert asyncio.get_running_loop().time() - begun >= 1
    assert world.texts(ANN) == ["one", "two"]


async def test_what_telegram_refuses_comes_without_formatting(door: Open, world: BotApi) -> None:
    """A page whose entities are refused is sent as plain text; one that is refused for good is let go."""
    async with door() as one:
        world.fail("sendMessage", refusal(400, "Bad Request: can't parse entities"))
        assert await one.tell(f"telegram-{ANN}", "a **b**")
        world.fail("sendMessage", refusal(400, "Bad Request: message is too long"))
        assert await one.tell(f"telegram-{ANN}", "gone")
        assert await one.tell(f"telegram-{ANN}", "here")
    assert world.texts(ANN) == ["a b", "here"]
    assert "entities" not in world.sent[0]


async def test_an_update_it_cannot_read_deafens_nobody(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed update is left out with a line in the log; those after it are answered."""
    async with door(Echo().models(ROLES)):
        world.bring({"message": {"text": "a secret word"}}, is_valid=False)
        world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
    assert "cannot be read" in caplog.text
    assert "secret" not in caplog.text


async def test_a_failure_is_told_in_friendly_words(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something breaks the user hears a sentence, and the chat goes on."""
    async with door(Echo().models(ROLES)) as one:

        async def broken(thread: str) -> None:
            raise RuntimeError("a secret word")

        monkeypatch.setattr(one.assistant, "history", broken)
        world.says(ANN, "/history")
        world.says(ANN, "hello")
        texts = await world.until_sent(ANN, 2)
    assert texts == ["Something went wrong on my side. Please try again.", "hello"]


async def test_the_token_is_never_logged(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the addresses of requests nor a refused token show it, at any level."""
    caplog.set_level(logging.DEBUG)
    async with door(Echo().models(ROLES)):
        world.says(ANN, "a secret word")
        await world.until_sent(ANN, 1)
    world.token = "another"
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN") as refused:
        async with door():
            raise AssertionError("a door without a token")
    assert TOKEN not in caplog.text + str(refused.value)
    assert refused.value.__suppress_context__
    assert "secret" not in caplog.text


async def until_stored(door: Door, thread: str, number: int) -> None:
    """Wait until so many messages of a thread are in the inbox."""
    for _ in range(1000):
        if len(await door.assistant.memory.transcript.open_letters(thread)) >= number:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError
