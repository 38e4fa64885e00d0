"""Tables of people's texts for `local:rules`, and a conversation on the real graph that shows each text's writes.

A table is a text file. A line is a text, or a text and its writes: `add tea => to-do + tea`; `;` separates several.
A line `## a | b` has the user's first messages in the rows below it.

"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents.events import Message
from agents.language.schedule import Moment
from agents.memory.sqlite_file import SqliteBackend
from agents.memory.store import namespace_of
from agents.models import Models
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import open_services, tables_of
from app.composition.help_chain import make_help
from app.settings import Settings
from prompts import languages
from tests.support.compiled import built_once, discovered, specialists
from tests.support.rules import rules
from tests.support.settings_cache import without_file

Reminders = pytest.importorskip("dialogs.planner.store").Reminders

TABLES = Path(__file__).parents[1] / "standin"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""A Friday at noon."""
SIDE_BY_SIDE = 6
"""The number of conversations at the same time."""
TODOS = {"en": ("milk", "bread", "eggs"), "ru": ("молоко", "хлеб", "яйца"), "zh": ("牛奶", "面包", "鸡蛋")}
REMINDERS = {"en": ("dentist", "call mom"), "ru": ("стоматолог", "позвонить маме"), "zh": ("看牙医", "给妈妈打电话")}
TIMES = (datetime(2026, 11, 27, 10, tzinfo=UTC), datetime(2026, 11, 21, 19, tzinfo=UTC))


@dataclass(frozen=True)
class Row:
    """A text of a table, the messages before it, and its writes."""

    text: str
    before: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The writes of a text, and the answer."""

    row: Row
    wrote: tuple[str, ...]
    reply: str

    @property
    def is_wrong(self) -> bool:
        """Whether the text has writes that the row does not name."""
        return bool(set(self.wrote) - set(self.row.writes))

    @property
    def is_right(self) -> bool:
        """Whether the text has exactly the writes of the row."""
        return sorted(self.wrote) == sorted(self.row.writes)


def rows(table: str, lang: str, folder: Path = TABLES) -> list[Row]:
    """Return the rows of a table."""
    before: tuple[str, ...] = ()
    table_rows: list[Row] = []
    for line in (folder / lang / f"{table}.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            before = tuple(text.strip() for text in line[3:].split("|"))
        elif line.strip():
            text, _, writes = line.partition("=>")
            table_rows.append(
                Row(text.strip(), before, tuple(write.strip() for write in writes.split(";") if write.strip()))
            )
    return table_rows


class Standin:
    """An assistant with the model `local:rules`; every text has a user of its own, with to-dos and reminders.

    Time stands still at `NOW`, in UTC.
    """

    def __init__(self, assistant: Assistant, by_model: Assistant) -> None:
        self.assistant, self._by_model, self._users = assistant, by_model, 0

    async def outcome(self, row: Row, lang: str, say: Callable[[str, str], Awaitable[str]] | None = None) -> Outcome:
        """Say a row's text to an assistant that has heard the words before it; `say` says it in another way."""
        self._users += 1
        user = f"user{self._users}"
        await self.prepare(user, lang)
        for text in row.before:
            await self.say(user, text, lang)
        stored = await self.stored(user)
        reply = await (say(user, row.text) if say else self.say(user, row.text, lang))
        return Outcome(row, tuple(changes(stored, await self.stored(user))), reply)

    async def say(self, user: str, text: str, lang: str, *, by_model: bool = False) -> str:
        """Say a text, to `local:rules` or to the other model; return the answer."""
        assistant = self._by_model if by_model else self.assistant
        events = [event async for event in assistant.play(Turn(thread=user, text=text, lang=lang))]
        return "\n".join(event.text for event in events if isinstance(event, Message))

    async def asked(self, user: str) -> str:
        """Return the kind of the open question of a tool; empty without one."""
        state = await self.assistant.state(user) or {}
        return next((str(question["kind"]) for question in state.get("pending", ())), "")

    async def numbers(self, user: str) -> dict[str, int]:
        """Return the number of each to-do and reminder by kind and text; for equal texts that of the last."""
        memory = self.assistant.memory
        todos = await memory.store.asearch(namespace_of(user, "todos"), limit=1000)
        done = {item.value["number"]: f"{item.value['text']}{' (done)' * item.value['done']}" for item in todos}
        numbers = {f"to-do {text}": number for number, text in sorted(done.items())}
        return numbers | {
            f"reminder {it.text}": it.number for it in await self.assistant.services.get(Reminders).live(user)
        }

    async def prepare(self, user: str, lang: str) -> None:
        """Give a user the to-dos and reminders of a language."""
        memory = self.assistant.memory
        for number, text in enumerate(TODOS[lang], 1):
            value = {"number": number, "text": text, "done": False}
            await memory.store.aput(namespace_of(user, "todos"), f"{number}", value)
        for text, at in zip(REMINDERS[lang], TIMES, strict=True):
            await self.assistant.services.get(Reminders).add(user, user, text, text=text, lang=lang, moment=Moment(at))

    async def stored(self, user: str) -> dict[str, str]:
        """Return all stored data of a user, by name."""
        memory = self.assistant.memory
        stored: dict[str, str] = {}
        for item in await memory.store.asearch(("users", user), limit=1000):
            place = item.namespace[2:]
            if place == ("todos",):
                marks = [*filter(None, [item.value.get("list")]), *["done"] * item.value["done"]]
                stored[f"to-do {item.key}"] = item.value["text"] + (f" ({', '.join(marks)})" if marks else "")
            elif place == ("notes",):
                stored[f"memo {item.key}"] = item.value["text"]
            elif place != ("numbers",):
                values = item.value.get("values", item.value)
                stored |= {f"{name}": _worded(value) for name, value in values.items() if value}
        for reminder in await self.assistant.services.get(Reminders).live(user):
            at = f"{reminder.moment.at.astimezone(UTC):%Y-%m-%d %H:%M}{' and again' * bool(reminder.rule)}"
            stored[f"reminder {reminder.id}"] = f"{reminder.text} @ {at}"
        notes = [note for note in await memory.notes.all() if note.thread == user]
        stored |= {f"note {place}": note.text for place, note in enumerate(notes)}
        state = await self.assistant.state(user) or {}
        forms = {name: talk.get("form") or {} for name, talk in (state.get("talks") or {}).items()}
        for form in forms.values():
            stored |= {name: _worded(value) for name, value in form.items() if value}
        return stored


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the writes, one on each line."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        kind = name.partition(" ")[0]
        is_entry = kind in ("to-do", "reminder", "memo")
        if old == new:
            continue
        if is_entry and old is None:
            lines.append(f"{kind} + {new}")
        elif is_entry and new is None:
            lines.append(f"{kind} - {str(old).partition(' @ ')[0]}")
        elif is_entry:
            lines.append(f"{kind} {str(old).partition(' @ ')[0]}: {new}")
        else:
            lines.append(f"{name}: {new or '-'}")
    return lines


def _worded(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@asynccontextmanager
async def standin(path: Path, others: Models | None = None) -> AsyncIterator[Standin]:
    """Open the shipped application, with `local:rules` and perhaps other models; its clock stands still."""
    speakers, watching = discovered()
    async with (
        SqliteBackend(f"sqlite:///{path}").open(NOW.timestamp, tables=tables_of(specialists())) as memory,
        open_services(specialists(), memory) as services,
    ):
        graph = built_once(speakers, watching, saver=memory.saver, store=memory.store)
        help = make_help(without_file(Settings), memory.notes, services, specialists())
        spoken = Languages("en", tuple(languages()))
        yield Standin(
            *(
                Assistant(
                    TurnPlayer(graph, spoken, memory=memory, models=models, help=help, services=services), speakers
                )
                for models in (rules(), others or rules())
            )
        )


async def outcomes(path: Path, lang: str, wanted: Sequence[Row]) -> list[Outcome]:
    """Say every row's text in a conversation of its own, some of them at a time."""
    side_by_side = asyncio.Semaphore(SIDE_BY_SIDE)
    async with standin(path) as room:

        async def outcome(row: Row) -> Outcome:
            async with side_by_side:
                return await room.outcome(row, lang)

        return await asyncio.gather(*map(outcome, wanted))
