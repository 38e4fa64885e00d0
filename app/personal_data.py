"""All that is kept of a person: what they said and were answered, and what they have told for good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.language.schedule.wording import worded
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine
from agents.memory.reminder_row import Reminder
from agents.memory.store import namespace_of
from app.assistant import Assistant
from app.listing import labelled_values, markdown_lines, moment
from app.sentences import say
from app.short_term_memory import contents
from prompts import language, table

MOST_ITEMS = 10_000
"""Items that are looked up of a person."""
OF_DOORS = ("telegram",)
"""Kinds of items that doors keep for themselves while a turn runs."""


@dataclass(frozen=True)
class PersonalData:
    """What is kept of a person."""

    user: str
    items: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """By kind ("forms", "todos", "settings" …) and key."""
    reminders: Sequence[Reminder]
    conversations: Mapping[str, Sequence[TranscriptLine]]
    """By thread, what the person said there and was answered."""

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "user": self.user,
            "items": self.items,
            "reminders": [
                {"text": it.text, "kind": it.kind, "at": it.moment.at.isoformat(), "rule": it.rule}
                for it in self.reminders
            ],
            "threads": [{"thread": name, "contents": contents(lines)} for name, lines in self.conversations.items()],
        }


async def personal_data(assistant: Assistant, user: str) -> PersonalData:
    """Look up all that is kept of a person."""
    items: dict[str, dict[str, Mapping[str, Any]]] = {}
    place = namespace_of(user)
    for item in await assistant.memory.store.asearch(place, limit=MOST_ITEMS):
        kind = ".".join(item.namespace[len(place) :])
        if kind not in OF_DOORS:
            items.setdefault(kind, {})[item.key] = item.value
    infos = await assistant.threads(user)
    talks = {info.thread: await assistant.history(info.thread, user) for info in infos}
    return PersonalData(user, items, await assistant.memory.reminders.live(user), talks)


def as_json(data: PersonalData) -> str:
    """Return it to be processed."""
    return safe_json(data.plain(), indent=2) + "\n"


def as_markdown(data: PersonalData, lang: str, now: datetime) -> str:
    """Return it to be read."""
    parts = [f"# {say('export.person', lang)}", *_known(data, lang), *_lists(data, lang, now)]
    for lines in filter(None, data.conversations.values()):
        parts += [f"## {say('export.talk', lang, time=moment(lines[0].at_ms))}", *markdown_lines(lines, lang)]
    return clean("\n\n".join(parts)) + "\n"


def _known(data: PersonalData, lang: str) -> list[str]:
    forms = data.items.get("forms", {})
    values = [line for name, form in forms.items() for line in labelled_values(form, name, lang)]
    facts = [str(fact["text"]) for fact in data.items.get("facts", {}).values() if "text" in fact]
    settings = data.items.get("settings", {})
    code = settings.get("language", {}).get("lang")
    spoken = [f"{say('talk.language', lang)} – {(language(code).names or (code,))[0]}"] if code else []
    zone = settings.get("zone", {}).get("zone")
    zones = [table("texts", lang)["undo_zone"].replace("$zone", zone)] if zone else []
    lines = [*values, *facts, *spoken, *zones]
    return [f"## {say('export.known', lang)}", _listed(lines)] if lines else []


def _lists(data: PersonalData, lang: str, now: datetime) -> list[str]:
    todos = [f"[{'x' if todo.get('done') else ' '}] {todo.get('text', '')}" for todo in _todos(data)]
    rings = [f"{worded(it.moment, lang, now)}: {it.text}" for it in data.reminders]
    sections = {"export.todos": todos, "export.reminders": rings}
    return [part for key, lines in sections.items() if lines for part in (f"## {say(key, lang)}", _listed(lines))]


def _todos(data: PersonalData) -> list[Mapping[str, Any]]:
    return sorted(data.items.get("todos", {}).values(), key=lambda todo: todo.get("number", 0))


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
