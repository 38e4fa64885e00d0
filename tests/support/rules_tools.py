"""The tools of tiny dialogs for the rule-based model, and what they work on."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from langchain_core.tools import BaseTool, tool

SHARED = ("hand_back", "assistant_help")
"""The tools that every dialog has."""
Kind = Literal["reminder", "alarm", "timer", "day"]


@dataclass
class Things:
    """The data of the tools."""

    lang: Literal["en", "ru"] = "en"
    todos: list[list[Any]] = field(default_factory=list)
    reminders: list[list[str]] = field(default_factory=list)
    form: dict[str, Any] = field(default_factory=dict)


class _Seat:
    """The present user of the tools. To make them again for every room would take most of the tests' time."""

    things: Things


def tools_of(speaker: str, things: Things) -> list[BaseTool]:
    """Return the tools of a speaker, which from now on work on this data."""
    _Seat.things = things
    return _tools(speaker)


@cache
def _tools(speaker: str) -> list[BaseTool]:
    return {"supervisor": _supervisor, "profile": _profile, "planner": _planner}[speaker]()


def _supervisor() -> list[BaseTool]:
    @tool
    def current_time() -> str:
        """Tell the time."""
        return "Friday, 20 November 2026, 18:24"

    @tool
    def abilities() -> str:
        """Tell what can be done here."""
        return "I can get acquainted with you and keep your to-dos."

    @tool
    def change_language(language: Literal["en", "ru"]) -> str:
        """Change the language of the conversation."""
        _Seat.things.lang = language
        return {"en": "English it is.", "ru": "Говорим по-русски."}[language]

    @tool
    def get_acquainted(brief: str) -> str:
        """Used for getting to know the user."""
        return "queued"

    @tool
    def plan_things(brief: str) -> str:
        """Used for the user's to-dos."""
        return "queued"

    return [current_time, abilities, change_language, _help, get_acquainted, plan_things]


def _profile() -> list[BaseTool]:
    @tool
    def fill_form(
        experience: str | None = None,
        skills: list[str] | None = None,
        interests: list[str] | None = None,
        work: str | None = None,
        name: str | None = None,
        home: str | None = None,
    ) -> str:
        """Note what the user told about themselves."""
        about = {"name": name, "home": home}
        fields = {"experience": experience, "skills": skills, "interests": interests, "work": work, **about}
        _Seat.things.form |= {name: value for name, value in fields.items() if value is not None}
        return "Noted."

    @tool
    def show_profile() -> str:
        """Show the profile."""
        return f"Profile: {json.dumps(_Seat.things.form, ensure_ascii=False)}"

    @tool
    def export_profile(format: Literal["markdown", "json"]) -> str:
        """Export the profile."""
        return f"Exported as {format}."

    return [fill_form, show_profile, export_profile, *_ways_out()]


def _planner() -> list[BaseTool]:
    def listed() -> str:
        lines = [f"{place}. {text}{' (done)' * done}" for place, (text, done) in enumerate(_Seat.things.todos, 1)]
        return "\n".join(lines) or "The list is empty."

    @tool
    def add_todos(items: list[str]) -> str:
        """Add to-dos."""
        _Seat.things.todos += [[item, False] for item in items]
        return listed()

    @tool
    def list_todos() -> str:
        """List the to-dos."""
        return listed()

    @tool
    def change_todo(number: int, text: str | None = None, done: bool | None = None) -> str:
        """Change a to-do."""
        if text is not None:
            _Seat.things.todos[number - 1][0] = text
        if done is not None:
            _Seat.things.todos[number - 1][1] = done
        return listed()

    @tool
    def delete_todos(numbers: list[int]) -> str:
        """Delete to-dos."""
        _Seat.things.todos[:] = [entry for place, entry in enumerate(_Seat.things.todos, 1) if place not in numbers]
        return listed()

    return [add_todos, list_todos, change_todo, delete_todos, *_reminding(), *_ways_out()]


def _reminding() -> list[BaseTool]:
    def listed() -> str:
        lines = [f"{place}. {text}: {when}" for place, (text, when) in enumerate(_Seat.things.reminders, 1)]
        return "\n".join(lines) or "There are no reminders."

    @tool
    def add_reminder(when: str, text: str | None = None, kind: Kind | None = None) -> str:
        """Set a reminder."""
        _Seat.things.reminders.append([text or kind or "Time is up", when])
        return f"Set: {listed().splitlines()[-1]}."

    @tool
    def list_reminders() -> str:
        """List the reminders."""
        return listed()

    @tool
    def change_reminder(number: int | None = None, text: str | None = None, when: str | None = None) -> str:
        """Change a reminder."""
        number = number or len(_Seat.things.reminders)
        old = _Seat.things.reminders[number - 1]
        _Seat.things.reminders[number - 1] = [text or old[0], when or old[1]]
        return f"Set: {listed().splitlines()[number - 1]}."

    @tool
    def delete_reminders(numbers: list[int]) -> str:
        """Delete reminders."""
        kept = [entry for place, entry in enumerate(_Seat.things.reminders, 1) if place not in numbers]
        _Seat.things.reminders[:] = kept
        return listed()

    @tool
    def stop_timer(which: Literal["timer", "alarm"] = "timer") -> str:
        """Stop a timer."""
        _Seat.things.reminders[:] = [entry for entry in _Seat.things.reminders if entry[0] != which]
        return "Stopped."

    @tool
    def set_time_zone(zone: str) -> str:
        """Set the time zone."""
        return f"The time zone is {zone} now."

    return [add_reminder, list_reminders, change_reminder, delete_reminders, stop_timer, set_time_zone]


def _ways_out() -> list[BaseTool]:
    @tool
    def hand_back(wish: str = "") -> str:
        """Give the conversation back."""
        return "ok"

    return [hand_back, _help]


@tool("assistant_help")
def _help(query: str) -> str:
    """Answer from the help pages."""
    return f"Help on: {query}"
