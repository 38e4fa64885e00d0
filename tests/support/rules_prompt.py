"""A room for talks with the rule-based model: tiny dialogs, and a host that plays the graph's part."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from app.plugins.standin import RulesModel
from tests.support.rules_tools import SHARED, Things, tools_of

FIELDS = ["experience", "skills", "interests", "work"]
TITLES = {
    "en": {"profile": "getting acquainted", "planner": "your to-do list"},
    "ru": {"profile": "знакомство", "planner": "список дел"},
}


@dataclass
class Room(Things):
    """One user, the rule-based model in every part, and the little that a graph must do between them."""

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
        answers = self._speak(speaker, text)
        while self.waiting:
            name, brief = self.waiting.pop(0)
            answers += self._begin(name, text or "", brief)
        return "\n".join(answers)

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
        return tools_of(speaker, self)

    def _begin(self, name: str, text: str, brief: str) -> list[str]:
        self.dialog = name
        self.talk(name).append(SystemMessage("You take over.", additional_kwargs={"brief": brief}))
        self.talk(name).append(HumanMessage(text))
        return self._speak(name, text)

    def _speak(self, speaker: str, text: str | None) -> list[str]:
        answers: list[str] = []
        for _ in range(8):
            scene = self._scene({"role": speaker, "opening": text is None})
            message = self._ask(self.talk(speaker), scene, self.tools(speaker))
            self.talk(speaker).append(message)
            if message.text:
                answers.append(str(message.text))
            if not message.tool_calls:
                return answers
            if (moved := self._act(speaker, message, text or "")) is not None:
                return answers + moved
        raise AssertionError(f"{speaker} does not come to an end: {self.trace}")

    def _act(self, speaker: str, message: AIMessage, text: str) -> list[str] | None:
        """Carry out tool calls; return the words of others if the conversation changed hands."""
        entries = {"get_acquainted": "profile", "plan_things": "planner"}
        tools = {entry.name: entry for entry in self.tools(speaker)}
        moved: list[str] | None = None
        begun: list[tuple[str, str]] = []
        for call in message.tool_calls:
            shown = json.dumps(call["args"], ensure_ascii=False)
            self.trace.append(f"{speaker}.{call['name']}({shown})")
            result = str(tools[call["name"]].invoke(call["args"]))
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
                    moved = self._speak("supervisor", wish)
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
            entry |= {"title": titles[name], "tools": [tool for tool in names[name] if tool not in SHARED]}
        own = [name for name in names["supervisor"] if name not in helpers]
        about_form: dict[str, Any] = {"form": None, "fields": [], "missing": []}
        if scene["role"] == "profile":
            missing = [name for name in FIELDS if not self.form.get(name)]
            about_form = {"form": {name: self.form.get(name) for name in FIELDS}, "fields": FIELDS, "missing": missing}
        wishes = bool(self.waiting)
        return {"lang": self.lang, "helpers": helpers, "tools": own, "wishes": wishes, **about_form, **scene}

    def _ask(self, messages: Sequence[BaseMessage], scene: dict[str, Any], tools: list[BaseTool]) -> AIMessage:
        return RulesModel().bind_tools(tools).invoke(rules_prompt(messages, **scene))


def rules_prompt(messages: Sequence[BaseMessage], **facts: Any) -> list[BaseMessage]:
    """Return a prompt as the rule-based model reads it: the facts hold the messages."""
    role = SystemMessage("You are an assistant.", additional_kwargs={"facts": {**facts, "history": messages}})
    return [role, *messages]
