"""A room to talk to the rule-based model in: tiny dialogs with their tools, and a host that plays the graph's part."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from agents.models.rules import RulesModel

FIELDS = ["experience", "skills", "interests", "work"]
TITLES = {
    "en": {"profile": "getting acquainted", "planner": "your to-do list"},
    "ru": {"profile": "знакомство", "planner": "список дел"},
}


@dataclass
class Room:
    """One user, the rule-based model in every part, and the little that a graph must do between them."""

    lang: Literal["en", "ru"] = "en"
    todos: list[list[Any]] = field(default_factory=list)
    reminders: list[list[str]] = field(default_factory=list)
    form: dict[str, Any] = field(default_factory=dict)
    talks: dict[str, list[BaseMessage]] = field(default_factory=dict)
    dialog: str | None = None
    waiting: list[tuple[str, str]] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    def says(self, text: str | None) -> str:
        """Play one user message to its end and return everything said to the user."""
        self.trace = []
        if self.dialog and text is not None:
            verdict = self.observes("supervisor", text)
            if verdict != "stay":
                self.trace.append(f"observer: {verdict}")
                self.dialog = None
        speaker = self.dialog or "supervisor"
        if text is not None:
            self.talk(speaker).append(HumanMessage(text))
        said = self._speak(speaker, text, brief=None)
        while self.waiting:
            name, brief = self.waiting.pop(0)
            said += self._begin(name, text or "", brief)
        return "\n".join(said)

    def observes(self, observer: str, text: str) -> str:
        """Ask an observer about a message."""
        replies = [message for message in self.talk(self.dialog or "supervisor") if isinstance(message, AIMessage)]
        scene = {
            "role": "observer",
            "observer": observer,
            "text": text,
            "reply": str(replies[-1].text) if replies else None,
            "dialog": self.dialog,
        }
        return str(self._ask([], self._scene(scene), []).text)

    def talk(self, speaker: str) -> list[BaseMessage]:
        """Return what a speaker remembers."""
        return self.talks.setdefault(speaker, [])

    def tools(self, speaker: str) -> list[BaseTool]:
        """Return the tools of a speaker."""
        _Seat.room = self
        return _tools(speaker)

    def _begin(self, name: str, text: str, brief: str) -> list[str]:
        self.dialog = name
        self.talk(name).append(HumanMessage(text))
        return self._speak(name, text, brief)

    def _speak(self, speaker: str, text: str | None, brief: str | None) -> list[str]:
        said: list[str] = []
        for _ in range(8):
            scene = self._scene({"role": speaker, "opening": text is None, "brief": brief})
            message = self._ask(self.talk(speaker), scene, self.tools(speaker))
            self.talk(speaker).append(message)
            if message.text:
                said.append(str(message.text))
            if not message.tool_calls:
                return said
            if (moved := self._act(speaker, message, text or "")) is not None:
                return said + moved
        raise AssertionError(f"{speaker} does not come to an end: {self.trace}")

    def _act(self, speaker: str, message: AIMessage, text: str) -> list[str] | None:
        """Carry out tool calls; return what others said if the conversation changed hands."""
        entries = {"get_acquainted": "profile", "plan_things": "planner"}
        known = {entry.name: entry for entry in self.tools(speaker)}
        moved: list[str] | None = None
        begun: list[tuple[str, str]] = []
        for call in message.tool_calls:
            shown = json.dumps(call["args"], ensure_ascii=False)
            self.trace.append(f"{speaker}.{call['name']}({shown})")
            result = str(known[call["name"]].invoke(call["args"]))
            self.talk(speaker).append(ToolMessage(result, tool_call_id=call["id"], name=call["name"]))
            if call["name"] in entries:
                begun.append((entries[call["name"]], call["args"]["brief"]))
            elif call["name"] == "hand_back":
                self.dialog, moved = None, []
                wish = call["args"].get("wish")
                note = SystemMessage("It is over.", additional_kwargs={"dialog": speaker, "brief": wish or ""})
                self.talk("supervisor").append(note)
                if wish:
                    self.talk("supervisor").append(HumanMessage(wish))
                    moved = self._speak("supervisor", wish, None)
        if begun:
            self.waiting += begun[1:]
            if len(begun) < len(message.tool_calls):
                self.waiting.insert(0, begun[0])
                return None
            return self._begin(begun[0][0], text, begun[0][1])
        return moved

    def _scene(self, scene: dict[str, Any]) -> dict[str, Any]:
        titles = TITLES[self.lang]
        names = {name: [entry.name for entry in self.tools(name)] for name in ("supervisor", "profile", "planner")}
        helpers: dict[str, dict[str, Any]] = {
            "get_acquainted": {"dialog": "profile", "form": "profile"},
            "plan_things": {"dialog": "planner", "form": None},
        }
        for entry in helpers.values():
            name = str(entry["dialog"])
            entry |= {"title": titles[name], "tools": [tool for tool in names[name] if tool not in _SHARED]}
        own = [name for name in names["supervisor"] if name not in helpers]
        about_form: dict[str, Any] = {"form": None, "fields": [], "missing": []}
        if scene["role"] == "profile":
            missing = [name for name in FIELDS if not self.form.get(name)]
            about_form = {"form": {name: self.form.get(name) for name in FIELDS}, "fields": FIELDS, "missing": missing}
        wishes = bool(self.waiting)
        return {"lang": self.lang, "helpers": helpers, "tools": own, "wishes": wishes, **about_form, **scene}

    def _ask(self, messages: Sequence[BaseMessage], scene: dict[str, Any], tools: list[BaseTool]) -> AIMessage:
        closing = SystemMessage("Go on.", additional_kwargs={"scene": scene})
        prompt = [SystemMessage("You are an assistant."), *messages, closing]
        return RulesModel().bind_tools(tools).invoke(prompt)


class _Seat:
    """Who uses the tools at present; making them anew for every room would take most of the tests' time."""

    room: Room


@cache
def _tools(speaker: str) -> list[BaseTool]:
    return {"supervisor": _supervisor, "profile": _profile, "planner": _planner}[speaker]()


_SHARED = ("hand_back", "assistant_help")


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
        _Seat.room.lang = language
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
    ) -> str:
        """Note what the user told about themselves."""
        told = {"experience": experience, "skills": skills, "interests": interests, "work": work}
        _Seat.room.form |= {name: value for name, value in told.items() if value is not None}
        return "Noted."

    @tool
    def show_profile() -> str:
        """Show the profile."""
        return f"Profile: {json.dumps(_Seat.room.form, ensure_ascii=False)}"

    @tool
    def export_profile(format: Literal["markdown", "json"]) -> str:
        """Export the profile."""
        return f"Exported as {format}."

    return [fill_form, show_profile, export_profile, *_ways_out()]


def _planner() -> list[BaseTool]:
    def listed() -> str:
        lines = [f"{place}. {text}{' (done)' * done}" for place, (text, done) in enumerate(_Seat.room.todos, 1)]
        return "\n".join(lines) or "The list is empty."

    @tool
    def add_todos(items: list[str]) -> str:
        """Add to-dos."""
        _Seat.room.todos += [[item, False] for item in items]
        return listed()

    @tool
    def list_todos() -> str:
        """List the to-dos."""
        return listed()

    @tool
    def change_todo(number: int, text: str | None = None, done: bool | None = None) -> str:
        """Change a to-do."""
        if text is not None:
            _Seat.room.todos[number - 1][0] = text
        if done is not None:
            _Seat.room.todos[number - 1][1] = done
        return listed()

    @tool
    def delete_todos(numbers: list[int]) -> str:
        """Delete to-dos."""
        _Seat.room.todos[:] = [entry for place, entry in enumerate(_Seat.room.todos, 1) if place not in numbers]
        return listed()

    return [add_todos, list_todos, change_todo, delete_todos, *_reminding(), *_ways_out()]


def _reminding() -> list[BaseTool]:
    def listed() -> str:
        lines = [f"{place}. {text}: {when}" for place, (text, when) in enumerate(_Seat.room.reminders, 1)]
        return "\n".join(lines) or "There are no reminders."

    @tool
    def add_reminder(when: str, text: str | None = None) -> str:
        """Set a reminder."""
        _Seat.room.reminders.append([text or "Time is up", when])
        return f"Set: {listed().splitlines()[-1]}."

    @tool
    def list_reminders() -> str:
        """List the reminders."""
        return listed()

    @tool
    def change_reminder(number: int, text: str | None = None, when: str | None = None) -> str:
        """Change a reminder."""
        old = _Seat.room.reminders[number - 1]
        _Seat.room.reminders[number - 1] = [text or old[0], when or old[1]]
        return f"Set: {listed().splitlines()[number - 1]}."

    @tool
    def delete_reminders(numbers: list[int]) -> str:
        """Delete reminders."""
        kept = [entry for place, entry in enumerate(_Seat.room.reminders, 1) if place not in numbers]
        _Seat.room.reminders[:] = kept
        return listed()

    @tool
    def set_time_zone(zone: str) -> str:
        """Set the time zone."""
        return f"The time zone is {zone} now."

    return [add_reminder, list_reminders, change_reminder, delete_reminders, set_time_zone]


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
