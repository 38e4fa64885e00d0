"""Pictures that a search has found, as photos in a chat; as links where Telegram does not take them."""

from collections.abc import Sequence

import pytest

from agents.events import Images, ShownImage
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import ChatScreen, caption
from app.plugins.telegram.place import TelegramPlace
from tests.plugins.telegram.people import ANN, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.telegram_server import BotApi


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
