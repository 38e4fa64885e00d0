"""The part of a dialog with a form: ask field by field, take what is told unasked, finish."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.models.standin.arguments import Filler, Plan, Unclear, cancelled, follow, wants_help
from agents.models.standin.pattern import Match
from agents.models.standin.phrasebook import FILL_FORM
from agents.models.standin.references import plain_number
from agents.models.standin.replies import ask_help, joined, not_understood, small_talk, told
from agents.models.standin.situation import Call, Move, Result, Situation
from agents.models.standin.tool_dialog import hand_back, leave
from agents.models.standin.values import is_answer
from agents.models.standin.vocabulary import asking, sentence
from prompts import form_texts


def speak(now: Situation) -> Move:
    """Return the dialog's next move."""
    if now.results:
        return _after(now)
    asked = None if now.begun or not now.heard else _asked(now)
    if now.heard and not now.begun and (move := _chat(now, asked)):
        return move
    meant = _understood(now, asked) if now.heard else Understood()
    return _act(now, meant) or _speak_only(now, meant, asked)


@dataclass
class Understood:
    """What shall become of a message: new values of fields, and tools to call or wishes to pass on."""

    values: dict[str, Any] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)


def _understood(now: Situation, asked: str | None) -> Understood:
    meant = Understood()
    lists = {name for name in now.facts.get("fields", ()) if _kind(now, name) == "texts"}
    matches = now.wishes(frozenset({asked, *lists} if asked else {}))
    told_fields = [match for match in matches if not match.owner and match.tool == FILL_FORM]
    others = tuple(match for match in matches if match not in told_fields)
    if told_fields or not asked or any(match.pattern.strong for match in others):
        for match in told_fields:
            _tell(now, meant, match, asked)
        follow(now, Filler(now, with_lists=False), meant.plan, others)
        if meant.plan.remarks:
            meant.values = {}
    elif not matches:
        _answer(now, meant, asked)
    return meant


def _answer(now: Situation, meant: Understood, asked: str) -> None:
    """Take the words as the answer to what was asked: by a tool that lacks a value ("as JSON"), or for a field."""
    asks = now.note("asks")
    if asks and asks["tool"] in now.tools and asks["tool"] != FILL_FORM:
        Filler(now, with_lists=False).add(meant.plan, asks["tool"], {asks["slot"]: now.heard}, asks["args"])
    elif _kind(now, asked) not in ("text", "texts") or is_answer(now.heard, now.words):
        value = _read(now, asked, now.heard)
        meant.values |= {} if value is None else {asked: value}


def _tell(now: Situation, meant: Understood, match: Match, asked: str | None) -> None:
    """Add what a sentence tells; a value that a field has already is changed by saying so, not in passing."""
    replaces = not match.pattern.of_form and now.words.listed("edits.replaced") & match.pattern.literals
    for name, raw in match.slots.items():
        value, held = _read(now, name, raw), (now.facts.get("form") or {}).get(name)
        if isinstance(value, list) and not replaces:
            before = meant.values.get(name, held) or []
            names = {item.casefold() for item in before}
            meant.values[name] = [*before, *(item for item in value if item.casefold() not in names)]
        elif held and match.pattern.of_form and name != asked:
            meant.plan.remarks.append(sentence("complaint", now.lang))
        elif value is not None:
            meant.values[name] = value


def _kind(now: Situation, name: str) -> str:
    return now.tools[FILL_FORM][name].kind


def _read(now: Situation, name: str, raw: str) -> Any:
    """Return the value of a field in the user's words; None if they tell none."""
    kind = _kind(now, name)
    if kind == "flag" and (answer := now.words.made_of(raw, "yes", "no")):
        return "yes" in answer
    if kind == "number":
        return plain_number(raw, now.words)
    try:
        return Filler(now).value(FILL_FORM, now.tools[FILL_FORM][name], raw)
    except Unclear:
        return None


def _chat(now: Situation, asked: str | None) -> Move | None:
    """Answer what is not about the form: small talk, "skip", "that's all", "something else"."""
    words = now.words
    if asked and _kind(now, asked) == "flag" and words.made_of(now.heard, "yes", "no"):
        return None
    if asked and words.made_of(now.heard, "skip"):
        return _go_on(now, "", asked, skip=True)
    if move := leave(now):
        return move
    if text := cancelled(now):
        return _go_on(now, "" if asked else text, asked, skip=bool(asked), said_enough=True)
    if asked and words.made_of(now.heard, "yes", "go_on.phrases", "undo.phrases"):
        return _go_on(now, "", asked)
    text = small_talk(now)
    return _go_on(now, text, asked, said_enough=True) if text else None


def _act(now: Situation, meant: Understood) -> Move | None:
    """Fill the form first; what reads it, and wishes of others, come in the next round."""
    wish = ". ".join(match.text for match in meant.plan.foreign)
    calls = tuple(meant.plan.calls)
    if meant.values:
        then = {"calls": [{"name": call.name, "args": call.args} for call in calls], "wish": wish}
        return Move("", (Call(FILL_FORM, meant.values),), {"then": then})
    if calls:
        return Move("", calls, {"then": {"calls": [], "wish": wish}})
    return hand_back(wish) if wish else None


def _speak_only(now: Situation, meant: Understood, asked: str | None) -> Move:
    """Ask what is missing, begin, or own up to not understanding: no tool of the dialog helps here."""
    remarks = joined(*meant.plan.remarks)
    if remarks and meant.plan.asks:
        return Move(remarks, notes={"asks": meant.plan.asks})
    if now.begun or not now.heard or remarks or meant.plan.begun:
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
    notes = (message.additional_kwargs.get("then") for message in reversed(now.messages[-len(now.results) - 2 :]))
    then: dict[str, Any] = next((note for note in notes if note), {})
    done = {result.call.key for result in now.results}
    waiting = [Call(entry["name"], entry["args"]) for entry in then.get("calls", ())]
    if remaining := tuple(call for call in waiting if call.key not in done):
        return Move("", remaining, {"then": then})
    lines = [_noted(now, result.call.args) for result in now.results if _is_filled(result)]
    others = [result for result in now.results if not _is_filled(result)]
    text = joined(*lines, told(others, (), now.lang) if others else "", by="\n")
    if then.get("wish"):
        return hand_back(then["wish"], text)
    return _go_on(now, text, None if now.begun else _asked(now), said_enough=bool(others))


def _go_on(now: Situation, text: str, asked: str | None, *, skip: bool = False, said_enough: bool = False) -> Move:
    """Ask for the next field behind the one asked, or finish when there is none."""
    filled = {name for result in now.results if _is_filled(result) for name in result.call.args}
    missing = [name for name in now.facts.get("missing", ()) if name not in filled]
    order = list(now.facts.get("fields", ()))
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
    asks = now.note("asks")
    if asks and asks["tool"] == FILL_FORM:
        return str(asks["slot"])
    reply = str(now.last_reply.text) if now.last_reply else ""
    return next((name for name, entry in _fields(now).items() if reply.endswith(entry["question"])), None)


def _is_filled(result: Result) -> bool:
    return result.call.name == FILL_FORM and not result.failed


def _noted(now: Situation, args: Mapping[str, Any]) -> str:
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in args.items() if value}
    labels = {name: entry["label"] for name, entry in _fields(now).items()}
    values = (sentence("value", now.lang, label=labels.get(name, name), value=value) for name, value in shown.items())
    return sentence("noted", now.lang, values="; ".join(values))


def _fields(now: Situation) -> Mapping[str, Any]:
    """Return the label and the question of each field; where the form has no words of its own, its name serves."""
    worded = form_texts(now.own.form, now.lang) if now.own and now.own.form else {}
    names = dict.fromkeys((*now.facts.get("fields", ()), *worded))
    unworded = {name: {"label": name.replace("_", " "), "question": asking(name, now.lang)} for name in names}
    return {name: {**entry, **worded.get(name, {})} for name, entry in unworded.items()}
