"""The place of a Telegram message, the names of its thread and user, and the conversations of a chat."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from telegram import ReplyParameters

from agents.memory import Memory
from agents.memory.store import Store
from agents.state.person import Quoted
from app.assistant import Turn

DOOR = "telegram"
MOST_CHATS = 100_000
"""The most chats with more than one conversation that are read at the start."""
CONVERSATIONS = "conversations"
PREFIX = f"{DOOR}-"
"""The beginning of the names of Telegram's users, and of the threads of the database's first bot."""
ANONYMOUS = f"{PREFIX}anonymous"
"""The beginning of the names for the anonymous administrators of a group."""


@dataclass(frozen=True)
class TelegramPlace:
    """The place of a message: its chat, its number, and its writer."""

    chat: int
    message: int = 0
    """The number of the answered message, or 0."""
    user: str | None = None
    """The id of the message's writer; None if the thread is named after its only user."""
    lang: str | None = None
    """The language of the user's Telegram, if it is one of ours."""
    name: str = ""
    topic: int | None = None
    thread: str = ""
    """The thread; left out, it is named after the chat."""
    prefix: str = PREFIX
    """The beginning of the ids of the bot's messages."""
    sent: float = 0.0
    """The time when Telegram took the message from its writer, as Unix time."""
    late: float = 0.0
    """The delay in seconds until the message arrived here."""
    edition: str = ""
    """The suffix of the id of a changed message that is answered anew."""
    refers: bool = False
    """Whether the answer refers to the message in a private chat as well."""

    def __post_init__(self) -> None:
        if not self.thread:
            object.__setattr__(self, "thread", f"{PREFIX}{self.chat}")

    @property
    def is_group(self) -> bool:
        """Whether others read along; Telegram gives private chats the positive numbers."""
        return self.chat < 0

    @property
    def owner(self) -> str:
        """The user who wrote the message."""
        return self.user or self.thread

    @property
    def queue(self) -> int | str:
        """The name of the queue: all requests of a person in one chat or topic are done in order."""
        place = self.chat if self.topic is None else f"{self.chat}:{self.topic}"
        return f"{place} {self.owner}" if self.is_group else place

    @property
    def is_anonymous(self) -> bool:
        """Whether an administrator wrote the message in the name of the group."""
        return self.owner.startswith(ANONYMOUS)

    def address(self, *, replies: bool = True) -> dict[str, Any]:
        """Return the address for Telegram's methods; in a group, an answer refers to the asker's message."""
        place: dict[str, object] = {"message_thread_id": self.topic} if self.topic else {}
        if replies and (self.is_group or self.refers) and self.message:
            place["reply_parameters"] = ReplyParameters(self.message, allow_sending_without_reply=True)
        return place

    def at(self, thread: str | None) -> Self:
        """Return the place in another conversation of the chat; None changes nothing."""
        if thread is None:
            return self
        return replace(self, thread=thread, user=None if thread == self.owner else self.owner)

    def turn(self, text: str | None, *, id: str = "", source: str = "message", quoted: Sequence[Quoted] = ()) -> Turn:
        """Return a turn of this message's user; its id is that of the message unless another one is given."""
        return Turn(
            thread=self.thread,
            text=text,
            user=self.user,
            id=id or f"{self.prefix}{self.chat}-{self.message}{self.edition}",
            source=source,
            device=DOOR,
            is_group=self.is_group,
            name=self.name,
            quoted=quoted,
        )


@dataclass
class ThreadNames:
    """The names of a bot's threads, from chat and topic. A second bot on one database puts its own number first."""

    prefix: str = PREFIX
    bot: int = 0
    moved: dict[int, int] = field(default_factory=dict)
    """The number of the former group of each supergroup, whose thread keeps that name."""
    held: dict[str, int] = field(default_factory=dict)
    """The number of a chat's present conversation, if it is not the first one, by the first one's name."""

    def base(self, chat: int, topic: int | None = None) -> str:
        """Return the name of the thread of a chat's first conversation."""
        return f"{self.prefix}{self.moved.get(chat, chat)}" + (f":{topic}" if topic else "")

    def thread(self, chat: int, topic: int | None = None) -> str:
        """Return the name of the thread of a chat's present conversation."""
        number = self.held.get(base := self.base(chat, topic), 1)
        return base if number == 1 else f"{base}~{number}"

    def number(self, thread: str, chat: int, topic: int | None = None) -> str:
        """Return the number of a conversation of a chat; empty for a thread of another chat."""
        base, _, number = thread.partition("~")
        return (number or "1") if base == self.base(chat, topic) else ""

    def place(self, thread: str) -> TelegramPlace | None:
        """Return the place of a thread; None for a thread of another bot or door."""
        named = re.fullmatch(rf"{re.escape(self.prefix)}(-?\d+)(?::(\d+))?(?:~\d+)?", thread)
        if named is None:
            return None
        topic = int(named[2]) if named[2] else None
        return TelegramPlace(self.now(int(named[1])), topic=topic, thread=thread, prefix=self.prefix)

    def now(self, chat: int) -> int:
        """Return the present number of a chat."""
        return next((new for new, named in self.moved.items() if chat in (named, new)), chat)

    def move(self, old: int, new: int) -> None:
        """Note that a group has become a supergroup."""
        if new not in self.moved:
            self.moved[new] = self.moved.pop(old, old)


def chat_of(user: str) -> int | None:
    """Return the private chat of a user; None for a user of another door."""
    number = user.removeprefix(PREFIX)
    return int(number) if number != user and number.isdecimal() else None


def door_of(bot: int) -> str:
    """Return the name of a bot for the rows of its updates."""
    return f"{DOOR} {bot}"


async def read_names(memory: Memory, bot: int) -> ThreadNames:
    """Return the names of a bot's threads, and note that the bot uses the database."""
    is_first = await memory.updates.enter(door_of(bot))
    item = await memory.store.aget((DOOR, str(bot)), "moved")
    moved = {int(new): old for new, old in item.value["chats"].items()} if item else {}
    held = await memory.store.asearch((DOOR, str(bot), CONVERSATIONS), limit=MOST_CHATS)
    numbers = {item.key: int(item.value["now"]) for item in held}
    return ThreadNames(PREFIX if is_first else f"{DOOR}@{bot}-", bot, moved, numbers)


async def move(store: Store, names: ThreadNames, old: int, new: int) -> None:
    """Keep the threads of a group that has become a supergroup."""
    names.move(old, new)
    chats = {str(present): named for present, named in names.moved.items()}
    await store.aput((DOOR, str(names.bot)), "moved", {"chats": chats})


async def go_to_conversation(
    store: Store, names: ThreadNames, place: TelegramPlace, number: str, row: int
) -> TelegramPlace:
    """Switch a chat to the conversation of that number, or to a new one; return its place.

    `row` is the row of the update with the command: the same row again changes nothing.
    """
    kept_at, base = (DOOR, str(names.bot), CONVERSATIONS), names.base(place.chat, place.topic)
    item = await store.aget(kept_at, base)
    value = item.value if item else {"now": 1, "last": 1, "row": 0}
    if value["row"] != row:
        is_there = number.isdecimal() and 1 <= int(number[:9]) <= value["last"]
        now = int(number) if is_there else value["last"] + 1
        value = {"now": now, "last": max(now, value["last"]), "row": row}
        await store.aput(kept_at, base, value)
    names.held[base] = value["now"]
    return place.at(names.thread(place.chat, place.topic))
