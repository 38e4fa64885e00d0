"""Questions of tools to the user: how one is shown, how the next message answers it, how it is left.

The node that ran the tool shows the question; the node `ask` is where the graph waits. Nothing before it runs
again, whenever the answer comes and in whatever process.
"""

from dataclasses import dataclass
from functools import partial

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agents.conversation.changes import NOTHING, Change, Move, Update, emit, on_screen, put, say, sequence
from agents.conversation.switch import is_elsewhere
from agents.events import ToolEnd
from agents.language.identifiers import Aliases
from agents.state import State, holder_of
from agents.state.message_notes import notes
from agents.state.person import Heard
from agents.state.talk import Json, Pending
from agents.toolkit.confirmation import mark_of
from agents.toolkit.context import Context
from agents.toolkit.questions import CHOICE, ask, one_line, worded
from agents.toolkit.questions.kinds import Again, Chosen, Given, Reading, Runs, Said, asked_again, read_answer
from agents.toolkit.questions.options import CONFIRM
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
    pending, lang, text = state["pending"][0], state["lang"], (heard["text"] or "").strip()
    value = returned(pending, text, heard["source"])
    if value is None and heard["source"] == PAGE:
        return None
    traits = _traits(pending, speakers)
    said = Said(
        pending,
        text if value is None else value,
        lang,
        is_sure=value is not None or heard["source"] == CHOICE,
        form=traits.form,
        is_elsewhere=lambda: is_elsewhere(text, state, speakers),
    )
    reading = None if value == "" else read_answer(said)
    moves = _moves(reading, pending, heard, traits, lang) if reading else []
    if value is None:
        return sequence(state, *moves) if moves else None
    if not moves:
        return sequence(state, *_moves(asked_again(pending, phrase("page_wrong", lang)), pending, heard, traits, lang))
    # The page wrote it, so that it counts as text from outside.
    return sequence(state, *moves, put({"foreign": True}))


def _moves(reading: Reading, pending: Pending, heard: Heard, traits: Traits, lang: str) -> list[Move]:
    if isinstance(reading, Chosen):
        label, value, option_id = (reading.option[name] for name in ("label", "value", "id"))
        reading = Given(taken(Option(label, value, id=option_id)))
    if isinstance(reading, Given):
        return [partial(_give, pending, reading.value, heard, traits), announce_open]
    if isinstance(reading, Again):
        return [partial(_put_first, reading.pending), announce]
    if isinstance(reading, Runs):
        return [partial(_next, pending), put({"agreed": reading.pending})]
    refused = phrase("confirm_refused", lang, tool=pending["tool"])
    close = partial(_close, pending, refused, ok=False, id=heard["id"], noted=notes(trouble="declined"))
    return [close, partial(_next, pending), partial(_decline, pending), announce_open]


def left(state: State) -> Change:
    """Take every question back, since the user said something else; each tool call gets a result."""
    texts = {True: phrase("confirm_left", state["lang"]), False: phrase("not_chosen", state["lang"])}
    moves = [
        partial(_close, pending, texts[pending["kind"] == CONFIRM], ok=False, id=None)
        for pending in state.get("pending", [])
    ]
    update, events = sequence(state, *moves)
    return {**update, "pending": []}, events


def _put_first(pending: Pending, state: State) -> Change:
    return {"pending": [pending, *state["pending"][1:]]}, []


def _next(pending: Pending, state: State) -> Change:
    """Take the question off; who asked it hears what came of it."""
    return {"pending": state["pending"][1:], "listener": pending["speaker"]}, []


def _decline(pending: Pending, state: State) -> Change:
    return {"declined": [*state.get("declined", []), mark_of(pending["tool"], pending["args"])]}, []


def _give(pending: Pending, value: object, heard: Heard, traits: Traits, state: State) -> Change:
    aliases = Aliases(state.get("aliases"))
    text = written(aliases.hide(value, schema_of(traits.result)))
    close = partial(_close, pending, text, ok=True, id=heard["id"])
    return sequence(state, close, partial(_next, pending), put({"aliases": aliases.by_kind}))


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
