"""The parts of a conversation as the rules handle them: dialogs, tool calls and their results, moves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agents.models.standin.phrasebook import Source
from agents.state.message_notes import notes_of

HAND_BACK, FILL_FORM, HELP, SEARCH = "hand_back", "fill_form", "assistant_help", "search"
PROTOCOL = frozenset({HAND_BACK, HELP})
SUPERVISOR = "supervisor"


@dataclass(frozen=True)
class Helper:
    """A dialog as the supervisor sees it."""

    tool: str
    dialog: str
    title: str
    tools: Sequence[str]
    form: str | None
    description: str = ""

    def sources(self, owner: str) -> tuple[Source, ...]:
        """Return where phrases that belong to this dialog come from; `owner` is who gets them."""
        inner = tuple(Source(name, owner) for name in self.tools if name not in PROTOCOL)
        # Sentences about a field ("I like …") are for the dialog that asks for it.
        fields = (Source(FILL_FORM, owner, None if owner else self.form),) if self.form else ()
        return (Source(self.tool, owner, about=f"{self.tool.replace('_', ' ')} {self.description}"), *inner, *fields)


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
    broken: bool = False
    """Whether the tool itself failed; the text is then only what help said of it."""
    declined: bool = False
    """Whether the user was asked before it ran, and said no."""


@dataclass(frozen=True)
class Move:
    """What the model does next: say something, call tools, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Kept with the message for the next turn: `asks` what is missing, `offer` what was proposed."""


def results(messages: Sequence[BaseMessage]) -> list[Result]:
    """Return the tool calls of these messages with their outcomes, in order."""
    calls = {
        call["id"]: Call(call["name"], call["args"])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    return [
        _result(calls[message.tool_call_id], message)
        for message in messages
        if isinstance(message, ToolMessage) and message.tool_call_id in calls
    ]


def _result(call: Call, message: ToolMessage) -> Result:
    if notes_of(message).get("trouble") in ("failed", "arguments", "unknown"):
        # The words that came back say what a model is to do, which is nothing to read out.
        return Result(call, notes_of(message).get("rescued") or "", failed=True, broken=True)
    declined = notes_of(message).get("trouble") == "declined"
    return Result(call, text_of(message), message.status == "error", declined=declined)


def text_of(message: BaseMessage) -> str:
    """Return a message's text."""
    return str(message.text).strip()
