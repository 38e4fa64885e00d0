"""What the rules read of a prompt: its facts, the tools, and where the conversation stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.errors import UselessReply
from agents.language.text.vocabulary import listening
from agents.state.message_notes import FORGET, LEFT, UNDO, Facts, notes_of
from app.plugins.standin.patterns import FILL_FORM, Match, Phrasebook, PhraseSource, phrasebook
from app.plugins.standin.values import Parameter, parameters
from app.plugins.standin.vocabulary import StandinVocabulary, asking, vocabulary
from prompts import FALLBACK, form_texts

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

    def sources(self, owner: str) -> tuple[PhraseSource, ...]:
        """Return where phrases that belong to this dialog come from; `owner` is who gets them."""
        inner = tuple(PhraseSource(name, owner) for name in self.tools if name not in PROTOCOL)
        # Sentences about a field ("I like …") are for the dialog that asks for it.
        fields = (PhraseSource(FILL_FORM, owner, None if owner else self.form),) if self.form else ()
        return (PhraseSource(self.tool, owner), *inner, *fields)


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

    @property
    def form(self) -> str | None:
        """Return the form of the dialog whose part is played."""
        return self.own.form if self.own and FILL_FORM in self.tools else None

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """Return the label and the question of each field; a form without words of its own uses the fields' names."""
        worded = form_texts(self.form, self.lang) if self.form else {}
        names = self.facts.get("fields", ()) if self.form else ()
        plain = {it: {"label": it.replace("_", " "), "question": asking(FILL_FORM, it, self.lang)} for it in names}
        return {name: {**plain[name], **worded.get(name, {})} for name in names}

    @cached_property
    def asks(self) -> Any:
        """Return the open question of the last reply: the tool, its known arguments, and the missing parameter."""
        reply, asks = self.last_reply.text if self.last_reply else "", self.note("asks")
        if self.before and notes_of(self.before[-1]).get("served") == UNDO:
            field = next(iter(self.facts.get("missing", ())), None)
        else:
            field = next((name for name, entry in self.fields.items() if reply.endswith(entry["question"])), None)
        if self.form and field:
            asks = {"tool": FILL_FORM, "slot": field, "args": {}}
        return asks if asks and asks["slot"] in self.tools.get(asks["tool"], {}) else None

    def writes(self, tool: str) -> bool:
        """Tell whether a tool changes something, or may: who does not say so is not trusted."""
        return tool == FILL_FORM or "writes" not in self.facts or tool in self.facts["writes"]

    @property
    def abilities(self) -> list[str]:
        """Return the tools beside those that every speaker has."""
        return [name for name in self.tools if name not in PROTOCOL]

    @property
    def offer(self) -> str | None:
        """Return the tool that the last reply offered, unless the user was asked something else since."""
        since = self.before[self.before.index(self.last_reply) :] if self.last_reply else ()
        is_past = any(notes_of(message).get("served") == FORGET for message in since)
        return None if is_past else self.note("offer")

    def note(self, name: str) -> Any:
        """Return a note left with the last reply ("asks", "offer")."""
        return self.last_reply.additional_kwargs.get(name) if self.last_reply else None

    @cached_property
    def wishes(self) -> tuple[Match, ...]:
        """Return what was wished for, as far as examples say it."""
        wishes = self.phrases.wishes(self.heard, frozenset(self.tools))
        # "No, at nine" and "delete it" do not say what they are about, and reach no other dialog.
        return () if self.own and any(it.pattern.owner and it.pattern.is_weak for it in wishes) else wishes

    @property
    def is_done(self) -> bool:
        """Whether the user says that this is all, and it is no wish in the words of this dialog's cards."""
        is_own = any(not match.pattern.owner for match in self.wishes)
        return not is_own and "done" in self.words.made_of(self.heard, "done", "thanks", "no")

    def says(self, *names: str) -> frozenset[str]:
        """Return the word lists that make up all that was said."""
        return self.words.made_of(self.heard, *names)

    @cached_property
    def phrases(self) -> Phrasebook:
        """Return the phrases of everything in reach; the speaker's own ones have no owner."""
        # After the user has taken a switch back, the message is meant for this dialog.
        return self._phrasebook(is_alone=bool(self.facts.get("undone")))

    @cached_property
    def all_phrases(self) -> Phrasebook:
        """Return the phrases of everybody, also of those who are not meant."""
        return self._phrasebook(is_alone=False)

    def _phrasebook(self, *, is_alone: bool) -> Phrasebook:
        own, examples = self.own, self.facts.get("examples") or {}
        sources = tuple(PhraseSource(name) for name in self.tools if name not in self.facts.get("helpers", {}))
        if own:
            # The dialog's own entry phrases count too: inside the dialog they ask for nothing more.
            sources += own.sources("")
        if not is_alone:
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
