"""All data of a person: their conversations, and the facts that they gave for good."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.foreign import contained
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine
from agents.memory.store import namespace_of
from agents.plugin import Section
from app.assistant import Assistant
from app.assistant.short_term_memory import contents
from app.extensions import plugins
from app.presentation.lines import labelled_values, markdown_lines, moment
from app.presentation.texts import say
from prompts import language, table, title_of

LOG = logging.getLogger(__name__)
MOST_ITEMS = 10_000
"""The most items of a person that are read."""


@dataclass(frozen=True)
class PersonalData:
    """The data of a person."""

    user: str
    items: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """The items by kind ("forms", "settings" …) and key, without those of the sections."""
    sections: Sequence[Section]
    """The data that dialogs and plug-ins keep of the person."""
    conversations: Mapping[str, Sequence[TranscriptLine]]
    """The person's messages and the answers to them, by thread."""
    unread: Sequence[str] = ()
    """The dialogs and plug-ins whose data could not be read."""

    def plain(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "user": self.user,
            "items": self.items,
            **{section.key: section.rows for section in self.sections},
            "threads": [{"thread": name, "contents": contents(lines)} for name, lines in self.conversations.items()],
            **({"unread": self.unread} if self.unread else {}),
        }


async def personal_data(assistant: Assistant, user: str, lang: str) -> PersonalData:
    """Read all data of a person; dialogs and plug-ins word theirs in a language.

    One that fails costs only its own.
    """
    sections, unread = list[Section](), list[str]()
    for name, part in assistant.parts.items():
        try:
            with contained():
                own = [*await part.export(assistant.services, user, lang)] if part.export else []
            if not all(isinstance(section, Section) for section in own):
                raise TypeError("an export returns sections")
        except Exception:
            LOG.exception("the export of %s failed", name)
            unread.append(name)
        else:
            sections += own
    # A plug-in's own notes on a running turn are under its name.
    kinds_elsewhere = {*plugins(), *(section.key for section in sections)}
    items: dict[str, dict[str, Mapping[str, object]]] = {}
    place = namespace_of(user)
    for item in await assistant.memory.store.asearch(place, limit=MOST_ITEMS):
        kind = ".".join(item.namespace[len(place) :])
        if kind not in kinds_elsewhere:
            items.setdefault(kind, {})[item.key] = item.value
    infos = await assistant.threads(user)
    talks = {info.thread: await assistant.history(info.thread, user) for info in infos}
    return PersonalData(user, items, sections, talks, unread)


def as_json(data: PersonalData) -> str:
    """Return the data for programs."""
    return safe_json(data.plain(), indent=2) + "\n"


def as_markdown(data: PersonalData, lang: str) -> str:
    """Return the data for readers."""
    parts = [f"# {say('export.person', lang)}"]
    if data.unread:
        titles = ", ".join(title_of(name, lang) for name in data.unread)
        parts.append(say("export.unread", lang, titles=titles))
    parts += _profile_lines(data, lang)
    for section in (section for section in data.sections if section.lines):
        parts += [f"## {section.title}", _listed(section.lines)]
    for lines in filter(None, data.conversations.values()):
        parts += [f"## {say('export.talk', lang, time=moment(lines[0].at_ms))}", *markdown_lines(lines, lang)]
    return clean("\n\n".join(parts)) + "\n"


def _profile_lines(data: PersonalData, lang: str) -> list[str]:
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


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
