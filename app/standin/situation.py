"""What the rules read of a prompt: its facts, the tools, and where the conversation stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.errors import UselessReply
from agents.language.text.stems import words
from agents.language.text.vocabulary import listening
from agents.state.message_notes import FORGET, LEFT, Facts, notes_of
from app.standin.phrasebook import FILL_FORM, Match, Phrasebook, PhraseSource, phrasebook
from app.standin.values import Parameter, parameters
from app.standin.vocabulary import StandinVocabulary, vocabulary
from prompts import FALLBACK, table

HAND_BACK, HELP, SEARCH = "hand_back", "assistant_help", "search"
PROTOCOL = frozenset({HAND_BACK, HELP, "undo_last", "search_history"})
"""The tools that every speaker has."""
RESUMES = "resumes"
"""The note of a reply that repeats a question after an aside."""


@dataclass(frozen=True)
class DialogCard:
    """A dialog as the supervisor sees it."""

    tool: str
    dialog: str
    title: str
    tools: Sequence[str]
    form: str | None
    description: str = ""

    def topic(self, lang: str) -> frozenset[str]:
        """Return the words that name this dialog's subject, as they are written: "reminder" is no "reminds"."""
        return frozenset(words(" ".join(table(f"{self.dialog}/standin", lang).get("topic", ()))))

    def sources(self, owner: str) -> tuple[PhraseSource, ...]:
        """Return where phrases that belong to this dialog come from; `owner` is who gets them."""
        inner = tuple(PhraseSource(name, owner) for name in self.tools if name not in PROTOCOL)
        # Sentences about a field ("I like …") are for the dialog that asks for it.
        fields = (PhraseSource(FILL_FORM, owner, None if owner else self.form),) if self.form else ()
        return (
            PhraseSource(self.tool, owner, about=f"{self.tool.replace('_', ' ')} {self.description}"),
            *inner,
            *fields,
        )


@dataclass(frozen=True)
class PlannedCall:
    """A tool call to make or made."""

    name: str
    args: dict[str, object]


@dataclass(frozen=True)
class CallResult:
    """A tool call that was made since the user spoke, and its result."""

    call: PlannedCall
    text: str
    failed: bool
    broken: bool = False
    """Whether the tool itself failed; the text is then only the help about it."""
    declined: bool = False
    """Whether the user was asked before the call, and said no."""
    seen: bool = False
    """Whether the user sees it without words."""


@dataclass(frozen=True)
class Move:
    """What the model does next: say something, call tools, or both."""

    text: str = ""
    calls: tuple[PlannedCall, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)
    """Kept with the message for the next turn: `asks` what is missing, `offer` what was proposed."""


@dataclass(frozen=True)
class Situation:
    """One prompt, read."""

    facts: Facts
    tools: Mapping[str, Mapping[str, Parameter]]
    messages: Sequence[BaseMessage]
    """The conversation; of system messages only the notes of a change of hands."""
    before: Sequence[BaseMessage]
    """The conversation up to the user's last words."""
    role: str
    """The part that is played: the supervisor's, a dialog's or an observer's."""
    lang: str
    """The language to answer in."""
    said: str
    """The user's last words; empty if they said nothing."""
    heard: str
    """The words to act on: the reason of a change of hands, else the user's last words."""
    begun: bool
    """Whether a dialog has just taken over."""
    results: Sequence[CallResult]
    """What was done since the user spoke, or since the speaker got the conversation back."""

    @cached_property
    def helpers(self) -> list[DialogCard]:
        """Return the dialogs, by their entry tools."""
        return [DialogCard(tool, **entry) for tool, entry in (self.facts.get("helpers") or {}).items()]

    @cached_property
    def own(self) -> DialogCard | None:
        """Return the dialog whose part is played."""
        role = self.facts.get("dialog") if self.role == "observer" else self.role
        return next((helper for helper in self.helpers if helper.dialog == role), None)

    @cached_property
    def words(self) -> StandinVocabulary:
        """Return the word lists for the heard words."""
        return vocabulary(listening(self.heard, self.lang))

    @cached_property
    def last_reply(self) -> AIMessage | None:
        """Return the assistant's last words before the user's; a shortcut in between leaves an open question open."""
        served = False
        for message in reversed(self.before):
            if isinstance(message, HumanMessage):
                served = False
            elif isinstance(message, AIMessage):
                served = served or "served" in notes_of(message)
                if not served:
                    return message
        return None

    @cached_property
    def left(self) -> PlannedCall | None:
        """Return the call whose question the user has not answered, since they said this."""
        last = self.before[-1] if self.before else None
        if not isinstance(last, ToolMessage) or notes_of(last).get("trouble") != LEFT:
            return None
        calls = (call for it in reversed(self.before) if isinstance(it, AIMessage) for call in it.tool_calls)
        return next((PlannedCall(it["name"], it["args"]) for it in calls if it["id"] == last.tool_call_id), None)

    @cached_property
    def instead(self) -> str:
        """Return what a farewell means in this dialog ("stop" where something plays), or nothing special."""
        lists = [f"instead.{tool}" for tool in (self.own.tools if self.own else ())]
        return next((self.words.phrases(name)[0] for name in lists if self.words.means(self.heard, name)), "")

    @property
    def offer(self) -> str | None:
        """Return the tool that the last reply offered, unless the user was asked something else since."""
        since = self.before[self.before.index(self.last_reply) :] if self.last_reply else ()
        is_past = any(notes_of(message).get("served") == FORGET for message in since)
        return None if is_past else self.note("offer")

    def note(self, name: str) -> Any:
        """Return a note left with the last reply ("asks", "offer")."""
        return self.last_reply.additional_kwargs.get(name) if self.last_reply else None

    def wishes(self, fields: frozenset[str] = frozenset()) -> tuple[Match, ...]:
        """Return what was wished for; `fields` are those of a form that a short sentence may be about."""
        wishes = self.phrases.wishes(self.heard, fields)
        if not wishes and (text := self.phrases.corrected(self.heard)):
            wishes = self.phrases.wishes(text, fields)
        # "Change my address" in a dialog points at no entry of another one's list.
        elsewhere = self.own and any(it.pattern.owner and it.pattern.points and not it.pattern.strong for it in wishes)
        return () if elsewhere else self.phrases.with_verbs(wishes)

    @cached_property
    def phrases(self) -> Phrasebook:
        """Return the phrases of everything in reach; the speaker's own ones have no owner."""
        own, examples = self.own, self.facts.get("examples") or {}
        sources = tuple(PhraseSource(name) for name in self.tools if name not in self.facts.get("helpers", {}))
        if own:
            # The dialog's own entry phrases count too ("help me plan my day"): inside the dialog they ask for nothing
            # more.
            sources += own.sources("")
        # After the user has taken a switch back, the message is meant for this dialog.
        if not self.facts.get("undone"):
            sources += tuple(it for helper in self.helpers if helper != own for it in helper.sources(helper.tool))
            names = {source.tool for source in sources}
            sources += tuple(PhraseSource(name, name) for name in self.facts.get("tools", ()) if name not in names)
        with_examples = (replace(source, examples=tuple(examples.get(source.tool, ()))) for source in sources)
        return phrasebook(tuple(dict.fromkeys(with_examples)), self.words.lang)


def situation(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, object]]) -> Situation:
    """Read the facts of a prompt.

    Raises:
        UselessReply: the prompt has no facts; no rule answers its prose.
    """
    facts = notes_of(messages[0]).get("facts")
    if facts is None:
        raise UselessReply("refused", "rules read the facts of a prompt, and this one has none")
    history = [message for message in facts.get("history", ()) if not {"cards", "told"} & notes_of(message).keys()]
    role, offered = facts.get("role", "supervisor"), [*tools, *facts.get("shelf", ())]
    # The places behind the user's last words, and behind the last note of a change of hands.
    # A place is 0 if the history has no such message.
    spoken, noted = _spoken(history), _behind_last(SystemMessage, history)
    noted = noted if noted >= spoken - 1 else 0
    last_words = history[spoken - 1].text.strip() if spoken else ""
    brief = notes_of(history[noted - 1]).get("brief") if noted else ""
    # Words from before the note belong to what the speaker did before it.
    heard = brief or facts.get("text") or ("" if noted > spoken else last_words)
    made = results(history[max(spoken, noted) :])
    if spoken < _behind_last(HumanMessage, history):
        # Calls that served an aside are not part of the work that goes on.
        made = [result for result in made if result.call.name != HELP]
    handed_back = max((place for place, result in enumerate(made, 1) if result.call.name == HAND_BACK), default=0)
    return Situation(
        facts,
        {tool["function"]["name"]: parameters(tool["function"]) for tool in offered},
        history,
        before=history[: max(spoken - 1, 0)],
        role=role,
        lang=facts.get("lang", FALLBACK),
        said=last_words,
        heard=heard,
        begun=role != "supervisor" and bool(noted or facts.get("opening")),
        results=made[handed_back:],
    )


def _spoken(history: Sequence[BaseMessage]) -> int:
    """Return the place behind the words to act on: the last ones, or those whose question was repeated."""
    spoken = _behind_last(HumanMessage, history)
    if any(RESUMES in message.additional_kwargs for message in history[spoken:]):
        asides = [place for place, message in enumerate(history[:spoken]) if notes_of(message).get("trouble") == LEFT]
        return _spoken(history[: asides[-1]]) if asides else spoken
    return spoken


def _behind_last(kind: type[BaseMessage], messages: Sequence[BaseMessage]) -> int:
    return max((place for place, message in enumerate(messages, 1) if isinstance(message, kind)), default=0)


def results(messages: Sequence[BaseMessage]) -> list[CallResult]:
    """Return the tool calls of these messages with their outcomes, in order."""
    made = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    calls = {call["id"]: PlannedCall(call["name"], call["args"]) for call in made}
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    return [
        _result(calls[answer.tool_call_id], answer)
        for answer in answers
        if answer.tool_call_id in calls and notes_of(answer).get("trouble") != LEFT
    ]


def _result(call: PlannedCall, message: ToolMessage) -> CallResult:
    trouble = notes_of(message).get("trouble")
    if trouble in ("failed", "arguments", "unknown"):
        # The returned words tell a model what to do; a user must not read them.
        return CallResult(call, notes_of(message).get("rescued") or "", failed=True, broken=True)
    seen = notes_of(message).get("seen") in ("shown", "with_words", "as_answer")
    return CallResult(call, message.text.strip(), message.status == "error", declined=trouble == "declined", seen=seen)
