"""How the conversation changes hands: each change is a function from the state to an update of it.

`is_active` and `dialog` are only ever written here, together, by `_hold`.
"""

from langchain_core.messages import AIMessage, SystemMessage

from agents.conversation.changes import Change, Update
from agents.events import Event, Message
from agents.events.handover import DialogChanged, Handover
from agents.speaker import Speaker
from agents.state import SUPERVISOR, State, Status, TalkUpdate
from agents.toolkit.handover_tools import missing
from prompts import phrase, table

MAX_HOPS = 3


def take_over(dialog: Speaker, state: State, brief: str) -> Change:
    """Let a dialog take the conversation over from whoever has it; a paused one goes on where it stood."""
    talk = state.get("talks", {}).get(dialog.name, {})
    note = phrase("resumed" if talk.get("status") == "paused" else "taken_over", state["lang"], brief=brief or "-")
    told = SystemMessage(note, additional_kwargs={"brief": brief})
    update: Update = {
        **hold(dialog.name),
        "talks": {dialog.name: {"status": "running", "version": dialog.version, "add": [told]}},
        "paused": [name for name in state.get("paused", []) if name != dialog.name],
        "offer": None,
        "hops": state.get("hops", 0) + 1,
    }
    return update, [
        Handover(from_=SUPERVISOR, to=dialog.name, brief=brief),
        DialogChanged(dialog=dialog.name, status="running"),
    ]


def pause(dialog: Speaker, state: State, reason: str, wish: str = "") -> Change:
    """Interrupt a dialog: the supervisor leads, and the dialog waits on the stack if it may be resumed."""
    if dialog.resume == "never":
        return finish(dialog, state, reason, wish)
    stack = [name for name in state.get("paused", []) if name != dialog.name]
    kept, dropped = [*stack, dialog.name][-3:], [*stack, dialog.name][:-3]
    update, events = _give_back(dialog, state, "paused", (reason, wish))
    for name in dropped:
        update["talks"][name] = {"status": "finished"}
    return {**update, "paused": kept}, events


def finish(dialog: Speaker, state: State, reason: str, wish: str = "") -> Change:
    """End a dialog: the supervisor leads and knows how it ended, and what the user wants next."""
    update, events = _give_back(dialog, state, "finished", (reason, wish))
    return {**update, "paused": [name for name in state.get("paused", []) if name != dialog.name]}, events


def resume(dialog: Speaker, state: State, *, silently: bool = False) -> Change:
    """Go on with a paused dialog; unless silently, with a recap made from its form, without a model."""
    text = "" if silently else recap(dialog, state)
    talk: TalkUpdate = {"status": "running"}
    if text:
        talk["add"] = [AIMessage(text)]
    update: Update = {
        **hold(dialog.name),
        "talks": {dialog.name: talk},
        "paused": [name for name in state.get("paused", []) if name != dialog.name],
        "offer": None,
        "said": [{"speaker": dialog.name, "text": text}] if text else [],
    }
    events: list[Event] = [
        Handover(from_=SUPERVISOR, to=dialog.name, brief=""),
        DialogChanged(dialog=dialog.name, status="running"),
    ]
    return update, events + ([Message(speaker=dialog.name, text=text)] if text else [])


def offer(dialog: Speaker, state: State) -> Change:
    """Ask the user, without a model, whether a paused dialog shall go on."""
    known, _ = progress(dialog, state)
    text = phrase("offer", state["lang"], title=title(dialog, state["lang"]), known=known)
    update: Update = {
        "talks": {SUPERVISOR: {"add": [AIMessage(text)]}, dialog.name: {"offered": True}},
        "offer": dialog.name,
        "said": [{"speaker": SUPERVISOR, "text": text}],
    }
    return update, [Message(speaker=SUPERVISOR, text=text)]


def recap(dialog: Speaker, state: State) -> str:
    """Return where a dialog stood: "Back to your profile: skills Python; what are you interested in?"."""
    known, question = progress(dialog, state)
    lang = state["lang"]
    return phrase("recap", lang, title=title(dialog, lang), known=known, question=question).strip()


def progress(dialog: Speaker, state: State) -> tuple[str, str]:
    """Return what a dialog's form holds, in words, and the question it is at (empty: none)."""
    if dialog.form is None:
        return "", ""
    labels = table(f"forms/{dialog.name}", state["lang"])
    form = state.get("talks", {}).get(dialog.name, {}).get("form") or {}
    known = [f"{labels.get(name, {}).get('label', name)}: {_worded(value)}" for name, value in form.items()]
    gaps = missing(dialog.form, form)
    question = labels.get(gaps[0], {}).get("question", "") if gaps else ""
    return f" ({'; '.join(known)})" if known else "", question


def title(dialog: Speaker, lang: str) -> str:
    """Return what the user knows a dialog by."""
    return str(table("texts", lang).get(f"title_{dialog.name}", dialog.name))


def drop(dialog: Speaker, state: State) -> Change:
    """Let a paused dialog go for good."""
    update: Update = {
        "talks": {dialog.name: {"status": "finished"}},
        "paused": [name for name in state.get("paused", []) if name != dialog.name],
        "offer": None,
    }
    return update, [DialogChanged(dialog=dialog.name, status="finished")]


def hold(dialog: str | None) -> Update:
    """Say who holds the conversation from now on: a dialog, or (None) the supervisor."""
    return {"is_active": dialog is None, "dialog": dialog}


def _give_back(dialog: Speaker, state: State, status: Status, why: tuple[str, str]) -> Change:
    known, _ = progress(dialog, state)
    reason = " / ".join(part for part in why if part)
    note = phrase(f"note_{status}", state["lang"], dialog=dialog.name, reason=reason or "-", known=known)
    told = SystemMessage(note, additional_kwargs={"brief": why[1], "dialog": dialog.name})
    update: Update = {
        **hold(None),
        "talks": {
            dialog.name: {"status": status, "offered": False},
            SUPERVISOR: {"add": [told]},
        },
    }
    return update, [
        Handover(from_=dialog.name, to=SUPERVISOR, brief=reason),
        DialogChanged(dialog=dialog.name, status=status),
    ]


def _worded(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
