"""Keep stored threads usable: after a crash, and after dialogs were changed, renamed or removed."""

from collections.abc import Sequence
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agents.conversation.changes import NOTHING, Change, Move, Update, say
from agents.conversation.handover import hold
from agents.events import DialogChanged
from agents.memory.inbox import TranscriptLine
from agents.state import SUPERVISOR, State, form_of
from agents.state.history import dangling, mend
from agents.state.talk import Pending, TalkUpdate
from agents.toolkit.bound_tools import tools_of
from agents.toolkit.handover_tools import revise
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import traits_of
from prompts import phrase


def keep_up(state: State, speakers: Speakers) -> list[Move]:
    """Return the changes that fit a stored conversation to the application as it is now."""
    moves: list[Move] = []
    for name, talk in state.get("talks", {}).items():
        if name == SUPERVISOR or talk.get("status") not in ("running", "paused"):
            continue
        heir = speakers.successor(name)
        if heir is None:
            moves.append(partial(_close, name))
        elif heir.name != name:
            moves.append(partial(_rename, name, heir))
        elif talk.get("version") != heir.version:
            moves.append(partial(_update, heir))
    return [*moves, partial(_asked, speakers), _mended]


def _asked(speakers: Speakers, state: State) -> Change:
    """Keep the questions that can still be answered, as their tools are now; the calls of others are mended."""
    questions: list[Pending] = []
    for pending in state.get("pending", []):
        speaker = speakers.successor(pending["speaker"]) if pending["speaker"] != SUPERVISOR else speakers.supervisor
        tools = tools_of(speaker, speakers) if speaker else []
        tool = next((tool for tool in tools if tool.name == pending["tool"]), None)
        if speaker is None or tool is None:
            continue
        if pending["kind"] == CONFIRM:
            questions.append({**pending, "speaker": speaker.name})
            continue
        form = stored_fields(traits_of(tool).form)
        filled = {name: value for name, value in pending["filled"].items() if name in form["fields"]}
        skipped = [name for name in pending.get("skipped", []) if name in form["optional"]]
        if bool(form["fields"]) == bool(pending["fields"]):
            questions.append({**pending, **form, "speaker": speaker.name, "filled": filled, "skipped": skipped})
    return ({"pending": questions}, []) if questions != state.get("pending", []) else NOTHING


def _mended(state: State) -> Change:
    """Answer the tool calls that a crash left open."""
    note = phrase("call_lost", state["lang"])
    talks, waiting = state.get("talks", {}), {pending["call"] for pending in state.get("pending", [])}
    lost = {name: set(dangling(talk.get("messages", []))) - waiting for name, talk in talks.items()}
    broken = [name for name, calls in lost.items() if calls]
    return {"talks": {name: {"messages": mend(talks[name]["messages"], note, lost[name])} for name in broken}}, []


def _close(name: str, state: State) -> Change:
    """Let go of a dialog that is gone; say so if it held the conversation."""
    update: Update = {
        "talks": {name: {"status": "finished"}},
        "paused": [other for other in state.get("paused", []) if other != name],
    }
    if state.get("dialog") != name:
        return update, []
    spoken, messages = say(SUPERVISOR, phrase("dialog_gone", state["lang"], name=name))
    return {**update, **hold(None), **spoken}, [DialogChanged(dialog=name, status="finished"), *messages]


def _rename(name: str, heir: Speaker, state: State) -> Change:
    talk = state["talks"][name]
    update: Update = {
        "talks": {heir.name: {**talk, **_revised(heir, state, name)}, name: {"messages": [], "status": "finished"}},
        "paused": [heir.name if other == name else other for other in state.get("paused", [])],
    }
    return {**update, **(hold(heir.name) if state.get("dialog") == name else {})}, []


def _update(dialog: Speaker, state: State) -> Change:
    """Bring a conversation to the dialog's present version: form values it no longer admits are dropped."""
    return {"talks": {dialog.name: _revised(dialog, state, dialog.name)}}, []


def _revised(dialog: Speaker, state: State, stored: str) -> TalkUpdate:
    form = form_of(state, stored)
    return {"version": dialog.version, "form": revise(dialog.form, form) if dialog.form else {}}


def from_transcript(lines: Sequence[TranscriptLine]) -> Update:
    """Return what a lost state is rebuilt to: the supervisor leads and knows the last lines."""
    messages: list[AnyMessage] = [
        HumanMessage(line.text) if line.role == "user" else AIMessage(line.text) for line in lines
    ]
    return {**hold(None), "talks": {SUPERVISOR: {"messages": messages}}, "turn": lines[-1].turn}
