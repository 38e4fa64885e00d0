"""Migration of stored threads: after a crash, and after dialogs were changed, renamed or removed."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agents.conversation.changes import Change, Update
from agents.conversation.handover import set_holder
from agents.events import DialogChanged
from agents.memory.inbox import TranscriptLine
from agents.state import SUPERVISOR
from agents.state.history import dangling, mend, waiting_calls
from agents.state.speaker_state import Pending, SpeakerState, SpeakerUpdate
from agents.toolkit.handover_tools import revise
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import tool_named
from agents.toolkit.traits import CLIENT, traits_of
from prompts import phrase


def keep_up(change: Change, speakers: Speakers) -> None:
    """Fit a stored conversation to the present application."""
    for name, talk in change.state.get("talks", {}).items():
        if name == SUPERVISOR or talk.get("status") not in ("running", "paused"):
            continue
        heir = speakers.successor(name)
        if heir is None:
            _close(change, name)
        elif heir.name != name:
            _rename(change, name, heir)
        elif talk.get("version") != heir.version:
            change.talk(name, **_revised(heir, talk))
    _keep_questions(change, speakers)
    _mend(change)


def _close(change: Change, name: str) -> None:
    """Let go of a dialog that is gone; say so if it held the conversation."""
    change.talk(name, status="finished")
    change.put(paused=[other for other in change.state.get("paused", []) if other != name])
    if change.state.get("dialog") == name:
        change.put(**set_holder(None))
        change.tell(DialogChanged(dialog=name, status="finished"))
        change.say(SUPERVISOR, phrase("dialog_gone", change.state["lang"], name=name))


def _rename(change: Change, name: str, heir: Speaker) -> None:
    talk = change.state["talks"][name]
    moved: SpeakerUpdate = {**talk, **_revised(heir, talk)}
    change.talk(heir.name, **moved)
    change.talk(name, messages=[], status="finished")
    change.put(paused=[heir.name if other == name else other for other in change.state.get("paused", [])])
    if change.state.get("dialog") == name:
        change.put(**set_holder(heir.name))


def _revised(dialog: Speaker, talk: SpeakerState) -> SpeakerUpdate:
    """Bring a talk to the dialog's present version, and drop form values that it no longer admits."""
    form = talk.get("form") or {}
    return {"version": dialog.version, "form": revise(dialog.form, form) if dialog.form else {}}


def _keep_questions(change: Change, speakers: Speakers) -> None:
    """Keep the questions that can still be answered with the present tools; the calls of the others are mended."""
    before, questions = change.state.get("pending", []), list[Pending]()
    for pending in before:
        speaker = speakers.successor(pending["speaker"]) if pending["speaker"] != SUPERVISOR else speakers.supervisor
        tool = tool_named(pending["tool"], speaker, speakers) if speaker else None
        if speaker is None or (tool is None and pending["kind"] != CLIENT):
            continue
        if pending["kind"] in (CONFIRM, CLIENT):
            questions.append({**pending, "speaker": speaker.name})
            continue
        form = stored_fields(traits_of(tool).form if tool else None)
        filled = {name: value for name, value in pending["filled"].items() if name in form["fields"]}
        skipped = [name for name in pending.get("skipped", []) if name in form["optional"]]
        if bool(form["fields"]) == bool(pending["fields"]):
            questions.append({**pending, **form, "speaker": speaker.name, "filled": filled, "skipped": skipped})
    if questions != before:
        change.put(pending=questions)


def _mend(change: Change) -> None:
    """Answer the tool calls that a crash left open."""
    note = phrase("call_lost", change.state["lang"])
    waiting = waiting_calls(change.state.get("pending", []))
    for name, talk in change.state.get("talks", {}).items():
        messages = talk.get("messages", [])
        if lost := {*dangling(messages)} - waiting:
            change.talk(name, messages=mend(messages, dict.fromkeys(lost, note)))


def from_transcript(lines: Sequence[TranscriptLine]) -> Update:
    """Return the update that rebuilds a lost state: the supervisor leads and knows the last lines."""
    messages: list[AnyMessage] = [
        HumanMessage(line.text) if line.role == "user" else AIMessage(line.text) for line in lines
    ]
    change = Change({})
    change.put(**set_holder(None))
    change.put(turn=lines[-1].turn)
    change.talk(SUPERVISOR, messages=messages)
    return change.update
