"""The bot's answers by access: strangers, groups, users who have blocked the bot."""

import pytest
from pydantic import ValidationError

from app.plugins.telegram.settings import TelegramSettings
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo, script_lines
from tests.support.telegram_server import BOT, BotApi


async def test_a_blocked_bot_goes_quiet(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """The bot writes no more to a user who blocks it; the turn is stored, and the log has no words of it."""
    world.blocked.add(ANN)
    async with door(Echo().models(ROLES)) as telegram:
        world.says(ANN, "a secret word")
        assert await world.asks(BOB, "hello", sent=1) == ["hello"]
        await world.until(lambda: "sendMessage" in world.methods())
        await world.until(lambda: not telegram.chats.is_busy(ANN))
        assert await script_lines(telegram.assistant, f"telegram-{ANN}") == [
            "user: a secret word",
            "supervisor: a secret word",
        ]
    assert f"chat {ANN} cannot be written to" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("allowed", [[ANN], []], ids=["not on the list", "nobody on the list"])
async def test_nobody_is_let_in_unless_named(door: Open, world: BotApi, allowed: list[int]) -> None:
    """Who is not named reads that in one line, once an hour; no message of theirs reaches the assistant."""
    async with door(Echo().models(ROLES), allowed=allowed) as telegram:
        for text in ("let me in", "/start", "/history", "please"):
            world.says(BOB, text)
        [refused] = await world.until_sent(BOB, 1, door=telegram)
        assert "only talks to people it was told of" in refused
        assert str(BOB) in refused
        assert "TELEGRAM" not in refused
        assert await telegram.assistant.threads() == []


async def test_in_a_group_it_answers_when_it_is_meant(door: Open, world: BotApi) -> None:
    """A mention, a reply to it and a command are meant for it; talk among people and another bot's command are not."""
    own = {"message_id": 1, "date": 0, "chat": {"id": GROUP, "type": "supergroup"}, "from": BOT, "text": "?"}
    async with door(Echo().models(ROLES)) as telegram:
        world.says(GROUP, "shall we eat?", user=ANN)
        world.says(GROUP, "/help@other_bot", user=ANN)
        world.says(GROUP, "/roll 6", user=ANN)
        world.says(GROUP, "@sue_bot, hello", user=ANN)
        assert await world.asks(GROUP, "yes", user=BOB, reply_to_message=own, sent=2) == ["hello", "yes"]
        assert [info.user for info in await telegram.assistant.threads()] == [f"telegram-{BOB}"]


CLOSED = ["", " ", ",", ", ,", "\t"]


@pytest.mark.parametrize("text", CLOSED)
def test_blanks_let_nobody_in(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list without anybody on it is not everybody."""
    monkeypatch.setenv("TELEGRAM_ALLOWED_USERS", text)
    assert TelegramSettings().telegram_allowed_users == frozenset()


@pytest.mark.parametrize("text", ["*, 5", "5 *", "**", "all", "-5", "5;6", "5.5", "@ann"])
def test_a_wrong_list_stops_the_start(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A star counts alone, and a name is no id."""
    monkeypatch.setenv("TELEGRAM_ALLOWED_USERS", text)
    with pytest.raises(ValidationError, match="everybody"):
        TelegramSettings()


@pytest.mark.usefixtures("window")
async def test_what_is_no_text_is_told(door: Open, world: BotApi) -> None:
    """A die gets a sentence, an album's caption is read; a service message gets no answer."""
    film = {"file_id": "2", "file_unique_id": "2", "width": 9, "height": 9, "duration": 1}
    async with door(Echo().models(ROLES)):
        world.says(ANN, dice={"emoji": "🎲", "value": 3})
        world.says(ANN, video=film, media_group_id="7", caption="look")
        world.says(ANN, video=film, media_group_id="7")
        world.says(ANN, pinned_message={"message_id": 1, "date": 0, "chat": {"id": ANN, "type": "private"}})
        world.bring({"edited_message": world.says(ANN, "hello")})
        texts = await world.until_sent(ANN, 4)
    assert texts[0] == "I cannot use what you sent. Please put it into words."
    assert texts[1:] == ["ℹ️ I cannot open what you sent. I go by your words.", "look", "hello"]
