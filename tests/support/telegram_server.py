"""A small Bot API server on loopback: people write to a bot through it, and see the bot's messages.

It checks every request and every answer with the description of the Bot API; a forbidden one is a violation.
A refusal because of the state of a chat has Telegram's words.
"""

import asyncio
import copy
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from tests.support.telegram_chats import BOT, DATE, Draft, Json, Refused, TelegramChats, refusal
from tests.support.telegram_http import Reply, cut, listening
from tests.support.telegram_limits import request_faults, units
from tests.support.telegram_schema import answer_faults, described, value_faults
from tests.support.until import until

__all__ = ["BOT", "TOKEN", "BotApi", "refusal"]

TOKEN = "1234567:a-token-that-must-never-be-seen"
STEP = 0.005
MARKED = {"bot_command": r"(?<!\S)/[A-Za-z0-9_]{1,32}(@\w+)?", "mention": r"(?<![\w@.])@\w{2,32}\b"}
"""The marks that Telegram finds in a text, by the kind of entity."""


class Jobs(Protocol):
    """The jobs of a door."""

    @property
    def busy(self) -> int:
        """The number of chats with running or waiting jobs."""


class AnyDoor(Protocol):
    """A door, as far as one waits for it."""

    @property
    def chats(self) -> Jobs:
        """Its jobs."""


class BotApi:
    """The bot's world; a second bot has a server of its own."""

    def __init__(self, token: str = TOKEN, bot: Mapping[str, Any] = BOT) -> None:
        self.calls: list[tuple[str, Json]] = []
        self.refusals: list[tuple[str, Json, Reply]] = []
        """The calls that were refused."""
        self.violations: list[str] = []
        self.chats = TelegramChats(dict(bot))
        self.failures: dict[str, deque[Reply | None]] = {}
        """The next answers to a method, instead of its effect; None cuts the connection."""
        self.offset = 0
        """The bot has acknowledged all updates before this one."""
        self.issued = self.token = token
        """The token that the bot got, and the one that is valid now."""
        self.url = ""
        self._updates: list[Json] = []
        self._allowed = {"update_id", "message"}
        self._polls = 0
        self._numbers = self.chats.numbers

    @property
    def sent(self) -> list[Json]:
        """The bot's undeleted messages in their present form."""
        return self.chats.sent

    @property
    def waiting(self) -> list[Json]:
        """The updates that the bot wants and has not acknowledged."""
        return [update for update in self._updates if update.keys() <= self._allowed]

    @property
    def blocked(self) -> set[int]:
        """The users who have blocked the bot, and the groups that have thrown it out."""
        return self.chats.blocked

    @property
    def drafts(self) -> list[Draft]:
        """The drafts of answers, the one that changed last at the end."""
        return self.chats.drafts

    def says(
        self,
        chat: int,
        text: str = "",
        *,
        user: int | None = None,
        topic: int | None = None,
        answers: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Json:
        """Let a user write, in a topic, in answer to a message; return the message. A negative number is a group."""
        writer = {"id": user or abs(chat), "is_bot": False, "first_name": "Ann", **more.pop("writer", {})}
        if topic:
            self.chats.topics.setdefault(chat, set()).add(topic)
            more = {"message_thread_id": topic, "is_topic_message": True, **more}
        if answers:
            more["reply_to_message"] = {name: part for name, part in answers.items() if name != "reply_to_message"}
        place = {"message_id": next(self._numbers), "date": DATE, "chat": self.chats.chat(chat), "from": writer}
        message = {**place, **more, **_marked("text", text), **_marked("caption", more.get("caption", ""))}
        self.bring({"message": self.chats.keep(message)})
        return message

    def uploads(self, data: bytes, **more: Any) -> Json:
        """Let a user upload a file, and return it in the form of a message; `more` are the fields of its kind."""
        id = f"file-{next(self._numbers)}"
        self.chats.files[id] = data
        return {"file_id": id, "file_unique_id": id, "file_size": len(data), **more}

    def edits(self, message: Json, text: str) -> Json:
        """Let the writer of a message change it."""
        message.pop("entities", None)
        message.update(_marked("text", text), edit_date=DATE + next(self._numbers))
        self.bring({"edited_message": message})
        return message

    def taps(self, message: Mapping[str, Any], label: str, *, user: int | None = None) -> str:
        """Let a user, in a private chat its own, tap a button that is or was there; return the tap's id."""
        markup = message.get("reply_markup") or self.chats.keyboards[message["chat"]["id"], message["message_id"]]
        buttons = [button for row in markup["inline_keyboard"] for button in row]
        data = next(button["callback_data"] for button in buttons if button["text"] == label)
        writer = {"id": user or message["chat"]["id"], "is_bot": False, "first_name": "Ann"}
        number = str(next(self._numbers))
        self.chats.queries.add(number)
        query = {"id": number, "from": writer, "chat_instance": "1", "data": data, "message": dict(message)}
        self.bring({"callback_query": query})
        return number

    def stops(self, draft: Draft) -> None:
        """Let the user of a draft press its stop button."""
        assert draft.can_stop, "Telegram shows no button to stop this draft"
        topic = {"message_thread_id": draft.topic} if draft.topic else {}
        stopped = {"chat": self.chats.chat(draft.chat), "draft_id": draft.draft_id, **topic}
        self.bring({"stopped_message_generation": stopped})

    def reacts(self, message: Mapping[str, Any], emoji: str, *, user: int | None = None) -> None:
        """Let a user react to a message, or take the reaction back (an empty emoji)."""
        new = [{"type": "emoji", "emoji": emoji}] if emoji else []
        writer = {"id": user or abs(message["chat"]["id"]), "is_bot": False, "first_name": "Ann"}
        place = {
            "chat": message["chat"],
            "message_id": message["message_id"],
            "user": writer,
            "date": DATE + next(self._numbers),
        }
        self.bring({"message_reaction": {**place, "old_reaction": [], "new_reaction": new}})

    def admits(self, chat: int, status: str = "member", before: str = "left", *, user: int, lang: str = "") -> None:
        """Let a user, with a language, change the bot's status in a chat: "member", "administrator", "kicked" …"""
        writer = {"id": user, "is_bot": False, "first_name": "Ann", **({"language_code": lang} if lang else {})}
        old, new = self.chats.member(before), self.chats.member(status)
        place = {"chat": self.chats.chat(chat), "from": writer, "date": DATE + next(self._numbers)}
        self.bring({"my_chat_member": {**place, "old_chat_member": old, "new_chat_member": new}})

    def migrates(self, chat: int, new: int) -> None:
        """Make a group a supergroup; Telegram tells it in both."""
        self.says(chat, migrate_to_chat_id=new)
        self.chats.moved[chat] = new
        self.says(new, migrate_from_chat_id=chat)

    def bring(self, update: Mapping[str, Any], *, is_valid: bool = True) -> None:
        """Deliver an update."""
        numbered = {"update_id": next(self._numbers), **update}
        if is_valid:
            self.violations += value_faults("update", numbered, ["Update"] if "Update" in described()["types"] else [])
        # A later change in the chat does not change the update.
        self._updates.append(copy.deepcopy(numbered))

    def texts(self, chat: int, topic: int | None = None) -> list[str]:
        """Return the bot's texts in the chat, or in one topic of it; of a document its name."""
        mine = [message for message in self.sent if message["chat"]["id"] == chat]
        if topic is not None:
            mine = [message for message in mine if message.get("message_thread_id") == topic]
        return [_shown(message) for message in mine]

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait for something to become true."""
        await until(is_so)

    async def until_sent(self, chat: int, number: int, door: AnyDoor | None = None) -> list[str]:
        """Wait until the chat has so many messages, and a door has nothing more to do; return the messages' texts."""
        with suppress(TimeoutError):
            await self.until(lambda: len(self.texts(chat)) >= number)
        if door:
            await self.until(lambda: not door.chats.busy)
        return self.texts(chat)

    async def asks(
        self, chat: int, text: str = "", *, sent: int, door: AnyDoor | None = None, **more: Any
    ) -> list[str]:
        """Let a user write, and wait as `until_sent` does; return the texts of the chat's messages."""
        self.says(chat, text, **more)
        return await self.until_sent(chat, sent, door)

    async def presses(
        self, message: Mapping[str, Any], label: str, *, sent: int, door: AnyDoor | None = None, **more: Any
    ) -> list[str]:
        """Let a user tap a button, and wait as `until_sent` does; return the texts of its chat's messages."""
        self.taps(message, label, **more)
        return await self.until_sent(message["chat"]["id"], sent, door)

    def fail(self, method: str, reply: Reply | None) -> None:
        """Let a coming call of a method, or a download ("files"), fail, once; None cuts the connection."""
        self.failures.setdefault(method, deque()).append(reply)

    def methods(self) -> list[str]:
        """Return the names of the called methods."""
        return [method for method, _ in self.calls]

    def toasts(self) -> list[str]:
        """Return the texts that answered taps."""
        return [call["text"] for method, call in self.calls if method == "answerCallbackQuery" and "text" in call]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on a free port during the block; a violation of the Bot API fails at its end."""
        async with listening(self._answer) as self.url:
            yield
        assert not self.violations, "\n".join(self.violations)

    async def _answer(self, token: str, method: str, sent: Json) -> Reply:
        if token != self.token:
            return refusal(401, "Unauthorized")
        if method.startswith("files/"):
            return self._file(method.removeprefix("files/"))
        self.calls.append((method, sent))
        self.violations += request_faults(method, sent)
        reply = await self._reply(method, sent)
        if reply[0] != 200:
            self.refusals.append((method, sent, reply))
        return reply

    def _file(self, id: str) -> Reply:
        if waiting := self.failures.get("files"):
            return waiting.popleft() or cut()
        return (200, self.chats.files[id]) if id in self.chats.files else refusal(404, "Not Found")

    async def _reply(self, method: str, sent: Json) -> Reply:
        if waiting := self.failures.get(method):
            return waiting.popleft() or cut()
        try:
            if method == "getUpdates" and self.chats.webhook:
                return refusal(409, "Conflict: can't use getUpdates method while webhook is active")
            result = await self._updates_for(sent) if method == "getUpdates" else self.chats.do(method, sent)
        except Refused as refused:
            return refused.reply
        self.violations += answer_faults(method, result) if method != "getUpdates" else []
        return 200, {"ok": True, "result": result}

    async def _updates_for(self, sent: Json) -> list[Json]:
        self.offset = max(self.offset, sent.get("offset") or 0)
        self._updates = [update for update in self._updates if update["update_id"] >= self.offset]
        self._allowed = {"update_id", *sent.get("allowed_updates", ["message"])}
        self._polls += 1
        poll = self._polls
        for _ in range(round((sent.get("timeout") or 0) / STEP)):
            if self.waiting or self._polls > poll:
                break
            await asyncio.sleep(STEP)
        if self._polls > poll:
            # The asking process is gone, or the other one gets the conflict.
            cut()
        return self.waiting[:100]


def _marked(name: str, text: str) -> Json:
    """Return a text with Telegram's entities of it."""
    if not text:
        return {}
    entities = [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for kind, pattern in MARKED.items()
        for match in re.finditer(pattern, text)
    ]
    mark = "entities" if name == "text" else "caption_entities"
    return {name: text, **({mark: entities} if entities else {})}


def _shown(message: Mapping[str, Any]) -> str:
    if "document" in message:
        return str(message["document"]["file_name"])
    return str(message.get("text") or message.get("caption") or "[photo]")
