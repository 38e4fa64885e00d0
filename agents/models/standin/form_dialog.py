"""The part of a dialog with a form: ask field by field, take what is told unasked, finish."""

from collections.abc import Mapping
from typing import Any

from agents.models.standin.form import Form, Understood
from agents.models.standin.plan import cancelled, wants_help
from agents.models.standin.replies import ask_help, joined, not_understood, small_talk, told
from agents.models.standin.sentences import asking, sentence
from agents.models.standin.situation import Situation
from agents.models.standin.tool_dialog import hand_back, leave
from agents.models.standin.types import FILL_FORM, Call, Move
from prompts import form_texts


def speak(now: Situation) -> Move:
    """Return the dialog's next move."""
    if now.results:
        return _after(now)
    begun = now.begun or not now.heard
    asked = None if begun else _asked(now)
    form = Form(now, asked)
    if not begun and (move := _chat(now, form)):
        return move
    meant = form.understand() if now.heard else Understood()
    return _act(now, meant) or _speak_only(now, meant, asked, begun)


def _chat(now: Situation, form: Form) -> Move | None:
    """Answer what is not about the form: small talk, "skip", "that's all", "something else"."""
    words, asked = now.words, form.asked
    if asked and form.kind(asked) == "flag" and words.made_of(now.heard, "yes", "no"):
        return None
    if asked and words.made_of(now.heard, "skip"):
        return _go_on(now, "", asked, skip=True)
    if move := leave(now):
        return move
    if text := cancelled(now):
        return _go_on(now, "" if asked else text, asked, skip=bool(asked), said_enough=True)
    if asked and words.made_of(now.heard, "yes", "undo.phrases"):
        return _go_on(now, "", asked)
    text = small_talk(now)
    return _go_on(now, text, asked, said_enough=True) if text else None


def _act(now: Situation, meant: Understood) -> Move | None:
    """Fill the form first; what reads it, and wishes of others, come in the next round."""
    wish = ". ".join(match.text for match in meant.plan.foreign) or None
    later = [{"name": call.name, "args": call.args} for call in meant.plan.calls]
    if meant.values:
        return Move("", (Call(FILL_FORM, meant.values),), {"then": {"calls": later, "wish": wish}})
    if later:
        return Move("", tuple(meant.plan.calls), {"then": {"calls": [], "wish": wish}})
    return hand_back(wish) if wish else None


def _speak_only(now: Situation, meant: Understood, asked: str | None, begun: bool) -> Move:
    """Ask what is missing, begin, or own up to not understanding: no tool of the dialog helps here."""
    remarks = joined(*meant.plan.remarks)
    if remarks and meant.plan.asks:
        return Move(remarks, notes={"asks": meant.plan.asks})
    if begun or remarks or meant.plan.begun:
        return _go_on(now, remarks, asked, said_enough=bool(remarks))
    if now.undone:
        return _go_on(now, "", asked)
    if wants_help(now):
        return ask_help(now)
    if not asked:
        return _go_on(now, not_understood(now).text, asked, said_enough=True)
    about = sentence("about_question", now.lang, label=_fields(now)[asked]["label"])
    return _ask_for(now, asked, joined(sentence("not_understood", now.lang), about))


def _after(now: Situation) -> Move:
    """Word what was done and go on."""
    then = _then(now)
    done = {result.call.key for result in now.results}
    waiting = [Call(entry["name"], entry["args"]) for entry in then.get("calls", ())]
    if remaining := tuple(call for call in waiting if call.key not in done):
        return Move("", remaining, {"then": then})
    lines = [_noted(now, result.call.args) for result in now.results if _is_filled(result.call, result.failed)]
    others = [result for result in now.results if not _is_filled(result.call, result.failed)]
    text = joined(*lines, told(others, (), now.lang) if others else "", by="\n")
    if then.get("wish"):
        return hand_back(then["wish"], text)
    asked = None if now.begun else _asked(now)
    return _go_on(now, text, asked, said_enough=bool(others))


def _go_on(now: Situation, text: str, asked: str | None, *, skip: bool = False, said_enough: bool = False) -> Move:
    """Ask for the next field behind the one asked, or finish when there is none."""
    done = (result for result in now.results if _is_filled(result.call, result.failed))
    filled = {name for result in done for name in result.call.args}
    missing = [name for name in now.scene.get("missing", ()) if name not in filled]
    order = list(now.scene.get("fields", ()))
    place = order.index(asked) + skip if asked in order else 0
    upcoming = [name for name in missing if name in order[place:]]
    if upcoming:
        return _ask_for(now, upcoming[0], text)
    if not now.results and not asked:
        return Move(joined(text, "" if said_enough else sentence("anything_wrong", now.lang), by="\n"))
    closing = sentence("partial" if missing else "complete", now.lang) if asked else ""
    return hand_back("", joined(text, closing, by="\n"))


def _ask_for(now: Situation, name: str, text: str) -> Move:
    asks = {"tool": FILL_FORM, "slot": name, "args": {}}
    return Move(joined(text, _fields(now)[name]["question"], by="\n"), notes={"asks": asks})


def _asked(now: Situation) -> str | None:
    """Return the field that the last reply asked for."""
    asks = now.note("asks")
    if asks and asks["tool"] == FILL_FORM:
        return str(asks["slot"])
    reply = str(now.last_reply.text) if now.last_reply else ""
    return next((name for name, entry in _fields(now).items() if reply.endswith(entry["question"])), None)


def _then(now: Situation) -> dict[str, Any]:
    notes = [message.additional_kwargs.get("then") for message in now.messages[-len(now.results) - 2 :]]
    return next((note for note in reversed(notes) if note), {})


def _is_filled(call: Call, failed: bool) -> bool:
    return call.name == FILL_FORM and not failed


def _noted(now: Situation, args: Mapping[str, Any]) -> str:
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in args.items() if value}
    labels = {name: entry["label"] for name, entry in _fields(now).items()}
    values = (sentence("value", now.lang, label=labels.get(name, name), value=value) for name, value in shown.items())
    return sentence("noted", now.lang, values="; ".join(values))


def _fields(now: Situation) -> Mapping[str, Any]:
    """Return the label and the question of each field; where the form has no words of its own, its name serves."""
    form = now.own.form if now.own else None
    worded = form_texts(form, now.lang) if form else {}
    names = dict.fromkeys((*now.scene.get("fields", ()), *worded))
    plain = {name: {"label": name.replace("_", " "), "question": asking(name, now.lang)} for name in names}
    return {name: {**plain[name], **worded.get(name, {})} for name in names}
