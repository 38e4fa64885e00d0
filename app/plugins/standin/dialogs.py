"""The part of a dialog: it acts, shows the outcome, says back what it is not sure of, gives back what is not its own.

One with a form also asks field by field, and finishes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.plugins.standin.lists import list_tools
from app.plugins.standin.patterns import FILL_FORM
from app.plugins.standin.planning import ASK, CHOOSE, NeedsCall, Plan, understand
from app.plugins.standin.replies import examples, in_words, joined, lapsed, not_understood, noted, said_back, small_talk
from app.plugins.standin.situation import HAND_BACK, HELP, RESUMES, Move, PlannedCall, Situation
from app.plugins.standin.values import WHEN
from app.plugins.standin.vocabulary import asking, sentence


def speak(now: Situation) -> Move:
    """Return the dialog's next move, behind what it had said back and does not do."""
    move = _move(now)
    return replace(move, text=joined(lapsed(now), move.text, by="\n"))


def _move(now: Situation) -> Move:
    if not now.results and (move := _aside(now)):
        return move
    try:
        plan = understand(now)
        if plan == Plan() and now.begun and now.said != now.heard:
            now = replace(now, heard=now.said)
            plan = understand(now)
    except NeedsCall as needed:
        if needed.call and not any(result.call == needed.call for result in now.results):
            return Move("", (needed.call,))
        notes = {"asks": needed.asks} if needed.asks and not any(result.failed for result in now.results) else {}
        # What was looked up for a call that the user then declined says nothing any more.
        outcomes = now.results[-1:] if now.results and now.results[-1].declined else now.results
        return Move(in_words(outcomes, (), now.lang), notes=notes) if outcomes else _lost(now)
    done = [result.call for result in now.results]
    is_filled = any(call.name == FILL_FORM for call in done)
    remaining = [call for call in plan.calls if call not in done and not (is_filled and call.name == FILL_FORM)]
    if remaining and plan.unsure:
        shall = {"calls": [{"name": it.name, "args": it.args} for it in plan.calls], "foreign": plan.foreign}
        return Move(said_back(now, remaining), notes={"shall": shall})
    return Move("", _first_of(now, remaining)) if remaining else _answer(now, plan)


def hand_back(wish: str, text: str = "") -> Move:
    """Give the conversation back to the supervisor, with the user's next wish if there is one."""
    return Move(text, (PlannedCall(HAND_BACK, {"wish": wish} if wish else {}),))


def _aside(now: Situation) -> Move | None:
    """Answer a message that is no wish: nothing at all, a no to what is open, leave-taking, small talk."""
    if not now.heard or (now.facts.get("undone") and now.is_done):
        return _go_on(now, "") if now.form else Move(examples(now) or sentence("greeted", now.lang))
    asks = None if now.begun else now.asks
    if asks and now.tools[asks["tool"]][asks["slot"]].kind == "flag" and now.says("yes", "no"):
        return None
    is_refused = bool(now.says("cancel", "no"))
    if is_refused and now.note("shall"):
        return _go_on(now, sentence("cancelled", now.lang))
    if asks and asks["tool"] == FILL_FORM and (is_refused or now.says("skip", "omit", "no")):
        return _go_on(now, "", skip=True)
    if asks and is_refused:
        return Move(sentence("cancelled", now.lang))
    if not now.facts.get("undone"):
        if now.is_done:
            return hand_back("", sentence("done", now.lang))
        if now.says("switch.phrases"):
            return hand_back(now.heard)
    if (now.left or asks) and now.says("yes"):
        return _go_on(now, sentence("not_understood", now.lang))
    text = "" if now.note("shall") and now.says("yes") else small_talk(now)
    is_leaving = bool(now.says("goodbye", "thanks"))
    return (Move(text) if is_leaving else _go_on(now, text)) if text else None


def _first_of(now: Situation, calls: Sequence[PlannedCall]) -> tuple[PlannedCall, ...]:
    """Return the calls of the next round. A form is filled first, deletions come after changes, lists come last."""

    def rank(call: PlannedCall) -> int:
        if call.name == FILL_FORM:
            return 0
        kinds = {parameter.kind for parameter in now.tools[call.name].values()}
        return 3 if call.name in list_tools(now) else 2 if "numbers" in kinds else 1

    first = min(map(rank, calls))
    return tuple(call for call in calls if rank(call) == first)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [name for name in now.tools if name in list_tools(now) or name.startswith((CHOOSE, ASK))]
    acted = [it for it in now.results if it.call.name not in lookups]
    is_told = bool(acted) or any(call.name in lookups for call in plan.calls)
    filled = [noted(now, it.call.args) for it in acted if it.call.name == FILL_FORM and not it.failed]
    others = [it for it in now.results if not (it.call.name == FILL_FORM and not it.failed)]
    text = joined(*filled, in_words(others, lookups, now.lang) if is_told and others else "", *plan.remarks, by="\n")
    if plan.foreign:
        return hand_back(". ".join(plan.foreign), text)
    if asks := plan.asks or _refused_time(now):
        return Move(text, notes={"asks": asks})
    is_seen = is_told and any(result.seen for result in now.results)
    if not (text or is_seen):
        return _go_on(now, "") if now.form and (now.begun or plan.begun) else _at_a_loss(now, plan)
    if now.form and not (acted and not filled and now.begun and not acted[-1].declined):
        return _go_on(now, text)
    if all(call.name == HELP for call in plan.calls) and (now.left or plan.calls):
        return _go_on(now, text)
    return hand_back("", text) if now.facts.get("wishes") else Move(text)


def _refused_time(now: Situation) -> dict[str, object] | None:
    for result in now.results:
        if result.failed and not result.broken and WHEN in result.call.args:
            args = {name: value for name, value in result.call.args.items() if name != WHEN}
            return {"tool": result.call.name, "slot": WHEN, "args": args}
    return None


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """At the beginning say what can be said here; later that it was not understood."""
    if now.own and not now.abilities:
        return Move(sentence("talk_only", now.lang, title=now.own.title))
    if plan.begun or now.begun:
        return Move(joined(sentence("greeted", now.lang), examples(now)))
    return _lost(now)


def _lost(now: Situation) -> Move:
    """Say what was not understood. The second time in a row give the message to somebody else instead."""
    if now.note("lost") and not now.facts.get("undone") and not any(not it.pattern.owner for it in now.wishes):
        return hand_back(now.heard)
    move = _go_on(now, not_understood(now))
    return replace(move, notes={**move.notes, "lost": True})


def _go_on(now: Situation, text: str, *, skip: bool = False) -> Move:
    """Say something and put what is open again: a tool's own question, one for a value, or that of the next field."""
    if now.left and all(result.call.name == HELP for result in now.results):
        # What the user wanted before goes on with the answer.
        return Move(text, (now.left,), {RESUMES: True})
    asks: dict[str, Any] | None = None if now.begun else now.asks
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
