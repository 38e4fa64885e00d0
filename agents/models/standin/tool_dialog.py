"""The part of a dialog that works with tools only: act, show the outcome, give back what is not its own."""

from dataclasses import replace
from typing import Any

from agents.models.standin.arguments import NeedsCall, Plan, cancelled, understand, wants_help
from agents.models.standin.references import choosers, list_tools
from agents.models.standin.replies import ask_help, joined, not_understood, small_talk, told
from agents.models.standin.replies import examples as show_examples
from agents.models.standin.situation import HAND_BACK, PROTOCOL, Call, Move, Situation
from agents.models.standin.values import WHEN
from agents.models.standin.vocabulary import asking, sentence
from agents.state.message_notes import IN_WORDS


def speak(now: Situation) -> Move:
    """Return the dialog's next move."""
    if not now.results and (move := leave(now) or _chat(now)):
        return move
    try:
        plan = understand(now)
        if plan.empty and now.begun and now.said != now.heard:
            now = replace(now, facts={**now.facts, "brief": now.said})
            plan = understand(now)
    except NeedsCall as needed:
        [call] = needed.args
        if call and not any(result.call.key == call.key for result in now.results):
            return Move("", (call,))
        return Move(told(now.results, (), now.lang)) if now.results else not_understood(now)
    done = {result.call.key for result in now.results}
    if remaining := [call for call in plan.calls if call.key not in done]:
        return Move("", _first_of(now, remaining))
    return _answer(now, plan)


def leave(now: Situation) -> Move | None:
    """Hand back when the user says that this is all, or leaves the topic; not if that was just taken back."""
    if now.undone:
        return None
    if _is_done(now):
        return hand_back("", sentence("done", now.lang))
    leaves = not cancelled(now) and now.words.made_of(now.heard, "switch.phrases")
    return hand_back(now.heard) if leaves else None


def hand_back(wish: str, text: str = "") -> Move:
    """Give the conversation back to the supervisor, with what the user wants next; nothing if all is done."""
    return Move(text, (Call(HAND_BACK, {"wish": wish} if wish else {}),))


def _is_done(now: Situation) -> bool:
    return "done" in now.words.made_of(now.heard, "done", "thanks", "no")


def _chat(now: Situation) -> Move | None:
    if not now.heard or (now.undone and _is_done(now)):
        return Move(show_examples(now) or sentence("greeted", now.lang))
    text = cancelled(now) or small_talk(now)
    return Move(text) if text else None


def _first_of(now: Situation, calls: list[Call]) -> tuple[Call, ...]:
    """Return the calls of the next round: what takes entries away comes behind what changes one, then come lists."""

    def rank(call: Call) -> int:
        kinds = {parameter.kind for parameter in now.tools[call.name].values()}
        return 2 if call.name in list_tools(now) else int("numbers" in kinds)

    first = min(map(rank, calls))
    return tuple(call for call in calls if rank(call) == first)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [*list_tools(now), *choosers(now)]
    acted = any(result.call.name not in lookups for result in now.results)
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
    return hand_back("", text) if now.facts.get("wishes") else Move(text, notes=notes)


def _refused_time(now: Situation) -> dict[str, Any] | None:
    for result in now.results:
        if result.failed and not result.broken and WHEN in result.call.args:
            args = {name: value for name, value in result.call.args.items() if name != WHEN}
            return {"tool": result.call.name, "slot": WHEN, "args": args}
    return None


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """Begin with what can be said here; later ask again what was asked, or say that this was not understood."""
    if now.own and not (set(now.tools) - PROTOCOL):
        return Move(sentence("talk_only", now.lang, title=now.own.title))
    if plan.begun or now.begun:
        return Move(joined(sentence("greeted", now.lang), show_examples(now)))
    if wants_help(now):
        return ask_help(now)
    if asks := now.note("asks"):
        question = asking(asks["slot"], now.lang)
        return Move(joined(sentence("not_understood", now.lang), question), notes={"asks": asks})
    return not_understood(now)
