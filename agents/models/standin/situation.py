"""What the rules read of a prompt: its facts, the tools, and where the conversation stands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.errors import UselessReply
from agents.language.text.vocabulary import listening
from agents.models.standin.pattern import Match
from agents.models.standin.phrasebook import FILL_FORM, Phrasebook, Source, phrasebook
from agents.models.standin.values import Parameter, parameters
from agents.models.standin.vocabulary import StandinVocabulary, sentence, vocabulary
from agents.state.message_notes import notes_of

HAND_BACK, HELP, SEARCH = "hand_back", "assistant_help", "search"
PROTOCOL = frozenset({HAND_BACK, HELP})
SUPERVISOR = "supervisor"
SERVED = "served"
"""The note of an answer that a tool gave without its speaker: the tool's name."""


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
    def key(self) -> str:
        """Return what makes two calls the same."""
        return f"{self.name} {json.dumps(self.args, sort_keys=True, ensure_ascii=False)}"


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


@dataclass(frozen=True)
class Situation:
    """One prompt, read."""

    facts: Mapping[str, Any]
    messages: Sequence[BaseMessage]
    """The conversation; of system messages only the notes of a change of hands."""
    tools: Mapping[str, Mapping[str, Parameter]]

    @property
    def role(self) -> str:
        """Return whose part is played: the supervisor's, a dialog's or an observer's."""
        return str(self.facts.get("role") or SUPERVISOR)

    @property
    def lang(self) -> str:
        """Return the language to answer in."""
        return str(self.facts.get("lang") or "en")

    @property
    def greeting(self) -> str:
        """Return a greeting, by name if that is known."""
        name = str(self.facts.get("name") or "")
        return sentence("greeting_by_name", self.lang, name=name) if name else sentence("greeting", self.lang)

    @cached_property
    def helpers(self) -> list[Helper]:
        """Return the dialogs, by their entry tools."""
        return [Helper(tool, **entry) for tool, entry in (self.facts.get("helpers") or {}).items()]

    @property
    def own(self) -> Helper | None:
        """Return the dialog whose part is played."""
        role = self.facts.get("dialog") if self.role == "observer" else self.role
        return next((helper for helper in self.helpers if helper.dialog == role), None)

    @cached_property
    def heard(self) -> str:
        """Return what to act on: what a change of hands was for, else the user's last words."""
        # Words that were heard before the note belong to what the speaker did before it.
        last_words = "" if self._noted > self._spoken else self.said
        return str(self.brief or self.facts.get("text") or last_words)

    @cached_property
    def said(self) -> str:
        """Return the user's last words; empty if they said nothing."""
        return text_of(self.messages[self._spoken - 1]) if self._spoken else ""

    @cached_property
    def brief(self) -> str:
        """Return what the conversation changed hands for, if it just did."""
        note = notes_of(self.messages[self._noted - 1]).get("brief") if self._noted else ""
        return str(self.facts.get("brief") or note or "")

    @property
    def begun(self) -> bool:
        """Whether a dialog has just taken over."""
        return bool(self.brief or self._noted or self.facts.get("opening")) and self.role != SUPERVISOR

    @property
    def undone(self) -> bool:
        """Whether the user took a switch back, so that the message is meant for this dialog after all."""
        return bool(self.facts.get("undone"))

    @cached_property
    def words(self) -> StandinVocabulary:
        """Return the word lists for what was heard."""
        return vocabulary(listening(self.heard, self.lang))

    @property
    def before(self) -> Sequence[BaseMessage]:
        """Return the conversation up to the user's last words."""
        return self.messages[: max(self._spoken - 1, 0)]

    @cached_property
    def results(self) -> list[Result]:
        """Return what was done since the user spoke or the speaker got the word back."""
        made = results(self.messages[max(self._spoken, self._noted) :])
        ends = [place for place, result in enumerate(made, 1) if result.call.name == HAND_BACK]
        return made[max(ends, default=0) :]

    @cached_property
    def last_reply(self) -> AIMessage | None:
        """Return the assistant's last words before the user's; a shortcut in between leaves what was asked open."""
        served = False
        for message in reversed(self.before):
            if isinstance(message, HumanMessage):
                served = False
            elif isinstance(message, AIMessage):
                served = served or SERVED in notes_of(message)
                if not served:
                    return message
        return None

    def note(self, name: str) -> Any:
        """Return a note left with the last reply ("asks", "offer")."""
        return self.last_reply.additional_kwargs.get(name) if self.last_reply else None

    def wishes(self, fields: frozenset[str] = frozenset()) -> tuple[Match, ...]:
        """Return what was wished for; `fields` are those of a form that a short sentence may be about."""
        return self._book().wishes(self.heard, fields)

    def find(self, text: str) -> Match | None:
        """Return the wish that a whole text is."""
        return next(iter(self._book().wishes(text)), None)

    def _book(self) -> Phrasebook:
        """Return the phrases of everything in reach; the speaker's own ones have no owner."""
        own, examples = self.own, self.facts.get("examples") or {}
        sources = tuple(Source(name) for name in self.tools if name not in self.facts.get("helpers", {}))
        if own:
            # The own entry phrases too ("help me plan my day"): said inside, they ask for nothing more.
            sources += own.sources("")
        if not self.undone:
            sources += tuple(it for helper in self.helpers if helper != own for it in helper.sources(helper.tool))
            names = {source.tool for source in sources}
            sources += tuple(Source(name, name) for name in self.facts.get("tools", ()) if name not in names)
        with_examples = (replace(source, examples=tuple(examples.get(source.tool, ()))) for source in sources)
        return phrasebook(tuple(dict.fromkeys(with_examples)), self.words.lang)

    @cached_property
    def _spoken(self) -> int:
        return self._last(HumanMessage)

    @cached_property
    def _noted(self) -> int:
        """Return the place behind the note of a change of hands in this turn; 0 if there was none."""
        place = self._last(SystemMessage)
        return place if place >= self._spoken - 1 else 0

    def _last(self, kind: type[BaseMessage]) -> int:
        return max((place for place, message in enumerate(self.messages, 1) if isinstance(message, kind)), default=0)


def situation(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]) -> Situation:
    """Read the facts of a prompt.

    Raises:
        UselessReply: the prompt has no facts; no rule answers its prose.
    """
    facts = notes_of(messages[0]).get("facts")
    if facts is None:
        raise UselessReply("refused", "rules read the facts of a prompt, and this one has none")
    spoken = [message for message in facts.get("history", ()) if not {"cards", "told"} & notes_of(message).keys()]
    offered = [*tools, *facts.get("shelf", ())]
    return Situation(facts, spoken, {tool["function"]["name"]: parameters(tool["function"]) for tool in offered})


def results(messages: Sequence[BaseMessage]) -> list[Result]:
    """Return the tool calls of these messages with their outcomes, in order."""
    made = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    calls = {call["id"]: Call(call["name"], call["args"]) for call in made}
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    return [_result(calls[answer.tool_call_id], answer) for answer in answers if answer.tool_call_id in calls]


def _result(call: Call, message: ToolMessage) -> Result:
    trouble = notes_of(message).get("trouble")
    if trouble in ("failed", "arguments", "unknown"):
        # The words that came back say what a model is to do, which is nothing to read out.
        return Result(call, notes_of(message).get("rescued") or "", failed=True, broken=True)
    return Result(call, text_of(message), message.status == "error", declined=trouble == "declined")


def text_of(message: BaseMessage) -> str:
    """Return a message's text."""
    return str(message.text).strip()
