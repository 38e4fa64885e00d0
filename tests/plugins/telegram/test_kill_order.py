"""The bot is killed while texts and commands come: each is done once, in the order in which it was sent."""

import asyncio
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.memory.inbox import InboxEntry, TranscriptLine
from app.assistant import Assistant
from app.plugins.telegram.delivery.pages import pages
from app.plugins.telegram.place import ThreadNames
from app.testing.script import Script
from prompts import sentence
from tests.plugins.telegram.busy_chats import GROUP, PEOPLE, Message, Person, asker
from tests.plugins.telegram.kills import Kills
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_server import BotApi

SEED = int(os.environ.get("BOT_SEED", "14"))
KILLS, EACH = 8, 10
"""The number of kills, and of updates of each of six people: 60 in all."""
ADMIN = next(person.user for person in PEOPLE if person.chat == GROUP)
COMMANDS = ("/go", "/undo", "/new")
STOPPED = sentence("telegram/phrases", "stopped", "en")
GREETED = "(speaks)"
"""The sign of a turn without a user's message."""


@dataclass
class MixedChats:
    """People who send texts and commands that begin turns, one behind the other."""

    world: BotApi
    chance: random.Random
    sent: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """By thread and user what each message comes to, in order."""
    conversations: dict[int, int] = field(default_factory=dict)
    """By chat the number of the conversation that it holds."""
    number: int = 0

    def doings(self, each: int) -> list[Callable[[], None]]:
        """Return everybody's actions, so many updates each, in random order."""
        people = [person for person in PEOPLE for _ in range(each)]
        self.chance.shuffle(people)
        return [lambda person=person: self._do(person) for person in people]  # type: ignore[misc]

    def do_what_is_left(self) -> None:
        """Nothing is left."""

    def person(self, message: Message) -> int | None:
        """Return the user whose message a message answers: no answer here is longer than a message."""
        return asker(message)

    def _do(self, person: Person) -> None:
        command = self.chance.choice(COMMANDS) if self.chance.random() < 0.4 else ""
        if command == "/new" and person.user not in (ADMIN, person.chat):
            command = ""
        if command:
            self.world.says(person.chat, f"{command}@sue_bot", user=person.user)
        else:
            self.number += 1
            self.world.says(person.chat, f"{person.address}w{self.number:04}", user=person.user)
        if command == "/new":
            self.conversations[person.chat] = self.conversations.get(person.chat, 1) + 1
        says = {"/go": GREETED, "/new": GREETED, "/undo": "undo", "": f"w{self.number:04}"}[command]
        names = ThreadNames(held={f"telegram-{person.chat}": self.conversations.get(person.chat, 1)})
        self.sent.setdefault((names.thread(person.chat), person.user), []).append(says)


async def check(kills: Kills, chats: MixedChats, assistant: Assistant) -> None:
    """Hold what was done and shown against what was sent."""
    stored: dict[tuple[int, int], list[str]] = {}
    for (thread, user), sent in chats.sent.items():
        lines = await assistant.history(thread)
        entries = await entries_of(assistant, thread, user, lines)
        assert all(entry.status in ("done", "interrupted") for entry in entries), entries
        done = [word for entry in entries for word in (GREETED if entry.text is None else entry.text).split()]
        assert done == sent, f"{thread} {user}"
        own = {entry.message_id for entry in entries}
        place = ThreadNames().place(thread)
        assert place
        answers = [line.text for line in lines if line.role == "assistant" and line.message_id in own]
        stored.setdefault((place.chat, user), []).extend(page.text for text in answers for page in pages(text))
    for (chat, user), texts in stored.items():
        to_user = [it for it in kills.world.sent if it["chat"]["id"] == chat and it["text"] != STOPPED]
        kills.compare([message for message in to_user if chat > 0 or asker(message) == user], texts)


async def entries_of(assistant: Assistant, thread: str, user: int, lines: list[TranscriptLine]) -> list[InboxEntry]:
    """Return a user's messages in a thread, in the order in which they were answered."""
    ids = dict.fromkeys(line.message_id for line in lines)
    # A turn that was stopped before its first word has no line.
    ids |= dict.fromkeys(id for id, _, _ in await assistant.memory.transcript.records(thread))
    entries = [entry for id in ids if (entry := await assistant.message(thread, id))]
    own = [entry for entry in entries if entry.user == f"telegram-{user}"]
    return sorted(own, key=lambda entry: entry.turn)


@pytest.mark.slow
async def test_texts_and_commands_keep_their_order(tmp_path: Path) -> None:
    """Private chats in every busy mode and a group, eight kills: nothing is lost, done twice or out of order."""
    chance, world = random.Random(SEED), BotApi()
    world.chats.admins[GROUP] = [ADMIN]
    chats = MixedChats(world, chance)
    kills = Kills(world, tmp_path / "bot.db", chats, chance)
    begun = asyncio.get_running_loop().time()
    async with world.serving():
        await kills.run(KILLS, EACH)
    async with stage(kills.path, Script().models(ROLES)) as assistant:
        await check(kills, chats, assistant)
    seconds = asyncio.get_running_loop().time() - begun
    sys.stdout.write(f"{KILLS} kills, {len(PEOPLE) * EACH} updates, {kills.twice} shown twice, {seconds:.0f} s\n")
