"""A prompt in the form for the rules: its facts, the tools, and the state of the conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.errors import UselessReply
from agents.language.text.vocabulary import listening
from agents.state.message_notes import LEFT, Facts, Helper, notes_of
from app.plugins.standin.patterns import Match, Phrasebook, PhraseSource, phrasebook
from app.plugins.standin.values import Parameter, parameters, thing
from app.plugins.standin.vocabulary import StandinVocabulary, asking, vocabulary
from prompts import FALLBACK, edition, form_texts, phrase

FILL_FORM, HAND_BACK, HELP, SEARCH = "fill_form", "hand_back", "assistant_help", "search"
PROTOCOL = frozenset({HAND_BACK, HELP, "undo_last", "search_history"})
"""Tools that every speaker has."""
LONGEST = 1_000
"""Characters of a message that the rules read; the time of some rules grows with the square of its length."""
RESUMES, UNSURE = "resumes", "unsure"
"""Notes of a reply that repeats a question after an aside, and of one whose writes need a confirmation."""


@dataclass(frozen=True)
class PlannedCall:
    """A tool call to make or made."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class CallResult:
    """A tool call since the user's last message, and its result."""

    call: PlannedCall
    text: str
    failed: bool
    declined: bool = False
    """Whether the user has refused the call's confirmation."""
    seen: bool = False
    """Whether the user already sees the result."""


@dataclass(frozen=True)
class Move:
    """The model's next move: a text, tool calls, or both."""

    text: str = ""
    calls: tuple[PlannedCall, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)
    """Notes with the message for the next turn: `asks` is the open question, `offer` the proposed tool."""


@dataclass(frozen=True)
class Situation:
    """One prompt in the form for the rules."""

    facts: Facts
    tools: Mapping[str, Mapping[str, Parameter]]
    messages: Sequence[BaseMessage]
    """The conversation; of its system messages only the notes of handoffs."""
    before: Sequence[BaseMessage]
    """The conversation before the user's last message."""
    role: str
    """The model's role: the supervisor, a dialog or an observer."""
    lang: str
    """The language of the answer."""
    heard: str
    """The words to act on: the brief of a handoff, else the user's last message."""
    begun: bool
    """Whether a dialog has just taken over."""
    results: Sequence[CallResult]
    """The tool calls since the user's last message, or since the last hand-back, with their results."""

    @property
    def helpers(self) -> Mapping[str, Helper]:
        """Return the dialogs, by their entry tools."""
        return self.facts.get("helpers") or {}

    @cached_property
    def own(self) -> Helper | None:
        """Return the dialog of the model's role."""
        role = self.facts.get("dialog") if self.role == "observer" else self.role
        return next((helper for helper in self.helpers.values() if helper["dialog"] == role), None)

    @cached_property
    def words(self) -> StandinVocabulary:
        """Return the word lists for the language of the user's words."""
        return vocabulary(listening(self.heard, self.lang))

    @cached_property
    def last_reply(self) -> AIMessage | None:
        """Return the assistant's reply before the user's message; a shortcut in between does not close its question."""
        replies = [it for it in self.before if isinstance(it, AIMessage) and (it.text or it.additional_kwargs)]
        return next((it for it in reversed(replies) if "served" not in notes_of(it)), None)

    @property
    def drops(self) -> bool:
        """Whether the message drops the open question and goes on: "never mind, what's the weather"."""
        return bool(self.words.behind(self.heard, "leave"))

    @cached_property
    def left(self) -> Move | None:
        """Return the move that the user's last message has passed over: its call in question, and those behind it."""
        last = self.before[-1] if self.before else None
        if not isinstance(last, ToolMessage) or notes_of(last).get("trouble") != LEFT or self.drops:
            return None
        replies = (it for it in reversed(self.before) if isinstance(it, AIMessage))
        reply = next(it for it in replies if last.tool_call_id in {call["id"] for call in it.tool_calls})
        left = dropwhile(lambda call: call["id"] != last.tool_call_id, reply.tool_calls)
        calls = (PlannedCall(call["name"], call["args"]) for call in left)
        return Move("", (*calls,), {**reply.additional_kwargs, RESUMES: True})

    @property
    def form(self) -> str | None:
        """Return the form of the role's dialog."""
        return self.own["form"] if self.own and FILL_FORM in self.tools else None

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """Return the label and the question of each field; a form without texts uses the fields' names."""
        worded = form_texts(self.form, self.lang) if self.form else {}
        names = self.facts.get("fields", ()) if self.form else ()
        plain = {it: {"label": it.replace("_", " "), "question": asking(FILL_FORM, it, self.lang)} for it in names}
        return {name: {**plain[name], **worded.get(name, {})} for name in names}

    @cached_property
    def asks(self) -> Any:
        """Return the open question of the last reply: the tool, its known arguments, and the missing parameter."""
        reply = self.last_reply.text if self.last_reply else ""
        # A recap may put the question of a form or of a tool.
        field = next((name for name, entry in self.fields.items() if reply.endswith(entry["question"])), None)
        earlier = [it.additional_kwargs.get("asks") for it in self.before if isinstance(it, AIMessage)]
        again = [it for it in earlier if it and reply.endswith(asking(it["tool"], it["slot"], self.lang))]
        asks: Any = None if self.drops else self.note("asks") or next(reversed(again), None)
        asks = {"tool": FILL_FORM, "slot": field, "args": {}} if field else asks
        return asks if asks and not self.begun and asks["slot"] in self.tools.get(asks["tool"], {}) else None

    @property
    def asked(self) -> Parameter | None:
        """Return the parameter for which the last reply asks."""
        return self.tools[self.asks["tool"]][self.asks["slot"]] if self.asks else None

    def writes(self, tool: str) -> bool:
        """Tell whether a tool writes, or may write: a tool without that fact counts as writing."""
        return tool == FILL_FORM or "writes" not in self.facts or tool in self.facts["writes"]

    @property
    def in_vain(self) -> Sequence[str]:
        """Return the tools that were asked in vain in this turn: help that knew nothing, a search without a find."""
        unknown = [it for it in self.results if it.call.name == HELP and it.text == phrase("help_unknown", self.lang)]
        return [it.call.name for it in self.results if it in unknown or (it.call.name == SEARCH and it.failed)]

    @property
    def has_written(self) -> bool:
        """Whether the turn has called a tool that writes."""
        return any(self.writes(it.call.name) for it in self.results)

    def note(self, name: str) -> Any:
        """Return a note of the last reply ("asks", "offer")."""
        return self.last_reply.additional_kwargs.get(name) if self.last_reply else None

    @property
    def last_results(self) -> Sequence[CallResult]:
        """Return the tool calls of the turn before this one, with their outcomes."""
        return results(self.before[_behind_last(HumanMessage, self.before) :])

    @property
    def recent(self) -> str:
        """Return the things of the list that the turn before this one showed or changed last."""
        names = [self.facts.get("served", ""), *(result.call.name for result in self.last_results)]
        listed = {thing(tool) for tool in self.tools if tool.startswith("list_")}
        return next((thing(it) for it in reversed(names) if thing(it) in listed), "")

    @cached_property
    def is_disputed(self) -> bool:
        """Whether any words fill another dialog's example of a question, while a dialog that searches may know more."""
        is_question = self.own is not None and SEARCH in self.own["tools"] and self.words.asks(self.heard)
        return is_question and HELP not in self.in_vain and any(it.pattern.owner for it in self.matches)

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """Return the matches of the user's words with examples, no matter whose."""
        return self.phrases.wishes(self.heard, self.tools, self.facts.get("active", ()))

    @cached_property
    def wishes(self) -> tuple[Match, ...]:
        """Return the user's wishes, as matches with examples."""
        active, wishes = self.facts.get("active", ()), self.matches
        # "Delete it" names no subject, and reaches no other dialog; "pause" reaches a film that plays. "No, at nine"
        # is for what was last done, and not for what was done before a question.
        is_correction = self.words.behind(self.heard, "correcting") is not None
        # While something is asked, a word in another form than an example's is rather an answer.
        needs = {it.pattern.owner for it in wishes if it.pattern.is_duty and not self.form}
        telling = {it.pattern.owner for it in wishes if not it.pattern.is_weak and (it.is_exact or not self.asks)}
        # "2" alone is one of what was shown; without such a list it means nothing.
        shown = " ".join(it.text for it in results(self.before) if it.seen and it.text.startswith("["))
        bare = [slot for it in wishes if not it.pattern.fixed for slot in it.slots if slot.endswith("_id")]
        is_lost = any(f'"{slot}"' not in shown for slot in bare) or self.is_disputed
        if is_lost or (self.left and is_correction and all(it.pattern.is_weak for it in wishes)):
            return ()
        # What its own search did not find, another dialog may know.
        is_bound = (self.own or is_correction) and SEARCH not in self.in_vain
        return (
            () if is_bound and any(it.pattern.owner not in {"", *active, *telling, *needs} for it in wishes) else wishes
        )

    def says(self, *names: str) -> frozenset[str]:
        """Return the word lists that together cover the whole message."""
        return self.words.made_of(self.heard, *names)

    @cached_property
    def phrases(self) -> Phrasebook:
        """Return the phrases of everything in reach; the speaker's own ones have no owner."""
        sources = [PhraseSource(name) for name in self.tools if name not in self.helpers]
        for tool, helper in self.helpers.items():
            # The dialog's own entry phrases count too: inside the dialog they ask for nothing more.
            owner = "" if helper == self.own else tool
            sources += (
                [] if owner and self.facts.get("undone") else [PhraseSource(tool, owner), *_sources(helper, owner)]
            )
        names = {source.tool for source in sources}
        # After the user has undone a handoff, the message is for this dialog.
        others = () if self.facts.get("undone") else self.facts.get("tools", ())
        sources += [PhraseSource(name, name) for name in others if name not in names]
        examples = self.facts.get("examples") or {}
        with_examples = (replace(source, examples=tuple(examples.get(source.tool, ()))) for source in sources)
        return phrasebook(tuple(dict.fromkeys(with_examples)), self.words.lang, edition())


def _sources(helper: Helper, owner: str) -> list[PhraseSource]:
    """Return the phrase sources of a dialog's tools; `owner` is the owner of their wishes."""
    inner = [PhraseSource(name, owner) for name in helper["tools"] if name not in PROTOCOL]
    # Sentences about a field ("I like …") are for the dialog that asks for it.
    return [*inner, PhraseSource(FILL_FORM, owner, None if owner else helper["form"])] if helper["form"] else inner


def situation(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]) -> Situation:
    """Read the facts of a prompt. Raises UselessReply: it has none, and the rules cannot read its prose."""
    facts = notes_of(messages[0]).get("facts")
    if facts is None:
        raise UselessReply("refused", "rules read the facts of a prompt, and this one has none")
    # A message of the system without a note is the result of a tool that only other speakers have.
    relevant = (it for it in facts.get("history", ()) if not isinstance(it, SystemMessage) or notes_of(it))
    history = _without_asides([it for it in relevant if not {"cards", "told"} & notes_of(it).keys()])
    role, offered = facts.get("role", "supervisor"), [*tools, *facts.get("tool_search", ())]
    # The places after the user's last message, and after the last note of a handoff; 0 without such a message.
    spoken, noted = _behind_last(HumanMessage, history), _behind_last(SystemMessage, history)
    noted = noted if noted >= spoken - 1 else 0
    last_words = history[spoken - 1].text.strip() if spoken else ""
    brief = notes_of(history[noted - 1]).get("brief") if noted else ""
    # Words from before the note belong to what the speaker did before it.
    heard = brief or facts.get("text") or ("" if noted > spoken else last_words)
    made = results(history[max(spoken, noted) :])
    handed_back = max((place for place, result in enumerate(made, 1) if result.call.name == HAND_BACK), default=0)
    return Situation(
        facts,
        {tool["function"]["name"]: parameters(tool["function"]) for tool in offered},
        history,
        before=history[: max(spoken, noted, 1) - 1],
        role=role,
        lang=facts.get("lang", FALLBACK),
        heard=heard if len(heard) <= LONGEST else "…",
        begun=role != "supervisor" and bool(noted or facts.get("opening")),
        results=made[handed_back:],
    )


def _without_asides(history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a history without what stands between a question and its repetition: the earlier wish goes on there."""
    kept: list[BaseMessage] = []
    for message in history:
        if RESUMES in message.additional_kwargs:
            left = [place for place, earlier in enumerate(kept) if notes_of(earlier).get("trouble") == LEFT]
            kept = kept[: left[-1]] if left else kept
        kept.append(message)
    return kept


def _behind_last(kind: type[BaseMessage], messages: Sequence[BaseMessage]) -> int:
    return max((place for place, message in enumerate(messages, 1) if isinstance(message, kind)), default=0)


def results(messages: Sequence[BaseMessage]) -> list[CallResult]:
    """Return the tool calls of these messages with their outcomes, in order."""
    made = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    calls = {call["id"]: PlannedCall(call["name"], call["args"]) for call in made}
    answers = [it for it in messages if isinstance(it, ToolMessage) and it.tool_call_id in calls]
    return [_result(calls[it.tool_call_id], it) for it in answers if notes_of(it).get("trouble") != LEFT]


def _result(call: PlannedCall, message: ToolMessage) -> CallResult:
    trouble = notes_of(message).get("trouble")
    if trouble in ("failed", "arguments", "unknown"):
        # The returned text instructs a model; a user must not read it.
        unfit, advice = notes_of(message).get("unfit"), notes_of(message).get("rescued")
        return CallResult(call, unfit or advice or "", failed=True)
    seen = notes_of(message).get("seen") in ("shown", "with_words", "as_answer")
    return CallResult(call, message.text.strip(), message.status == "error", declined=trouble == "declined", seen=seen)
