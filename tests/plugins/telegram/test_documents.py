"""Documents and pictures to a chat: each arrives once, also when the process ends on the way; or as a link."""

from collections.abc import Sequence

import pytest

from agents.events import Images, ShownImage
from agents.events.views import Document
from agents.memory.updates import StoredUpdate
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import ChatScreen, caption, send_document
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates import row
from app.plugins.telegram.updates.row import STORED, ReplyWithButtons, UpdateRow
from tests.plugins.telegram.people import ANN, GROUP, Open
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


def picture(number: int, **more: str) -> ShownImage:
    """Return a picture of the web."""
    url, page = f"https://pictures.example/{number}.jpg", f"https://ships.example/{number}"
    fields: dict[str, str] = {"thumbnail": f"https://small.example/{number}.jpg", "mime_type": "image/jpeg", **more}
    return ShownImage(
        url=fields.get("url", url),
        title=fields.get("title", f"Ship {number} ⛵"),
        thumbnail=fields["thumbnail"],
        width=None,
        height=None,
        mime_type=fields["mime_type"],
        page=fields.get("page", page),
    )


async def show(door: Open, images: Sequence[ShownImage], place: TelegramPlace, times: int = 1) -> None:
    """Show pictures in a chat, so many times, each time with the receipts of the same turn."""

    async def lang() -> str:
        return "en"

    async with door(Echo().models(ROLES)) as telegram:
        for _ in range(times):
            receipts = Receipts(telegram.assistant.memory.store, place.thread, "turn-1")
            await receipts.read()
            await ChatScreen(telegram.sender, receipts, place, place.turn("show"), lang).show(Images(images=images))


async def test_several_pictures_are_an_album(door: Open, world: BotApi) -> None:
    """They come as one album with captions that link to their pages, once also after a restart, as an answer."""
    asked = world.says(GROUP, "ships", user=ANN)
    await show(door, [picture(1), picture(2)], TelegramPlace(GROUP, message=asked["message_id"]), times=2)
    assert world.texts(GROUP) == ["Ship 1 ⛵\nships.example", "Ship 2 ⛵\nships.example"]
    [album] = [call for method, call in world.calls if method == "sendMediaGroup"]
    assert [media["media"] for media in album["media"]] == [picture(1)["url"], picture(2)["url"]]
    link = {"type": "text_link", "offset": 9, "length": 13, "url": "https://ships.example/1"}
    assert album["media"][0]["caption_entities"] == [link]
    assert album["reply_parameters"]["message_id"] == asked["message_id"]


async def test_one_picture_is_a_photo(door: Open, world: BotApi) -> None:
    """It is sent by its address."""
    await show(door, [picture(1)], TelegramPlace(ANN))
    [sent] = [call for method, call in world.calls if method == "sendPhoto"]
    assert sent["photo"] == picture(1)["url"]
    assert world.texts(ANN) == ["Ship 1 ⛵\nships.example"]


@pytest.mark.parametrize("number", [1, 3])
async def test_what_telegram_cannot_fetch(door: Open, world: BotApi, number: int) -> None:
    """Small copies come in the place of originals that it cannot fetch, and links in the place of both."""
    pictures = [picture(each) for each in range(number)]
    world.chats.unreachable = {pictures[-1]["url"]}
    await show(door, pictures, TelegramPlace(ANN))
    assert world.texts(ANN) == [f"Ship {each} ⛵\nships.example" for each in range(number)]
    world.chats.unreachable |= {pictures[0]["thumbnail"]}
    await show(door, pictures, TelegramPlace(ANN + 1))
    [links] = world.texts(ANN + 1)
    assert links.startswith("Images\n1. Ship 0 ⛵")
    assert pictures[0]["url"] in links


async def test_what_is_no_photo_is_a_link(door: Open, world: BotApi) -> None:
    """An album holds ten; the rest, and kinds that Telegram shows no photo of, follow as links."""
    drawing = picture(20, mime_type="image/svg+xml")
    await show(door, [*(picture(each) for each in range(11)), drawing], TelegramPlace(ANN))
    *photos, links = world.texts(ANN)
    assert len(photos) == 10
    assert picture(10)["url"] in links
    assert drawing["url"] in links


def test_a_caption_is_bounded_and_harmless() -> None:
    """A title of a page is cut and cleaned, and an address that does not begin with http makes no link."""
    words = caption(picture(1, title="x\u202e" * 5000, page="javascript:alert(1)"))
    assert words.text == "x" * 120
    assert words.entities == ()
