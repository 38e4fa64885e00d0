"""Six people who bring a bot every kind of update, and the results that must follow."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prompts import sentence
from tests.support.killable_door import LONG, WORD
from tests.support.telegram_server import BotApi

GROUP, TOPIC = -100777, 5
KINDS = (
    ("text", 7),
    ("long_text", 2),
    ("command", 2),
    ("forget", 1),
    ("tap", 1),
    ("voice", 1),
    ("photo", 1),
    ("edit", 2),
    ("reaction", 2),
    ("membership", 1),
)
"""The kinds of updates that each person brings, and how often in twenty updates."""
NO, ANEW = sentence("telegram/phrases", "no", "en"), sentence("telegram/phrases", "anew", "en")
VOICE = {"file_id": "1", "file_unique_id": "1", "duration": 3}
PHOTO: list[dict[str, Any]] = [{"file_id": "2", "file_unique_id": "2", "width": 1, "height": 1}]
PIXEL = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"

Message = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """Somebody who writes in a chat; `busy` is what a new message does to the answer before it."""

    user: int
    busy: str
    chat: int

    @property
    def address(self) -> str:
        """The beginning of a text for the bot."""
        return "@sue_bot " if self.chat < 0 else ""


PEOPLE = (
    Person(11, "interrupt", 11),
    Person(22, "interrupt", 22),
    Person(33, "queue", 33),
    Person(44, "steer", 44),
    Person(55, "interrupt", GROUP),
    Person(66, "queue", GROUP),
)


@dataclass
class Edit:
    """A message that was changed: its former word, and its present one."""

    message: Message
    old: str
    new: str
    is_anew: bool = False
    """Whether its writer asked for a new answer."""


@dataclass
class BusyChats:
    """People's actions in busy chats."""

    world: BotApi
    chance: random.Random
    words: list[str] = field(default_factory=list)
    """The words that must stand once in the lines of a user."""
    commands: list[tuple[int, str]] = field(default_factory=list)
    """The words that must stand once in an answer, by chat."""
    greetings: int = 0
    """The number of groups that the bot has to greet."""
    voices: Counter[int] = field(default_factory=Counter)
    """The number of messages that nobody can read, by chat."""
    edits: list[Edit] = field(default_factory=list)
    tapped: set[int] = field(default_factory=set)
    authors: dict[str, int] = field(default_factory=dict)
    """The writer of each word."""
    number: int = 0
    _texts: list[tuple[Person, Message, str]] = field(default_factory=list)
    """The texts that can still be changed."""

    def __post_init__(self) -> None:
        """Put the photo where the bot can fetch it."""
        self.world.chats.files[PHOTO[0]["file_id"]] = PIXEL

    def doings(self, each: int) -> list[Callable[[], None]]:
        """Return everybody's updates, so many for each, in random order."""
        names = [name for name, times in KINDS for _ in range(times)]
        doings: list[Callable[[], None]] = []
        for first in range(0, each, len(names)):
            most = min(each - first, len(names))
            part = [self._doing(name, person) for person in PEOPLE for name in self.chance.sample(names, most)]
            self.chance.shuffle(part)
            doings += part
        return doings

    def do_what_is_left(self) -> None:
        """Let everybody tap "No" whose question about deleting all is still open."""
        while question := self._question(NO):
            self._tap(question, NO)

    def person(self, message: Message) -> int | None:
        """Return the user whose word a message repeats, or to whose message it is an answer.

        Of an answer of several messages only the first one shows what it answers.
        """
        word = WORD.search(message["text"])
        return self.authors[word[0]] if word else asker(message)

    def _doing(self, name: str, person: Person) -> Callable[[], None]:
        doing: Callable[[Person], None] = getattr(self, f"_do_{name}")
        return lambda: doing(person)

    def _do_text(self, person: Person) -> None:
        word = self._word(person)
        self._texts.append((person, self._write(person, word), word))

    def _do_long_text(self, person: Person) -> None:
        self._write(person, f"{self._word(person)} {LONG}")

    def _do_photo(self, person: Person) -> None:
        self.world.says(person.chat, user=person.user, photo=PHOTO, caption=f"{person.address}{self._word(person)}")

    def _do_voice(self, person: Person) -> None:
        if person.chat < 0:
            # In a group a voice message addresses nobody.
            self._do_text(person)
            return
        self.voices[person.chat] += 1
        self.world.says(person.chat, voice=VOICE, user=person.user)

    def _do_command(self, person: Person) -> None:
        self.number += 1
        name = "go" + "".join("abcdefghij"[int(digit)] for digit in f"{self.number:04}")
        self.commands.append((person.chat, name))
        self.world.says(person.chat, f"/{name}@sue_bot", user=person.user)

    def _do_forget(self, person: Person) -> None:
        self.world.says(person.chat, "/forget@sue_bot", user=person.user)

    def _do_tap(self, person: Person) -> None:
        if question := self._question(NO) or self._question(ANEW):
            self._tap(question, NO if _label(question) == NO else ANEW)
        else:
            self._do_text(person)

    def _do_edit(self, person: Person) -> None:
        own = [text for text in self._texts if text[0] == person]
        if not own:
            self._do_text(person)
            return
        text = self.chance.choice(own)
        self._texts.remove(text)
        self.number += 1
        edit = Edit(text[1], text[2], f"w{self.number:04}")
        self.authors[edit.new] = person.user
        self.edits.append(edit)
        self.words.remove(edit.old)
        self.world.edits(text[1], f"{person.address}{edit.new}")

    def _do_reaction(self, person: Person) -> None:
        shown = [message for message in self.world.sent if message["chat"]["id"] == person.chat]
        if shown:
            self.world.reacts(self.chance.choice(shown), self.chance.choice("👍👎"), user=person.user)
        else:
            self._do_text(person)

    def _do_membership(self, person: Person) -> None:
        self.greetings += person.chat < 0
        self.world.admits(person.chat, "member", "kicked" if person.chat > 0 else "left", user=person.user)

    def _write(self, person: Person, text: str) -> Message:
        topic = self.chance.choice([None, TOPIC]) if person.chat < 0 else None
        return self.world.says(person.chat, f"{person.address}{text}", user=person.user, topic=topic)

    def _word(self, person: Person) -> str:
        self.number += 1
        self.words.append(word := f"w{self.number:04}")
        self.authors[word] = person.user
        return word

    def _question(self, label: str) -> Message | None:
        """Return a message with a button that nobody has tapped."""
        asking = (message for message in self.world.sent if message["message_id"] not in self.tapped)
        return next((message for message in asking if _label(message) == label), None)

    def _tap(self, message: Message, label: str) -> None:
        self.tapped.add(message["message_id"])
        asked = message.get("reply_to_message", {})
        self.world.taps(message, label, user=asked.get("from", {}).get("id"))
        if label == ANEW:
            edit = next(edit for edit in self.edits if edit.message["message_id"] == asked["message_id"])
            edit.is_anew = True


def asker(message: Message) -> int | None:
    """Return the user whose message this one answers; None if it answers no message."""
    user: int | None = message.get("reply_to_message", {}).get("from", {}).get("id")
    return user


def _label(message: Message) -> str:
    """Return the label of a message's last button."""
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return str(rows[-1][-1]["text"]) if rows else ""
