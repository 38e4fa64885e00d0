"""Telegram posts the updates to us: over real HTTP, in the order of each chat, each done once."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from agents.errors import ConfigError, DatabaseError
from app.plugins.telegram.updates import webhook
from app.plugins.telegram.updates.webhook import SECRET_HEADER
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, Open
from tests.support.loopback import free_port
from tests.support.scripted_assistant import ROLES, Echo, Holding
from tests.support.simulated_time import advance
from tests.support.telegram_server import BotApi, refusal

SECRET = "a-secret-of-ours-0"
PATH = "/hooks/sue"
Post = Callable[..., Any]


@pytest.fixture
def port() -> int:
    """Return a free port of loopback."""
    return free_port()


@pytest.fixture
def hook(port: int) -> dict[str, str]:
    """Return the settings of a webhook."""
    return {
        "telegram_webhook_url": f"https://bot.example{PATH}",
        "telegram_webhook_listen": f"127.0.0.1:{port}",
        "telegram_webhook_secret": SECRET,
    }


@pytest.fixture
def post(port: int) -> Post:
    """Post an update as Telegram does, and return the status."""

    async def posted(body: Any, *, path: str = PATH, secret: str | None = SECRET, method: str = "POST") -> int:
        headers = {b"X-Telegram-Bot-Api-Secret-Token": secret.encode()} if secret is not None else {}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with httpx.AsyncClient(trust_env=False, timeout=300) as client:
            answer = await client.request(method, f"http://127.0.0.1:{port}{path}", content=content, headers=headers)
        return answer.status_code

    return posted


def update(world: BotApi, text: str) -> dict[str, Any]:
    """Let Ann write; return the update, which nobody asks for."""
    world.says(ANN, text)
    return world.waiting[-1]


async def test_updates_are_posted(door: Open, world: BotApi, script: Script, hook: dict[str, str], post: Post) -> None:
    """The same inbox and order as with polling: a text behind a command, and the same update twice is one."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two", "Now then.", "Hello."])
    async with door(**hook):
        await world.until(lambda: world.chats.webhook)
        assert (world.chats.webhook, world.chats.secret) == (f"https://bot.example{PATH}", SECRET)
        assert await post(update(world, "count")) == 200
        await world.until(lambda: gate.holds)
        last = [update(world, "/go"), update(world, "say hello")]
        assert [await post(update) for update in (*last, *last)] == [200] * 4
        script.gates.clear()
        gate.set()
        assert await world.until_sent(ANN, 3) == ["One two", "Now then.", "Hello."]
    assert len(world.texts(ANN)) == 3
    assert world.chats.webhook == ""
    assert "getUpdates" not in world.methods()


async def test_nobody_else_is_heard(door: Open, world: BotApi, hook: dict[str, str], post: Post) -> None:
    """A wrong secret, another place, another method, too much, no JSON: refused before anything is stored."""
    async with door(Echo().models(ROLES), **hook) as telegram:
        message = update(world, "hello")
        wrong = [await post(message, secret=secret) for secret in (None, "", SECRET[:-1], f"{SECRET}x", "é")]
        assert wrong == [403] * 5
        assert await post(message, path="/") == 404
        assert await post(message, method="GET") == 405
        assert await post(b" " * 1_000_001) == 413
        assert [await post(body) for body in (b"{", b"\xff", b"[" * 100_000)] == [400, 400, 400]
        # What can never be read is not brought again for ever.
        assert [await post(body) for body in (b"[]", b"{}", b'{"update_id": 1, "message": 7}')] == [200, 200, 200]
        assert await telegram.updates.open(telegram.name) == []
        assert await post(message) == 200
        assert await world.until_sent(ANN, 1) == ["hello"]


async def test_what_a_connection_may_take_is_bounded(
    door: Open, world: BotApi, hook: dict[str, str], post: Post, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head without an end is refused; a client that sends nothing, or stops in a head or a body, is cut off."""
    monkeypatch.setattr("app.plugins.telegram.updates.webhook.MOST_REQUESTS", 4)
    async with door(Echo().models(ROLES), **hook):
        head = f"POST {PATH} HTTP/1.1\r\nhost: us\r\n{SECRET_HEADER}: {SECRET}\r\ncontent-length: 9\r\n"
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for (_, writer), sent in zip(silent, ("", head, f"{head}\r\n{{"), strict=True):
            writer.write(sent.encode())
        assert await post(update(world, "hello")) == 503
        advance(webhook.PATIENCE)
        assert [await reader.read() for reader, _ in silent] == [b"", b"", b""]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + b"x" * 20_000)
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()
        assert await post(world.waiting[-1]) == 200
        for _, writer in silent:
            writer.close()


async def test_what_is_not_stored_is_brought_again(
    door: Open, world: BotApi, hook: dict[str, str], post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telegram is told to come again, and a webhook that was changed elsewhere is set anew."""
    monkeypatch.setattr("app.plugins.telegram.updates.webhook.LOOK", 0.05)
    async with door(Echo().models(ROLES), **hook) as telegram:
        message, take = update(world, "hello"), telegram.updates.take
        monkeypatch.setattr(telegram.updates, "take", failing(take))
        assert await post(message) == 503
        assert await post(message) == 200
        assert await world.until_sent(ANN, 1) == ["hello"]
        world.chats.webhook = "https://elsewhere.example/"
        await world.until(lambda: world.chats.webhook == hook["telegram_webhook_url"])


async def test_what_a_killed_process_left_is_not_believed(
    door: Open, world: BotApi, hook: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address alone does not tell whether Telegram has our secret, and sends all kinds of updates."""
    monkeypatch.setattr("app.plugins.telegram.updates.webhook.LOOK", 0.05)
    world.chats.webhook, world.chats.secret = hook["telegram_webhook_url"], "a-secret-of-another"
    world.chats.wanted = ["message"]
    async with door(Echo().models(ROLES), **hook):
        await world.until(lambda: world.chats.secret == SECRET)
        assert "callback_query" in world.chats.wanted
        world.chats.wanted = ["message"]
        await world.until(lambda: "callback_query" in world.chats.wanted)


async def test_a_webhook_that_telegram_refuses_ends_the_bot(door: Open, world: BotApi, hook: dict[str, str]) -> None:
    """With Telegram's own sentence; an address without TLS is refused before."""
    world.fail("setWebhook", refusal(400, "Bad Request: bad webhook: Failed to resolve host"))
    async with door(Echo().models(ROLES), **hook) as telegram:
        why = "TELEGRAM_WEBHOOK_URL: Telegram refuses it: Bad webhook: failed to resolve host"
        assert await telegram.sender.bot.refused() == why
    with pytest.raises(ValidationError, match="https"):
        async with door(**{**hook, "telegram_webhook_url": "http://bot.example"}):
            pass
    with pytest.raises(ConfigError, match="TELEGRAM_WEBHOOK_LISTEN"):
        async with door(**{**hook, "telegram_webhook_listen": "127.0.0.1:99999"}):
            pass


async def test_path_and_secret_are_made(door: Open, world: BotApi, port: int, post: Post) -> None:
    """Of the token, which neither of them shows; a port that is taken is one line."""
    more = {"telegram_webhook_url": "https://bot.example", "telegram_webhook_listen": f"127.0.0.1:{port}"}
    async with door(Echo().models(ROLES), **more):
        await world.until(lambda: world.chats.webhook)
        path = world.chats.webhook.removeprefix("https://bot.example")
        assert path.startswith("/telegram-")
        assert len(world.chats.secret) == 64
        assert world.token not in path + world.chats.secret
        assert await post(update(world, "hello"), path=path, secret=world.chats.secret) == 200
        assert await world.until_sent(ANN, 1) == ["hello"]
        with pytest.raises(ConfigError, match="TELEGRAM_WEBHOOK_LISTEN"):
            async with door(Echo().models(ROLES), **more):
                pass


def failing(take: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails once, like a full disk."""
    calls: list[int] = []

    async def once(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise DatabaseError("disk full")
        return await take(*args)

    return once
