"""A small Bot API server on loopback: people write to a bot through it, and see what the bot sends.

Every request and every answer is held against the description of the Bot API; what it forbids is a violation.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from tests.support.telegram_http import Reply, listening
from tests.support.telegram_limits import answer_faults, described, request_faults, value_faults

TOKEN = "1234567:a-token-that-must-never-be-seen"
BOT = {"id": 1234567, "is_bot": True, "first_name": "Sue", "username": "sue_bot"}
STEP = 0.005


class BotApi:
    """The world as the bot sees it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.sent: list[dict[str, Any]] = []
        self.violations: list[str] = []
        self.blocked: set[int] = set()
        self.failures: dict[str, deque[Reply]] = {}
        """The next answers to a method, instead of what it does."""
        self.offset = 0
        """What the bot has acknowledged: all updates before this one."""
        self.token = TOKEN
        self.url = ""
        self._updates: list[dict[str, Any]] = []
        self._numbers = count(1)

    def says(self, chat: int, text: str = "", *, user: int | None = None, **more: Any) -> dict[str, Any]:
        """Let a user write; return the message. A chat with a negative number is a group."""
        number = next(self._numbers)
        writer = {"id": user or abs(chat), "is_bot": False, "first_name": "Ann", **more.pop("writer", {})}
        kind = {"type": "private", "first_name": "Ann"} if chat > 0 else {"type": "supergroup", "title": "All"}
        message = {"message_id": number, "date": 1_790_000_000, "chat": {"id": chat, **kind}, "from": writer, **more}
        if text:
            message["text"] = text
        self.bring({"message": message})
        return message

    def taps(self, message: Mapping[str, Any], label: str, *, user: int | None = None) -> None:
        """Let a user, in a private chat its own, tap a button."""
        buttons = [button for row in message["reply_markup"]["inline_keyboard"] for button in row]
        data = next(button["callback_data"] for button in buttons if button["text"] == label)
        writer = {"id": user or message["chat"]["id"], "is_bot": False, "first_name": "Ann"}
        number = str(next(self._numbers))
        query = {"id": number, "from": writer, "chat_instance": "1", "data": data, "message": dict(message)}
        self.bring({"callback_query": query})

    def bring(self, update: Mapping[str, Any], *, is_valid: bool = True) -> None:
        """Put an update on its way."""
        numbered = {"update_id": next(self._numbers), **update}
        if is_valid:
            self.violations += value_faults("update", numbered, ["Update"] if "Update" in described()["types"] else [])
        self._updates.append(numbered)

    def texts(self, chat: int) -> list[str]:
        """Return what the chat was sent; a document as its name."""
        mine = [message for message in self.sent if message["chat"]["id"] == chat]
        return [message.get("text") or message["document"]["file_name"] for message in mine]

    async def until(self, is_so: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait for something to become true."""
        for _ in range(round(seconds / STEP) + 1):
            if is_so():
                return
            await asyncio.sleep(STEP)
        raise TimeoutError("what the test waits for did not happen")

    async def until_sent(self, chat: int, number: int) -> list[str]:
        """Wait until the chat was sent so many messages, and return their texts."""
        with suppress(TimeoutError):
            await self.until(lambda: len(self.texts(chat)) >= number)
        return self.texts(chat)

    def fail(self, method: str, reply: Reply) -> None:
        """Let a coming call of a method fail, once."""
        self.failures.setdefault(method, deque()).append(reply)

    def methods(self) -> list[str]:
        """Return the methods that were called."""
        return [method for method, _ in self.calls]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on a free port during the block."""
        async with listening(self._answer) as self.url:
            yield

    async def _answer(self, token: str, method: str, sent: dict[str, Any]) -> Reply:
        if token != self.token:
            return refusal(401, "Unauthorized")
        self.calls.append((method, sent))
        self.violations += request_faults(method, sent)
        if waiting := self.failures.get(method):
            return waiting.popleft()
        if sent.get("chat_id") in self.blocked:
            return refusal(403, "Forbidden: bot was blocked by the user")
        result = await self._updates_for(sent) if method == "getUpdates" else self._do(method, sent)
        self.violations += answer_faults(method, result) if method != "getUpdates" else []
        return 200, {"ok": True, "result": result}

    def _do(self, method: str, sent: dict[str, Any]) -> Any:
        if method == "getMe":
            return BOT
        if method not in ("sendMessage", "sendDocument", "editMessageReplyMarkup"):
            return True
        is_private = sent["chat_id"] > 0
        kind = {"type": "private", "first_name": "Ann"} if is_private else {"type": "supergroup", "title": "All"}
        chat = {"id": sent["chat_id"], **kind}
        shown: dict[str, Any] = {name: sent[name] for name in ("text", "entities", "reply_markup") if name in sent}
        if "inline_keyboard" not in shown.get("reply_markup", {}):
            # Buttons below the chat are no part of the message.
            shown.pop("reply_markup", None)
        if "document" in sent:
            shown["document"] = {"file_id": "1", "file_unique_id": "1", "file_name": sent["document"].name}
        message = {"message_id": next(self._numbers), "date": 1_790_000_000, "chat": chat, "from": BOT, **shown}
        if method != "editMessageReplyMarkup":
            self.sent.append(message)
        return message

    async def _updates_for(self, sent: dict[str, Any]) -> list[dict[str, Any]]:
        self.offset = max(self.offset, sent.get("offset") or 0)
        self._updates = [update for update in self._updates if update["update_id"] >= self.offset]
        allowed = {"update_id", *sent.get("allowed_updates", ["message"])}

        def ready() -> list[dict[str, Any]]:
            return [update for update in self._updates if update.keys() <= allowed]

        with suppress(TimeoutError):
            await self.until(ready, sent.get("timeout") or 0)
        return ready()[:100]


def refusal(status: int, description: str, **parameters: int) -> Reply:
    """Return a failure as Telegram words it."""
    more = {"parameters": parameters} if parameters else {}
    return status, {"ok": False, "error_code": status, "description": description, **more}
