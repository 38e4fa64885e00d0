"""Questions of tools to the user: a question is shown, answered by the next message, or left.

The node that ran the tool shows the question; the graph waits in the node `ask`. Nothing before it runs again, even if
the answer comes days later in another process.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agents.conversation import handover
from agents.conversation.changes import Change, Update, lists_options
from agents.conversation.switch import is_elsewhere
from agents.events import Message, ToolEnd, ToolRequest
from agents.language.identifiers import Aliases, masked
from agents.state import State, holder_of
from agents.state.message_notes import LEFT, notes, notes_of, with_notes
from agents.state.person import UserMessage
from agents.state.speaker_state import Json, Pending
from agents.toolkit import questions
from agents.toolkit.client_tools import matched, waiting_for_client
from agents.toolkit.confirmation import mark_of
from agents.toolkit.context import Context
from agents.toolkit.questions import AnswerReading
from agents.toolkit.questions.form import EMPTY
from agents.toolkit.questions.options import CONFIRM, SELECTOR
from agents.toolkit.result import schema_of, written
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tool_named
from agents.toolkit.traits import CLIENT, Traits, traits_of
from prompts import phrase

LEFT_TEXTS = {CONFIRM: "confirm_left", CLIENT: "client_silent"}
"""The result of a call that the user has left, for the speaker, by the kind of its question."""
LONGEST_ASKED = 600
"""Characters of a question that a history keeps."""


class InterruptNode:
    """The node in which the graph waits for the user."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Wait for the user; the answer is the value with which a client resumes the graph.

        Only the user of the question can answer it: for anybody else it stays.
        """
        answer = interrupt(questions.ask(state["pending"][0], state["lang"]).plain())
        heard: UserMessage = {"id": state["heard"]["id"], "text": str(answer), "source": questions.CHOICE}
        change = Change(state)
        is_writer = runtime.context.user == state.get("writer", runtime.context.user)
        if is_writer and (reading := read(state, heard, self.speakers, runtime.context)):
            take(change, reading, heard, self.speakers)
        return change.emit(runtime)


def request_of(pending: Pending) -> ToolRequest:
    """Return the event for a call that the client is to run."""
    call = pending.get("client") or tool_call(name=pending["tool"], args=pending["args"], id=None)
    about = {"speaker": pending["speaker"], "id": pending["call"]}
    return ToolRequest(**about, name=call["name"], args=call["args"])


def announce(change: Change) -> None:
    """Put the first open question on the screen, if there is one, below the waiting views."""
    if not change.state.get("pending"):
        return
    pending, lang = change.state["pending"][0], change.state["lang"]
    if calls := waiting_for_client(change.state["pending"]):
        change.show_views(pending["speaker"])
        change.tell(*map(request_of, calls))
        change.put(listener=None)
        return
    question = questions.ask(pending, lang)
    change.show_views(pending["speaker"])
    change.tell(question)
    change.deliver(Message(speaker=pending["speaker"], text=questions.worded(question, lang), shown=True))
    options = question.options if lists_options(change.state) else []
    lines = [f"{number}. {questions.one_line(option['label'])}" for number, option in enumerate(options, 1)]
    change.screen(question.prompt, lines)
    change.put(listener=None)


def asked(state: State, pending: Pending) -> str:
    """Return a question with its options, as the user saw it, for a model."""
    shown = [] if pending["kind"] == CONFIRM else pending["options"]
    options = [questions.one_line(option["label"]) for option in shown]
    lines = [pending["prompt"], *(f"{number}. {label}" for number, label in enumerate(options, 1))]
    return masked("\n".join(lines), state.get("aliases"))[:LONGEST_ASKED]


def gone(change: Change) -> None:
    """Say that an answer fits no question; one that is open stays open."""
    change.say(holder_of(change.state), phrase("choice_gone", change.state["lang"]))
    change.put(listener=None)


def read(state: State, heard: UserMessage, speakers: Speakers, context: Context) -> AnswerReading | None:
    """Return the answer of a message to the question on the screen; None if it is about something else."""
    pending, lang, text = state["pending"][0], state["lang"], (heard["text"] or "").strip()
    if pending["kind"] == CLIENT:
        return None
    value = questions.returned(pending, text, heard["source"])
    if value is None and heard["source"] == questions.PAGE:
        return None
    form = _traits(pending, speakers).form
    answer = questions.GivenAnswer(
        pending,
        text if value is None else value,
        lang,
        lambda values: context.fitting(form, pending["tool"], lang, values),
        is_sure=value is not None or heard["source"] == questions.CHOICE,
        form=form,
        is_elsewhere=lambda: is_elsewhere(text, state, speakers),
    )
    reading = None if value == "" else questions.read_answer(answer)
    if reading and reading.pending.get("more") and len(state["pending"]) > 1:
        # The next question would come before the rest of the message.
        return None
    return reading if reading or value is None else questions.asked_again(pending, phrase("page_wrong", lang))


def take(change: Change, reading: AnswerReading, heard: UserMessage, speakers: Speakers) -> None:
    """Act on the user's answer to the question on the screen."""
    [pending, *waiting], text = change.state["pending"], (heard["text"] or "").strip()
    traits = _traits(pending, speakers)
    mark = mark_of(traits, pending["tool"], pending["args"])
    if questions.returned(pending, text, heard["source"]) is not None:
        # A page wrote it, so that it counts as foreign text.
        change.put(foreign=True)
    if reading.outcome == "again":
        change.put(pending=[reading.pending, *waiting])
        announce(change)
        return
    if reading.outcome == "runs":
        change.put(agreed=reading.pending)
        if traits.asks_once and pending["kind"] == CONFIRM:
            change.put(allowed=[*change.state.get("allowed", []), mark])
    elif reading.outcome == "declined":
        refused = phrase("confirm_refused", change.state["lang"], tool=pending["tool"])
        covered = [it for it in waiting if traits.asks_once and it["tool"] == pending["tool"] and it["kind"] == CONFIRM]
        for call, id in [(pending, heard["id"]), *((call, None) for call in covered)]:
            _close(change, call, refused, ok=False, id=id, noted=notes(trouble="declined"))
        _leave_behind(change, pending)
        change.put(declined=[*change.state.get("declined", []), mark])
        waiting = [call for call in waiting if call not in covered]
    else:
        _give(change, pending, reading.value, heard, traits)
        if pending.get("behind"):
            change.put(agreed=pending)
    # The asking speaker hears the outcome.
    change.put(pending=waiting, listener=pending["speaker"])
    if reading.outcome != "runs":
        announce(change)


def take_results(change: Change) -> None:
    """Give the client's calls their results; a call without a result has failed."""
    heard, calls = change.state["heard"], waiting_for_client(change.state.get("pending", []))
    results = matched(calls, heard["text"] or "")
    if not results:
        gone(change)
        return
    for place, pending in enumerate(calls):
        text = written(results.get(pending["call"], phrase("client_silent", change.state["lang"])))
        _close(change, pending, text, ok=pending["call"] in results, id=None if place else heard["id"])
    if calls[-1].get("behind"):
        change.put(agreed=calls[-1])
    change.put(pending=change.state["pending"][len(calls) :], foreign=True, listener=calls[0]["speaker"])
    announce(change)


def left(change: Change) -> None:
    """Take every question back, since the user said something else; each tool call gets a result."""
    for pending in change.state.get("pending", []):
        _leave_behind(change, pending)
        text = phrase(LEFT_TEXTS.get(pending["kind"], "not_chosen"), change.state["lang"])
        noted = notes(trouble=LEFT, filled=pending["filled"])
        if pending["kind"] == SELECTOR:
            noted |= notes(left_choice={**pending, "behind": []})
        _close(change, pending, text, ok=False, id=None, noted=noted)
    change.put(pending=[])


def choice_again(speaker: str, text: str, state: State) -> AnswerReading | None:
    """Return a message as the choice that a speaker's last call has asked for in vain; None if it chooses nothing."""
    left = handover.left_choice(speaker, state)
    reading = questions.read_choice(left, text, state["lang"]) if left else None
    return reading if reading and reading.outcome == "given" else None


def take_again(change: Change, reading: AnswerReading, speakers: Speakers) -> None:
    """Take the choice of a left question."""
    handover.put_again(change, reading.pending)
    take(change, reading, change.state["heard"], speakers)


def resumed(pending: Pending, messages: Sequence[AnyMessage], lang: str) -> Pending:
    """Return a question with the values of its fields that are known, unless no field is left to ask for.

    A value is an argument of the call, or the user filled it in before they left the same call.
    """
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    results = (it for it in reversed(messages) if isinstance(it, ToolMessage) and it.name == pending["tool"])
    last, args = next(results, None), pending["args"]
    is_same = last is not None and last.tool_call_id in calls and calls[last.tool_call_id]["args"] == args
    values_known = {**args, **(notes_of(last).get("filled", {}) if last and is_same else {})}
    filled = {name: value for name, value in values_known.items() if name in pending["fields"] and value not in EMPTY}
    if not filled or filled.keys() >= {*pending["fields"]}:
        return pending
    pending = {**pending, "filled": filled}
    labels = questions.open_fields(pending, lang).given
    values = "; ".join(phrase("form_value", lang, label=labels[it], value=filled[it]) for it in labels)
    return {**pending, "prompt": f"{pending['prompt']} {phrase('form_kept', lang, values=values)}"}


def _leave_behind(change: Change, pending: Pending) -> None:
    """Give the calls that waited behind a question a result: they do not run, since the call before them did not."""
    text = phrase("call_behind", change.state["lang"])
    for call in pending.get("behind", []):
        message = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        change.add(pending["speaker"], with_notes(message, trouble=LEFT, seen="nobody"))


def _give(change: Change, pending: Pending, value: object, heard: UserMessage, traits: Traits) -> None:
    """Give a call its result: the option that the user chose, or the values that the user filled in."""
    aliases = Aliases(change.state.get("aliases"), change.state.get("labels"))
    labels = [option["label"] for option in pending["options"]]
    text = written(aliases.hide(value, schema_of(traits.result), lambda: [pending["prompt"], *labels]))
    _close(change, pending, text, ok=True, id=heard["id"])
    change.put(aliases=aliases.by_kind, labels=aliases.labels)


def _close(change: Change, pending: Pending, text: str, *, ok: bool, id: str | None, noted: Json | None = None) -> None:
    """Write the result of a call, under the id of the user's message: no speaker then hears the message again."""
    call, speaker = pending["call"], pending["speaker"]
    status = "success" if ok else "error"
    question = notes(foreign=True) if pending["kind"] == CLIENT else notes(asked=asked(change.state, pending))
    cancelled, noted = noted is not None, {**(noted or {}), **question, **notes(seen="nobody")}
    about = {"tool_call_id": call, "name": pending["tool"], "status": status, "additional_kwargs": noted}
    change.add(speaker, ToolMessage(text, id=id, **about))
    change.tell(
        ToolEnd(
            speaker=speaker,
            tool=pending["tool"],
            args=pending["args"],
            id=call,
            ok=ok,
            object=text,
            cancelled=cancelled,
        )
    )


def _traits(pending: Pending, speakers: Speakers) -> Traits:
    tool = tool_named(pending["tool"], speakers[pending["speaker"]], speakers)
    return traits_of(tool) if tool else Traits()
