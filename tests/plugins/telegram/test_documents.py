"""Documents to a chat: each arrives once, also when the process ends on the way."""

import pytest

from agents.events.views import Document
from agents.memory.updates import StoredUpdate
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import send_document
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates import row
from app.plugins.telegram.updates.row import STORED, ReplyWithButtons, UpdateRow
from tests.plugins.telegram.people import ANN, Open
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.telegram_http import Upload
from tests.support.telegram_server import BotApi, refusal

EXPORT = ReplyWithButtons("Here is all of it.", document=("talk.md", "# Talk\n\nдень 😀"))


async def never() -> ReplyWithButtons:
    """Find an answer out that was found out before."""
    raise AssertionError("found out again")


async def test_a_command_answers_with_a_document(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part of an answer sent before the process ended is not sent again: neither its text nor its document."""
    async with door(Echo().models(ROLES)) as telegram:
        updates = telegram.assistant.memory.updates
        stored = await updates.take("telegram 1234567", "tap 1", "{}")

        async def find() -> ReplyWithButtons:
            return EXPORT

        def cut(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(row, "send_document", cut)
        with pytest.raises(KeyboardInterrupt):
            await UpdateRow(telegram, TelegramPlace(ANN), stored).give(find)
        monkeypatch.undo()
        assert world.texts(ANN) == ["Here is all of it."]
        [waiting] = await updates.open("telegram 1234567")
        await UpdateRow(telegram, TelegramPlace(ANN), waiting).give(never)
        assert await updates.open("telegram 1234567") == []
    assert world.texts(ANN) == ["Here is all of it.", "talk.md"]
    [sent] = [call["document"] for method, call in world.calls if method == "sendDocument"]
    assert isinstance(sent, Upload)
    assert sent.decode() == "# Talk\n\nдень 😀"


async def test_a_document_that_telegram_refuses_is_told_of(door: Open, world: BotApi) -> None:
    """The user reads that the file could not be sent, and a file that no bot may send is not tried."""
    async with door(Echo().models(ROLES)) as telegram:
        updates = telegram.assistant.memory.updates
        stored = await updates.take("telegram 1234567", "tap 1", "{}")
        world.fail("sendDocument", refusal(400, "Bad Request: wrong file"))
        answered = StoredUpdate(stored.id, "{}", STORED.dump_json(EXPORT).decode())
        await UpdateRow(telegram, TelegramPlace(ANN), answered).give(never)
        assert not await send_document(telegram.sender, TelegramPlace(ANN), "big.txt", bytes(50_000_001))
    assert world.texts(ANN) == ["Here is all of it.", "Telegram does not take the file talk.md."]
    assert world.methods().count("sendDocument") == 1


async def test_a_document_of_a_turn_has_a_receipt(door: Open, world: BotApi) -> None:
    """A view that was sent as a file is not sent again by the next process."""
    event = Document(title="profile.md", content="- a nurse")
    async with door(Echo().models(ROLES)) as telegram:
        for _ in range(2):
            receipts = Receipts(telegram.assistant.memory.store, f"telegram-{ANN}", "turn-1")
            await receipts.read()
            receipts.begin(event)
            assert await send_document(telegram.sender, TelegramPlace(ANN), event.title, b"- a nurse", receipts)
    assert world.texts(ANN) == ["profile.md"]
