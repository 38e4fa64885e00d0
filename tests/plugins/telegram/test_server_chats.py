"""The Bot API server of the tests refuses what Telegram refuses, and fails in the ways Telegram fails."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.plugins.telegram.people import ANN, GROUP
from tests.support.telegram_flood import Flood
from tests.support.telegram_server import TOKEN, BotApi, refusal


class Caller:
    """Call the methods of the server as a bot's library does."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client, self._url = client, url

    async def __call__(self, method: str, **sent: Any) -> Any:
        """Return a method's result, or the description of what was refused."""
        texts = {name: value if isinstance(value, str) else _json(value) for name, value in sent.items()}
        reply = (await self._client.post(f"{self._url}/bot{TOKEN}/{method}", data=texts)).json()
        return reply["result"] if reply["ok"] else (reply["error_code"], reply["description"], reply.get("parameters"))


def _json(value: Any) -> str:
    return httpx.Request("POST", "http://x", json=value).content.decode()


@pytest.fixture
async def call(world: BotApi) -> AsyncIterator[Caller]:
    """Call a method of the server."""
    async with httpx.AsyncClient(timeout=300) as client:
        yield Caller(client, world.url)


async def test_edits_change_what_is_shown(world: BotApi, call: Caller) -> None:
    """A message is changed in its place; an edit of an unchanged, deleted or foreign one is refused."""
    message = await call("sendMessage", chat_id=ANN, text="…")
    place = {"chat_id": ANN, "message_id": message["message_id"]}
    await call("editMessageText", **place, text="done")
    assert world.texts(ANN) == ["done"]
    assert "not modified" in (await call("editMessageText", **place, text="done"))[1]
    own = world.says(ANN, "hello")
    assert "can't be edited" in (await call("editMessageText", chat_id=ANN, message_id=own["message_id"], text="x"))[1]
    assert await call("deleteMessage", **place)
    assert "not found" in (await call("editMessageText", **place, text="x"))[1]
    assert "not found" in (await call("deleteMessage", **place))[1]
    assert world.texts(ANN) == []


async def test_drafts_are_stopped_by_their_user(world: BotApi, call: Caller) -> None:
    """Frames of a draft replace each other; its stop button brings an update that has to be asked for."""
    for text in ("", "It", "It is"):
        assert await call("sendMessageDraft", chat_id=ANN, draft_id=7, text=text, can_stop=True)
    [draft] = world.drafts
    assert draft.frames == ["", "It", "It is"]
    assert world.texts(ANN) == []
    world.stops(draft)
    assert await call("getUpdates", timeout=0) == []
    [update] = await call("getUpdates", timeout=0, allowed_updates=["stopped_message_generation"])
    assert update["stopped_message_generation"]["draft_id"] == 7


async def test_no_draft_in_a_group() -> None:
    """A draft is for private chats; a test whose bot sends one elsewhere fails at its end."""

    async def misbehave() -> None:
        async with (world := BotApi()).serving(), httpx.AsyncClient(timeout=300) as client:
            refused = await Caller(client, world.url)("sendMessageDraft", chat_id=GROUP, draft_id=7, text="x")
            assert refused[0] == 400

    with pytest.raises(AssertionError, match="sendMessageDraft: to"):
        await misbehave()


async def test_topics_and_replies(world: BotApi, call: Caller) -> None:
    """A message goes to a topic that exists, and answers a message that does."""
    asked = world.says(GROUP, "hello", topic=5)
    reply = {"message_id": asked["message_id"]}
    sent = await call("sendMessage", chat_id=GROUP, text="hi", message_thread_id=5, reply_parameters=reply)
    assert sent["is_topic_message"]
    assert sent["reply_to_message"]["text"] == "hello"
    assert world.texts(GROUP, topic=5) == ["hi"]
    assert "thread not found" in (await call("sendMessage", chat_id=GROUP, text="hi", message_thread_id=6))[1]
    missing = {"message_id": 999}
    assert "not found" in (await call("sendMessage", chat_id=GROUP, text="hi", reply_parameters=missing))[1]
    lenient = {**missing, "allow_sending_without_reply": True}
    assert "reply_to_message" not in await call("sendMessage", chat_id=GROUP, text="hi", reply_parameters=lenient)


async def test_faults_before_and_after_the_effect(world: BotApi, call: Caller) -> None:
    """A failed call may have done its work."""
    world.fail("sendMessage", refusal(500, "Internal Server Error"))
    world.fail("sendMessage", refusal(500, "Internal Server Error"), after=True)
    world.fail("sendMessage", None, after=True)
    assert (await call("sendMessage", chat_id=ANN, text="one"))[0] == 500
    assert (await call("sendMessage", chat_id=ANN, text="two"))[0] == 500
    with pytest.raises(httpx.TransportError):
        await call("sendMessage", chat_id=ANN, text="three")
    assert world.texts(ANN) == ["two", "three"]


async def test_flood_control(world: BotApi, call: Caller) -> None:
    """A chat that gets too much is refused for a while; others are not, unless the bot sends too much in all."""
    now = [0.0]
    world.flood = Flood(private=(2, 1), bot=(6, 2), clock=lambda: now[0])

    async def send(chat: int) -> Any:
        result = await call("sendMessage", chat_id=chat, text="x")
        return result[2]["retry_after"] if isinstance(result, list | tuple) else 0

    assert [await send(ANN) for _ in range(3)] == [0, 0, 1]
    assert await send(22) == 0
    now[0] += 1
    assert [await send(ANN), await send(ANN)] == [0, 1]
    now[0] += 1
    assert [await send(chat) for chat in range(30, 40)] == [0] * 4 + [1] * 6
    assert await call("sendChatAction", chat_id=ANN, action="typing")


async def test_taps_that_are_too_old(world: BotApi, call: Caller) -> None:
    """A tap is answered once, and within a while."""
    markup = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}
    message = await call("sendMessage", chat_id=ANN, text="?", reply_markup=markup)
    query = world.taps(message, "Yes")
    assert await call("answerCallbackQuery", callback_query_id=query)
    assert "too old" in (await call("answerCallbackQuery", callback_query_id=query))[1]
