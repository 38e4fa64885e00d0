"""Tools that wait for the user: what they ask, how the next message answers it, how it is left.

A question is asked by the node that ran the tool; the node `ask` is where the graph waits. Nothing before it runs
again, whenever and in whatever process the answer comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import ValidationError

from agents import handover
from agents.aliases import Aliases
from agents.choosing import chosen
from agents.events import Event, Interrupt, Message, ToolEnd
from agents.filling import filled
from agents.handover import Change, Move, Update
from agents.ideas import says
from agents.screen import on_screen
from agents.speaker import Speakers
from agents.state import Context, Heard, Pending, State
from agents.tools.outcome import Option, schema_of, taken, written
from agents.tools.traits import Traits, traits_of
from prompts import phrase, table

CHOICE = "choice"
"""The source of a message that is nothing but an answer to what a tool asked: a tap, `resume --choose`."""


@dataclass(frozen=True)
class Asking:
    """The node in which the graph waits for the user."""

    speakers: Speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Wait; what a client of the graph resumes it with is the answer."""
        answer = interrupt(ask(state["pending"][0], state["lang"]).plain())
        heard: Heard = {"id": state["heard"]["id"], "text": str(answer), "source": CHOICE}
        change = answered(state, heard, self.speakers)
        update, events = change if change else ({}, [])
        for event in events:
            runtime.stream_writer(event)
        return update


def ask(pending: Pending, lang: str) -> Interrupt:
    """Return what the user is asked."""
    labels = table(f"forms/{pending['tool']}", lang)
    left = [name for name in pending["fields"] if name not in pending["filled"]]
    return Interrupt(
        id=pending["call"],
        kind=pending["kind"],
        prompt=pending["prompt"],
        options=[_offered(option, place) for place, option in enumerate(pending["options"], 1)],
        url=pending["url"],
        fields=[{"name": name, "label": str(labels.get(name, {}).get("label", name))} for name in left],
    )


def worded(question: Interrupt, lang: str) -> str:
    """Return a question in plain words, its options numbered."""
    details = [f" — {option['detail']}" if option.get("detail") else "" for option in question.options]
    lines = [f"{n}. {o['label']}{d}" for n, (o, d) in enumerate(zip(question.options, details, strict=True), 1)]
    fields = [f"{field['label']}:" for field in question.fields]
    hint = [phrase("form_hint", lang)] if len(fields) > 1 else []
    return "\n".join([question.prompt, *lines, *([question.url] if question.url else []), *hint, *fields])


def announce(state: State) -> Change:
    """Put the first question on the screen."""
    pending = state["pending"][0]
    question = ask(pending, state["lang"])
    message = Message(speaker=pending["speaker"], text=worded(question, state["lang"]), shown=True)
    said = {"speaker": message.speaker, "text": message.text}
    screen = on_screen(state, question.prompt, [option["label"] for option in question.options])
    return {"said": [said], "screen": screen, "listener": None}, [question, message]


def answered(state: State, heard: Heard, speakers: Speakers) -> Change | None:
    """Return what a message changes if it answers the question on the screen; None if it does not."""
    pending = state["pending"][0]
    found = _traits(pending, speakers)
    text = (heard["text"] or "").strip()
    if pending["options"]:
        place = chosen(text, pending["options"], state["lang"])
        if place is None:
            return None
        option = pending["options"][place]
        value = taken(Option(option["label"], option["value"], id=option["id"]))
        return handover.sequence(state, *_given(pending, value, heard, found))
    if pending["fields"] and found.form:
        return _filling(state, heard, found)
    if heard["source"] == CHOICE or says("ready", text, state["lang"]):
        return handover.sequence(state, *_given(pending, {"done": True, "answer": text}, heard, found))
    return None


def left(state: State) -> Change:
    """Take every question back: the user said something else, and no tool call may stay unanswered."""
    note = phrase("not_chosen", state["lang"])
    moves = [partial(_close, pending, note, ok=False, id=None) for pending in state["pending"]]
    update, events = handover.sequence(state, *moves)
    return {**update, "pending": []}, events


def _filling(state: State, heard: Heard, found: Traits) -> Change | None:
    """Take what the message fills in; ask again for what is missing or wrong."""
    pending, lang = state["pending"][0], state["lang"]
    sure = heard["source"] == CHOICE
    if not sure and any(says(idea, heard["text"] or "", lang) for idea in ("cancel", "switch")):
        return None
    assert found.form is not None  # the caller asked
    labels = {field["name"]: field["label"] for field in ask(pending, lang).fields}
    try:
        given = filled(found.form, labels, heard["text"] or "", sure=sure)
    except ValidationError as wrong:
        problem = "; ".join(f"{labels.get(str(e['loc'][0]), e['loc'][0])}: {e['msg']}" for e in wrong.errors())
        return _again(state, heard, {**pending, "prompt": phrase("form_wrong", lang, problem=problem)})
    if not given:
        return None
    everything = {**pending["filled"], **given}
    if len(everything) < len(pending["fields"]):
        prompt = phrase("form_more", lang)
        return _again(state, heard, {**pending, "filled": everything, "prompt": prompt})
    value = found.form.model_validate(everything).model_dump(mode="json")
    return handover.sequence(state, *_given(pending, value, heard, found))


def _again(state: State, heard: Heard, pending: Pending) -> Change:
    update: Update = {"pending": [pending, *state["pending"][1:]]}
    return handover.sequence(state, lambda _: (update, []), announce)


def _given(pending: Pending, value: Any, heard: Heard, found: Traits) -> list[Move]:
    """Answer the call, and ask what is asked next."""

    def give(state: State) -> Change:
        aliases = Aliases(state.get("aliases"))
        text = written(aliases.hide(value, schema_of(found.result)))
        update, events = _close(pending, text, state, ok=True, id=heard["id"])
        rest = state["pending"][1:]
        return {**update, "aliases": aliases.known, "pending": rest, "listener": pending["speaker"]}, events

    return [give, lambda state: announce(state) if state["pending"] else ({}, [])]


def _close(pending: Pending, text: str, state: State, *, ok: bool, id: str | None) -> Change:
    """Write the result of a call; under the message's id, so that nobody hears the message a second time."""
    call, speaker = pending["call"], pending["speaker"]
    status = "success" if ok else "error"
    message = ToolMessage(text, tool_call_id=call, name=pending["tool"], status=status, id=id)
    about: Mapping[str, Any] = {"speaker": speaker, "tool": pending["tool"], "args": pending["args"], "id": call}
    events: Sequence[Event] = [ToolEnd(**about, ok=ok, object=text)]
    return {"talks": {speaker: {"add": [message]}}}, [*events]


def _offered(option: Mapping[str, Any], number: int) -> Mapping[str, str]:
    detail = {"detail": option["detail"]} if option["detail"] else {}
    return {"id": option["id"] or str(number), "label": option["label"], **detail}


def _traits(pending: Pending, speakers: Speakers) -> Traits:
    tools = speakers[pending["speaker"]].tools
    return next((traits_of(tool) for tool in tools if tool.name == pending["tool"]), Traits())
