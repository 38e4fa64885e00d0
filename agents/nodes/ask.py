"""Questions of tools to the user: how one is shown, how the next message answers it, how it is left.

The node that ran the tool shows the question; the node `ask` is where the graph waits. Nothing before it runs
again, whenever the answer comes and in whatever process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import ValidationError

from agents.conversation.changes import NOTHING, Change, Move, Update, emit, put, say, sequence
from agents.conversation.free import is_elsewhere
from agents.conversation.screen import on_screen
from agents.events import ToolEnd
from agents.language.identifiers import Aliases
from agents.language.text.phrases import is_said, says
from agents.state import State, holder_of
from agents.state.message_notes import notes
from agents.state.person import Heard
from agents.state.talk import Json, Pending
from agents.toolkit.confirmation import mark_of
from agents.toolkit.context import Context
from agents.toolkit.questions import CHOICE, ask, called, offered, one_line, open_fields, worded
from agents.toolkit.questions.agreement import CONFIRM, agreed
from agents.toolkit.questions.form_errors import misfits
from agents.toolkit.questions.form_fields import FormFields, left_out
from agents.toolkit.questions.form_values import complete_form, filled, is_sentence, takes_no
from agents.toolkit.questions.interruption import INTERRUPT
from agents.toolkit.questions.options import chosen, misses
from agents.toolkit.questions.returned import PAGE, returned
from agents.toolkit.result import Option, schema_of, taken, written
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import Traits, traits_of
from prompts import phrase


@dataclass(frozen=True)
class Asking:
    """The node in which the graph waits for the user."""

    speakers: Speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Wait for the user; the answer is the value with which a client resumes the graph.

        Nobody but the user who was asked can answer: for anybody else the question stays.
        """
        answer = interrupt(ask(state["pending"][0], state["lang"]).plain())
        if runtime.context.user != state.get("writer", runtime.context.user):
            return {}
        heard: Heard = {"id": state["heard"]["id"], "text": str(answer), "source": CHOICE}
        change = answered(state, heard, self.speakers)
        update, events = change or NOTHING
        emit(runtime, events)
        return update


def announce(state: State) -> Change:
    """Put the first question on the screen."""
    pending = state["pending"][0]
    question = ask(pending, state["lang"])
    spoken, messages = say(pending["speaker"], worded(question, state["lang"]), shown=True)
    # Yes and no are nothing that a later message points at.
    options = [] if pending["kind"] == CONFIRM else question.options
    lines = [f"{number}. {one_line(option['label'])}" for number, option in enumerate(options, 1)]
    screen = on_screen(state, question.prompt, lines)
    return {**spoken, "screen": screen, "listener": None}, [question, *messages]


def announce_open(state: State) -> Change:
    """Put the first open question on the screen, if there is one."""
    return announce(state) if state.get("pending") else NOTHING


def gone(state: State) -> Change:
    """Say that an answer fits no question; one that is open stays open."""
    spoken, events = say(holder_of(state), phrase("choice_gone", state["lang"]))
    return {**spoken, "listener": None}, events


def answered(state: State, heard: Heard, speakers: Speakers) -> Change | None:
    """Return what a message changes if it answers the question on the screen; None if it does not."""
    pending = state["pending"][0]
    text = (heard["text"] or "").strip()
    if (value := returned(pending, text, heard["source"])) is not None:
        return _returning(state, {**heard, "text": value, "source": CHOICE}, speakers)
    return None if heard["source"] == PAGE else _answering(state, heard, speakers)


def _returning(state: State, heard: Heard, speakers: Speakers) -> Change:
    """Take what a page handed back, or ask again; the page wrote it, so that it counts as text from outside."""
    change = _answering(state, heard, speakers) if heard["text"] else None
    if change is None:
        return _again(state, {**state["pending"][0], "prompt": phrase("page_wrong", state["lang"])})
    return sequence(state, lambda _: change, put({"foreign": True}))


def _answering(state: State, heard: Heard, speakers: Speakers) -> Change | None:
    """Return what an answer changes, by the kind of the question; None if it is none."""
    pending = state["pending"][0]
    if pending["kind"] == CONFIRM:
        return _agreeing(state, heard)
    traits = _traits(pending, speakers)
    text = (heard["text"] or "").strip()
    if pending["kind"] == INTERRUPT:
        return _going_on(state, heard, speakers)
    if pending["options"]:
        return _choosing(state, heard, traits)
    if pending["fields"] and traits.form:
        return _filling(state, heard, traits, speakers)
    is_ready = says("ready", text, state["lang"])
    if is_ready and pending.get("back"):
        return _again(state, {**pending, "prompt": phrase("page_wrong", state["lang"])})
    if heard["source"] == CHOICE or is_ready:
        return sequence(state, *_given(pending, {"done": True, "answer": text}, heard, traits))
    return None


def left(state: State) -> Change:
    """Take every question back, since the user said something else; each tool call gets a result."""
    texts = {True: phrase("confirm_left", state["lang"]), False: phrase("not_chosen", state["lang"])}
    moves = [
        partial(_close, pending, texts[pending["kind"] == CONFIRM], ok=False, id=None)
        for pending in state.get("pending", [])
    ]
    update, events = sequence(state, *moves)
    return {**update, "pending": []}, events


def _agreeing(state: State, heard: Heard) -> Change | None:
    """Take yes or no to a call: it runs next, or gets a refusal as its result."""
    pending = state["pending"][0]
    is_agreed = agreed(heard["text"] or "", called(pending), state["lang"])
    if is_agreed is None:
        return None
    update: Update = {"pending": state["pending"][1:], "listener": pending["speaker"]}
    if is_agreed:
        return {**update, "agreed": pending}, []
    refused = phrase("confirm_refused", state["lang"], tool=pending["tool"])
    declined = [*state.get("declined", []), mark_of(pending["tool"], pending["args"])]
    close = partial(_close, pending, refused, ok=False, id=heard["id"], noted=notes(trouble="declined"))
    return sequence(state, close, put({**update, "declined": declined}), announce_open)


def _going_on(state: State, heard: Heard, speakers: Speakers) -> Change | None:
    """Run the tool that interrupted itself again, with what the user says as the answer."""
    pending, text = state["pending"][0], (heard["text"] or "").strip()
    if pending["options"]:
        options = called(pending) if heard["source"] == CHOICE else offered(pending)
        place = chosen(text, options, state["lang"])
        if place is None:
            return _which(state, heard, options)
        text = str(pending["options"][place]["value"])
    elif not text or (heard["source"] != CHOICE and is_elsewhere(text, state, speakers)):
        return None
    answers = [*pending.get("answers", []), text]
    agreed_to: Pending = {**pending, "answers": answers}
    return {"pending": state["pending"][1:], "listener": pending["speaker"], "agreed": agreed_to}, []


def _choosing(state: State, heard: Heard, traits: Traits) -> Change | None:
    """Take the option that the message names; ask again for a number that none has."""
    pending, lang, text = state["pending"][0], state["lang"], heard["text"] or ""
    is_sure = heard["source"] == CHOICE
    options = called(pending) if is_sure else offered(pending)
    place = chosen(text, options, lang)
    if place is not None:
        option = pending["options"][place]
        value = taken(Option(option["label"], option["value"], id=option["id"]))
        return sequence(state, *_given(pending, value, heard, traits))
    return _which(state, heard, options)


def _which(state: State, heard: Heard, options: Sequence[Json]) -> Change | None:
    """Ask again where the message is a number that no option has; None if it is no answer."""
    lang, pending = state["lang"], state["pending"][0]
    if heard["source"] == CHOICE or not misses(heard["text"] or "", options, lang):
        return None
    return _again(state, {**pending, "prompt": phrase("choice_which", lang, count=len(options))})


def _filling(state: State, heard: Heard, traits: Traits, speakers: Speakers) -> Change | None:
    """Take the values that the message gives; ask again for those that are missing or wrong."""
    pending, lang, text = state["pending"][0], state["lang"], heard["text"] or ""
    is_sure = heard["source"] == CHOICE
    assert traits.form is not None  # the caller asked
    form_fields = open_fields(pending, lang)
    is_no = takes_no(traits.form, form_fields) and is_said("no", text)
    out = left_out(form_fields, text)
    if not (is_sure or is_no or out) and is_elsewhere(text, state, speakers):
        return None
    pending = {**pending, "skipped": [*pending.get("skipped", []), *sorted(out)]}
    try:
        values = filled(traits.form, form_fields, text, sure=is_sure, without=out)
        if not values and not out:
            return None
        everything = {**pending["filled"], **values}
        if {*everything, *pending["skipped"]} < {*pending["fields"]}:
            return _again(state, {**pending, "filled": everything, "prompt": phrase("form_more", lang)})
        value = complete_form(traits.form, everything)
    except ValidationError as wrong:
        if not is_sure and is_sentence(text, form_fields):
            return None
        return _again(state, _refused(pending, form_fields, misfits(traits.form, wrong, lang), lang))
    return sequence(state, *_given(pending, value, heard, traits))


def _refused(pending: Pending, form_fields: FormFields, wrong: Mapping[str, str], lang: str) -> Pending:
    """Return the question as it is asked again: for the values that are wrong, or for all that do not go together."""
    labels = form_fields.labels
    problem = "; ".join(f"{labels.get(name, name)}: {reason}" if name else reason for name, reason in wrong.items())
    filled = {} if "" in wrong else {name: value for name, value in pending["filled"].items() if name not in wrong}
    skipped = [] if "" in wrong else [name for name in pending["skipped"] if name not in wrong]
    prompt = phrase("form_wrong", lang, problem=problem)
    return {**pending, "filled": filled, "skipped": skipped, "prompt": prompt}


def _again(state: State, pending: Pending) -> Change:
    update: Update = {"pending": [pending, *state["pending"][1:]]}
    return sequence(state, put(update), announce)


def _given(pending: Pending, value: object, heard: Heard, traits: Traits) -> list[Move]:
    """Answer the call, and ask what is asked next."""

    def give(state: State) -> Change:
        aliases = Aliases(state.get("aliases"))
        text = written(aliases.hide(value, schema_of(traits.result)))
        update, events = _close(pending, text, state, ok=True, id=heard["id"])
        rest = state["pending"][1:]
        return {**update, "aliases": aliases.by_kind, "pending": rest, "listener": pending["speaker"]}, events

    return [give, announce_open]


def _close(pending: Pending, text: str, state: State, *, ok: bool, id: str | None, noted: Json | None = None) -> Change:
    """Write the result of a call, under the id of the user's message: no speaker then hears the message again."""
    call, speaker = pending["call"], pending["speaker"]
    status = "success" if ok else "error"
    about = {"tool_call_id": call, "name": pending["tool"], "status": status, "additional_kwargs": noted or {}}
    message = ToolMessage(text, id=id, **about)
    end = ToolEnd(speaker=speaker, tool=pending["tool"], args=pending["args"], id=call, ok=ok, object=text)
    return {"talks": {speaker: {"add": [message]}}}, [end]


def _traits(pending: Pending, speakers: Speakers) -> Traits:
    tools = speakers[pending["speaker"]].tools
    return next((traits_of(tool) for tool in tools if tool.name == pending["tool"]), Traits())
