"""The part of a dialog that works with tools only: act, show the outcome, give back what is not its own."""

from dataclasses import replace
from typing import Any

from agents.models.standin.arguments import NeedsChoice, NeedsListing, Plan
from agents.models.standin.lists import choosers, readings
from agents.models.standin.plan import cancelled, understand, wants_help
from agents.models.standin.replies import ask_help, joined, not_understood, small_talk, told
from agents.models.standin.replies import examples as show_examples
from agents.models.standin.sentences import asking, sentence
from agents.models.standin.situation import Situation
from agents.models.standin.types import HAND_BACK, PROTOCOL, Call, Move
from agents.models.standin.values import WHEN
from agents.state.message_notes import IN_WORDS

PLAN = "plan_day"
"""The tool that takes a whole day in one sentence."""


def speak(now: Situation) -> Move:
    """Return the dialog's next move."""
    if not now.results and (move := leave(now) or _chat(now)):
        return move
    try:
        plan = understand(now)
        if plan.empty and now.begun and now.said != now.heard:
            now = replace(now, scene={**now.scene, "brief": now.said})
            plan = understand(now)
    except NeedsListing as needed:
        reading = needed.args[0]
        if reading is None or any(result.call.name == reading for result in now.results):
            return Move(told(now.results, (), now.lang)) if now.results else not_understood(now)
        return Move("", (Call(reading, {}),))
    except NeedsChoice as needed:
        return Move("", needed.args)
    done = {result.call.key for result in now.results}
    if remaining := [call for call in plan.calls if call.key not in done]:
        return Move("", _round(now, remaining))
    return _answer(now, plan)


def leave(now: Situation) -> Move | None:
    """Hand back when the user says that this is all, or leaves the topic; not if that was just taken back."""
    if now.undone:
        return None
    if _is_done(now):
        return hand_back("", sentence("done", now.lang))
    if cancelled(now) is None and now.words.made_of(now.heard, "switch.phrases"):
        return hand_back(now.heard)
    return None


def _is_done(now: Situation) -> bool:
    return "done" in now.words.made_of(now.heard, "done", "thanks", "no")


def hand_back(wish: str, text: str = "") -> Move:
    """Give the conversation back to the supervisor, with what the user wants next; nothing if all is done."""
    return Move(text, (Call(HAND_BACK, {"wish": wish} if wish else {}),))


def _chat(now: Situation) -> Move | None:
    if not now.heard or (now.undone and _is_done(now)):
        return Move(show_examples(now) or sentence("greeted", now.lang))
    if text := cancelled(now):
        return Move(text)
    text = small_talk(now)
    return Move(text) if text else None


def _round(now: Situation, calls: list[Call]) -> tuple[Call, ...]:
    """Put off calls that take several entries away while others still refer to entries by number, and then lists."""
    kinds = {call.key: {entry.kind for entry in now.tools[call.name].values()} for call in calls}
    referring = [call for call in calls if kinds[call.key] & {"number", "numbers"}]
    later = [call for call in referring if "numbers" in kinds[call.key]] if len(referring) > 1 else []
    shown = [call for call in calls if call.name in readings(now)]
    first = tuple(call for call in calls if call not in later and call not in shown)
    return first or tuple(later) or tuple(shown)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [*readings(now), *choosers(now)]
    acted = [result for result in now.results if result.call.name not in lookups]
    asked_to_read = any(call.name in lookups for call in plan.calls)
    shown = told(now.results, lookups, now.lang) if acted or asked_to_read else ""
    text = joined(shown, *plan.remarks, by="\n")
    if plan.foreign:
        return hand_back(". ".join(match.text for match in plan.foreign), text)
    # The list was looked up for a name; what came of it is in the words.
    notes: dict[str, Any] = {} if shown else {IN_WORDS: True}
    if asks := plan.asks or _refused_time(now):
        return Move(text, notes={**notes, "asks": asks})
    if not text:
        return _at_a_loss(now, plan)
    return hand_back("", text) if now.scene.get("wishes") else Move(text, notes=notes)


def _refused_time(now: Situation) -> dict[str, Any] | None:
    """Return the question for another time, when a tool has refused the one it was given."""
    for result in now.results:
        if result.failed and not result.broken and WHEN in result.call.args:
            args = {name: value for name, value in result.call.args.items() if name != WHEN}
            return {"tool": result.call.name, "slot": WHEN, "args": args}
    return None


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """Begin with what can be said here; later ask again what was asked, or say that this was not understood."""
    if now.own and not (set(now.tools) - PROTOCOL):
        return Move(sentence("talk_only", now.lang, title=now.own.title))
    if PLAN in now.tools and (plan.begun or now.begun) and now.words.means(now.heard, "day_plans"):
        [slot] = now.tools[PLAN]
        return Move(asking(slot, now.lang), notes={"asks": {"tool": PLAN, "slot": slot, "args": {}}})
    if plan.begun or now.begun:
        return Move(joined(sentence("greeted", now.lang), show_examples(now)))
    if wants_help(now):
        return ask_help(now)
    if asks := now.note("asks"):
        question = asking(asks["slot"], now.lang)
        return Move(joined(sentence("not_understood", now.lang), question), notes={"asks": asks})
    return not_understood(now)
