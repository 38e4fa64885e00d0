"""The rules of a dialog: it acts, shows the outcome, confirms doubtful calls, and hands foreign wishes back.

A dialog with a form also asks field by field, and finishes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agents.language.text.vocabulary import mentions
from agents.state.message_notes import notes_of
from app.plugins.standin.intent import is_value, stopping, understand
from app.plugins.standin.lists import LIST, pointed
from app.plugins.standin.plan import ASK, CHOOSE, NeedsCall, Plan
from app.plugins.standin.replies import examples, in_words, joined, not_understood, noted, small_talk
from app.plugins.standin.situation import FILL_FORM, HAND_BACK, HELP, PROTOCOL, UNSURE, Move, PlannedCall, Situation
from app.plugins.standin.values import REFERRING, WHEN
from app.plugins.standin.vocabulary import asking, sentence


def speak(now: Situation) -> Move:
    """Return the dialog's next move."""
    return (None if now.results else _aside(now)) or _act(now)


def hand_back(wish: str, text: str = "") -> Move:
    """Return a hand-back to the supervisor, with the user's next wish if there is one."""
    return Move(text, (PlannedCall(HAND_BACK, {"wish": wish} if wish else {}),))


def _aside(now: Situation) -> Move | None:
    """Answer a message without a wish: an empty one, a no to the open question, a farewell, small talk."""
    if not (now.heard or now.form) and (asks := now.note("asks")):
        # The user is back.
        return Move(asking(asks["tool"], asks["slot"], now.lang), notes={"asks": asks})
    if not now.heard:
        return _go_on(now, "" if now.form else examples(now) or sentence("greeted", now.lang))
    if now.asked and now.asked.kind in ("flag", "choice") and is_value(now):
        return None
    if now.asks and now.asks["tool"] == FILL_FORM and now.says("no", "skip", "omit"):
        return _go_on(now, "", skip=True)
    if now.form and now.says("cancel"):
        return hand_back("", sentence("left", now.lang))
    if now.asks and now.says("cancel", "no"):
        values = ", ".join(value for value in now.asks["args"].values() if isinstance(value, str))
        return Move(sentence("dropped", now.lang, what=values) if values else sentence("cancelled", now.lang))
    is_of_nothing = all({*REFERRING} & {*it.slots} and not pointed(now, it.pattern.tool, it.slots) for it in now.wishes)
    if now.says("leave") and is_of_nothing:
        return _leave(now)
    is_open = bool(now.left or now.asks)
    if now.says("go_on.phrases") and not now.wishes and (is_open or now.form):
        return _go_on(now, "")
    text = sentence("not_understood", now.lang) if is_open and now.says("yes") else small_talk(now)
    return (Move(text) if now.says("goodbye", "thanks") else _go_on(now, text)) if text else None


def _leave(now: Situation) -> Move:
    """Leave the dialog, unless "stop it" is for a film beside it, or for what was just begun or done."""
    if now.facts.get("active"):
        return hand_back(now.heard)
    wrote = [it for it in now.last_results if now.writes(it.call.name) and not it.failed]
    if not (wrote and now.says("halt") and mentions("pointing", now.heard, now.words.lang)):
        return hand_back("", sentence("left", now.lang))
    return Move("", (stop,)) if (stop := stopping(now)) else _lost(now)


def _act(now: Situation) -> Move:
    """Make the calls of the user's wishes; tell their outcome when all are made."""
    try:
        plan = understand(now)
    except NeedsCall as needed:
        if needed.call and not any(result.call == needed.call for result in now.results):
            return Move("", (needed.call,))
        # The lookups for a call that the user has declined mean nothing any more.
        outcomes = now.results[-1:] if now.results and now.results[-1].declined else now.results
        asks = None if any(result.failed for result in now.results) else needed.asks
        return Move(in_words(outcomes, (HELP,), now.lang), notes={"asks": asks}) if outcomes else _lost(now)
    done = [result.call for result in now.results]
    is_filled = any(call.name == FILL_FORM for call in done)
    remaining = [call for call in plan.calls if call not in done and not (is_filled and call.name == FILL_FORM)]
    if remaining:
        notes = {UNSURE: True, "asks": now.asks} if plan.unsure else {}
        dropped = _dropped(now, (*done, *remaining)) if any(now.writes(call.name) for call in remaining) else ""
        return Move(dropped, tuple(remaining), notes)
    return _answer(now, plan)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [name for name in now.tools if name.startswith((LIST, CHOOSE, ASK))]
    # What help does not know, a search or another dialog tells.
    is_failed = any(it.failed for it in now.results)
    lookups += [name for name in now.in_vain if plan.foreign or (is_failed and name == HELP)]
    acted = [it for it in now.results if it.call.name not in lookups]
    is_told = bool(acted) or any(call.name in lookups for call in plan.calls)
    filled = [noted(now, it.call.args) for it in acted if it.call.name == FILL_FORM and not it.failed]
    others = [it for it in now.results if it.failed or it.call.name != FILL_FORM]
    facts, remarks = in_words(others, lookups, now.lang) if is_told and others else "", [*dict.fromkeys(plan.remarks)]
    # A question comes last; what could not be done comes before the list as it is now.
    text = joined(*filled, *((facts, *remarks) if plan.asks else (*remarks, facts)), by="\n")
    if plan.foreign:
        return hand_back(". ".join(plan.foreign), text)
    if acted and acted[-1].failed and WHEN in (args := acted[-1].call.args) and text.endswith(("?", "？")):
        # The tool asks for another time.
        plan.asks = {"tool": acted[-1].call.name, "slot": WHEN, "args": {it: args[it] for it in args if it != WHEN}}
    if plan.asks:
        return Move(joined(_dropped(now, ()), text, by="\n"), notes={"asks": plan.asks})
    if now.left and now.results and not now.has_written:
        return _go_on(now, text)
    if not (text or (is_told and any(result.seen for result in now.results))):
        return _go_on(now, "") if now.form and (now.begun or plan.begun) else _at_a_loss(now, plan)
    open_args = now.asks["args"] if now.asks and not now.form else {}
    if acted and open_args and not any(open_args.items() <= it.call.args.items() for it in acted):
        return _go_on(now, text)
    is_beside = now.begun and acted and not filled and not acted[-1].declined
    if (now.form and not is_beside) or (plan.calls and all(call.name == HELP for call in plan.calls)):
        return _go_on(now, text)
    return hand_back("", text) if now.facts.get("wishes") else Move(text)


def _dropped(now: Situation, calls: Sequence[PlannedCall]) -> str:
    """Name the question that the calls of a new wish pass over; empty if they only read, or have what was asked."""
    if now.left is None or not now.wishes or now.has_written or now.left.calls[0] in calls:
        return ""
    question = notes_of(now.before[-1]).get("asked", "").partition("\n")[0].rstrip("?？")
    waiting = (", ".join(map(str, call.args.values())) for call in now.left.calls[1:])
    return sentence("dropped", now.lang, what="; ".join([question, *waiting]))


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """At the beginning show examples; later say that the message was not understood."""
    if now.own and now.tools.keys() <= PROTOCOL:
        return Move(sentence("talk_only", now.lang, title=now.own["title"]))
    if plan.begun or (now.own and now.heard == now.own["title"]):
        return Move(joined(sentence("greeted", now.lang), examples(now)))
    return _lost(now)


def _lost(now: Situation) -> Move:
    """Say that the message was not understood; the second time in a row hand it to the supervisor instead."""
    if now.note("lost") and not now.facts.get("undone"):
        return hand_back(now.heard)
    move = _go_on(now, not_understood(now))
    return replace(move, notes={**move.notes, "lost": True})


def _go_on(now: Situation, text: str, *, skip: bool = False) -> Move:
    """Say something and repeat the open question: a tool's own, one for a value, or the next field's."""
    if now.left and not (now.has_written or skip):
        # The user's earlier wish goes on with the answer.
        return replace(now.left, text=text)
    asks: dict[str, Any] | None = now.asks
    if asks and asks["tool"] != FILL_FORM:
        return Move(joined(text, asking(asks["tool"], asks["slot"], now.lang), by="\n"), notes={"asks": asks})
    if not now.form:
        return Move(text)
    filled = {name for it in now.results if it.call.name == FILL_FORM and not it.failed for name in it.call.args}
    order, missing = [*now.fields], [name for name in now.facts.get("missing", ()) if name not in filled]
    place = order.index(asks["slot"]) + skip if asks else 0
    if upcoming := next((name for name in missing if name in order[place:]), None):
        question = now.fields[upcoming]["question"]
        return Move(joined(text, question, by="\n"), notes={"asks": {"tool": FILL_FORM, "slot": upcoming, "args": {}}})
    if not (now.results or asks):
        return Move(text or sentence("anything_wrong", now.lang))
    closing = sentence("partial" if missing else "complete", now.lang) if asks else ""
    return hand_back("", joined(text, closing, by="\n"))
