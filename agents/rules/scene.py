"""What the rules read of a prompt: the scene it names, the tools, and where the conversation stands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.rules.choice import Phrasebook, Source, phrasebook
from agents.rules.slots import Parameter, parameters
from agents.rules.wording import Vocabulary, listening, vocabulary

HAND_BACK, FINISH, FILL_FORM, HELP = "hand_back", "finish", "fill_form", "assistant_help"
PROTOCOL = frozenset({HAND_BACK, FINISH, HELP})
SUPERVISOR = "supervisor"


@dataclass(frozen=True)
class Helper:
    """A dialog as the supervisor sees it."""

    tool: str
    dialog: str
    title: str
    tools: tuple[str, ...]
    form: str | None

    def sources(self, owner: str) -> tuple[Source, ...]:
        """Return where phrases that belong to this dialog come from; `owner` is who gets them."""
        inner = tuple(Source(name, owner) for name in self.tools if name not in PROTOCOL)
        fields = (Source(FILL_FORM, owner, self.form),) if self.form else ()
        return (Source(self.tool, owner), *inner, *fields)


@dataclass(frozen=True)
class Call:
    """A tool call to make or made."""

    name: str
    args: dict[str, Any]

    @property
    def arguments(self) -> str:
        """Return the arguments as JSON."""
        return json.dumps(self.args, sort_keys=True, ensure_ascii=False)

    @property
    def key(self) -> str:
        """Return what makes two calls the same."""
        return f"{self.name} {self.arguments}"


@dataclass(frozen=True)
class Result:
    """A tool call that was made since the user spoke, and what came back."""

    call: Call
    text: str
    failed: bool


@dataclass(frozen=True)
class Move:
    """What the model does next: say something, call tools, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Kept with the message for the next turn: `asks` what is missing, `offer` what was proposed."""


@dataclass(frozen=True)
class Situation:
    """One prompt, read."""

    scene: Mapping[str, Any]
    messages: Sequence[BaseMessage]
    """The conversation without system messages."""
    tools: Mapping[str, Mapping[str, Parameter]]
    """The bound tools and their parameters."""

    @property
    def role(self) -> str:
        """Return whose part is played: the supervisor's, a dialog's or an observer's."""
        return str(self.scene.get("role") or SUPERVISOR)

    @property
    def lang(self) -> str:
        """Return the language to answer in."""
        return str(self.scene.get("lang") or "en")

    @property
    def helpers(self) -> list[Helper]:
        """Return the dialogs, by their entry tools."""
        return [
            Helper(tool, entry["dialog"], entry["title"], tuple(entry.get("tools", ())), entry.get("form"))
            for tool, entry in (self.scene.get("helpers") or {}).items()
        ]

    @property
    def own(self) -> Helper | None:
        """Return the dialog whose part is played."""
        role = self.scene.get("dialog") if self.role == "observer" else self.role
        return next((helper for helper in self.helpers if helper.dialog == role), None)

    @cached_property
    def heard(self) -> str:
        """Return what to act on: the brief of a dialog that just took over, else the user's last words."""
        return str(self.scene.get("brief") or self.scene.get("text") or self.said)

    @cached_property
    def said(self) -> str:
        """Return the user's last words; empty if there are none."""
        return text_of(self.messages[self._turn - 1]) if self._turn else ""

    @property
    def words(self) -> Vocabulary:
        """Return the word lists for what was heard."""
        return vocabulary(listening(self.heard, self.lang))

    @property
    def before(self) -> Sequence[BaseMessage]:
        """Return the conversation up to the user's last words."""
        return self.messages[: max(self._turn - 1, 0)]

    @cached_property
    def results(self) -> list[Result]:
        """Return what was done since the user spoke."""
        return results(self.messages[self._turn :])

    @property
    def last_reply(self) -> AIMessage | None:
        """Return the assistant's last words before the user's."""
        return next((message for message in reversed(self.before) if isinstance(message, AIMessage)), None)

    def note(self, name: str) -> Any:
        """Return a note left with the last reply ("asks", "offer")."""
        return self.last_reply.additional_kwargs.get(name) if self.last_reply else None

    def book(self) -> Phrasebook:
        """Return the phrases of everything in reach; the speaker's own ones have no owner."""
        own = self.own
        sources = tuple(Source(name) for name in self.tools if name not in self.scene.get("helpers", {}))
        if own:
            # The own entry phrases too ("help me plan my day"): said inside, they ask for nothing more.
            sources += own.sources("")
        for helper in self.helpers:
            if helper is not own and helper != own:
                sources += helper.sources(helper.tool)
        names = {source.tool for source in sources}
        sources += tuple(Source(name, name) for name in self.scene.get("tools", ()) if name not in names)
        return phrasebook(tuple(dict.fromkeys(sources)), self.words.lang)

    @cached_property
    def _turn(self) -> int:
        """Return the place behind the user's last words; 0 if the user has said nothing."""
        places = (place for place, message in enumerate(self.messages, 1) if isinstance(message, HumanMessage))
        return max(places, default=0)


def situation(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]) -> Situation:
    """Read a prompt; without a scene it is a plain conversation with a supervisor that has these tools."""
    scenes = [m.additional_kwargs["scene"] for m in messages if "scene" in m.additional_kwargs]
    spoken = [message for message in messages if not isinstance(message, SystemMessage)]
    known = {tool["function"]["name"]: parameters(tool["function"]) for tool in tools}
    return Situation(scenes[-1] if scenes else {}, spoken, known)


def results(messages: Sequence[BaseMessage]) -> list[Result]:
    """Return the tool calls of these messages with their outcomes, in order."""
    calls = {
        call["id"]: Call(call["name"], call["args"])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    return [
        Result(calls[message.tool_call_id], text_of(message), message.status == "error")
        for message in messages
        if isinstance(message, ToolMessage) and message.tool_call_id in calls
    ]


def text_of(message: BaseMessage) -> str:
    """Return a message's text."""
    return str(message.text).strip()
