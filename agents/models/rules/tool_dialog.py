"""The part of a dialog that works with tools only: act, show the outcome, give back what is not its own."""

from dataclasses import replace

from langchain_core.messages import AIMessage

from agents.models.rules.calls import NeedsChoice, NeedsListing, Plan
from agents.models.rules.elsewhere import time_elsewhere
from agents.models.rules.list_filter import refined
from agents.models.rules.lists import choosers, readings
from agents.models.rules.plan import cancelled, guess, understand
from agents.models.rules.replies import ask_help, joined, not_understood, said_of, small_talk, told
from agents.models.rules.replies import examples as show_examples
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.small_talk import addressed, aside
from agents.models.rules.types import HAND_BACK, HELP, Call, Move, text_of


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
    """Hand back when the user says that this is all, or leaves the topic."""
    more = now.last_reply is not None and str(now.last_reply.text).endswith(sentence("more", now.lang))
    if now.words.means(now.heard, "done") or (more and now.words.means(now.heard, "no", "thanks", "goodbye")):
        return hand_back("", sentence("done", now.lang))
    if cancelled(now) is None and now.words.means(now.heard, "switch.phrases"):
        return hand_back(now.heard)
    return None


def hand_back(wish: str, text: str = "") -> Move:
    """Give the conversation back to the supervisor, with what the user wants next; nothing if all is done."""
    return Move(text, (Call(HAND_BACK, {"wish": wish} if wish else {}),))


def _chat(now: Situation) -> Move | None:
    if not now.heard:
        return Move(show_examples(now) or sentence("greeted", now.lang))
    if text := cancelled(now):
        return Move(text)
    asks = now.note("asks")
    if asks and asks["slot"] is None and now.words.means(now.heard, "yes"):
        return None
    if text := small_talk(now) or time_elsewhere(now) or refined(now):
        return Move(text)
    return digression(now)


def digression(now: Situation) -> Move | None:
    """Answer words about the conversation itself; what the speaker asked for is still open, unless it was refused."""
    kind = aside(now.heard, now.words) or addressed(now.heard, now.words, "forbid", "upset")
    if not kind or now.book().find(now.heard):
        return None
    asks = now.note("asks")
    if kind == "skip":
        return Move(sentence("cancelled" if asks else "no", now.lang))
    again = kind in ("repeat", "previous") or (asks and kind == "unclear")
    text = _question(now) if again else said_of(now, kind)
    return Move(text or not_understood(now).text, notes={"asks": asks} if asks else {})


def _question(now: Situation) -> str:
    """Return the speaker's last question; its last words where it asked none."""
    said = [text for message in reversed(now.before) if isinstance(message, AIMessage) and (text := text_of(message))]
    return next((text for text in said if "?" in text), said[0] if said else "")


def _round(now: Situation, calls: list[Call]) -> tuple[Call, ...]:
    """Put off calls that take several entries away while others still refer to entries by number."""
    kinds = {call.key: {entry.kind for entry in now.tools[call.name].values()} for call in calls}
    referring = [call for call in calls if kinds[call.key] & {"number", "numbers"}]
    later = [call for call in referring if "numbers" in kinds[call.key]] if len(referring) > 1 else []
    return tuple(call for call in calls if call not in later) or tuple(calls)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [*readings(now), *choosers(now)]
    acted = [result for result in now.results if result.call.name not in lookups]
    asked_to_read = any(call.name in lookups for call in plan.calls)
    shown = told(now.results, lookups, now.lang) if acted or asked_to_read else ""
    text = joined(shown, *plan.remarks, by="\n")
    if plan.foreign:
        return hand_back(". ".join(match.text for match in plan.foreign), text)
    if plan.asks:
        return Move(text, notes={"asks": plan.asks})
    if not text:
        return _at_a_loss(now, plan)
    if now.scene.get("wishes"):
        return hand_back("", text)
    if plan.remarks or all(result.call.name == HELP for result in now.results):
        return Move(text)
    return Move(joined(text, sentence("more", now.lang), by="\n\n"))


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """Begin with what can be said here; later ask back, or say that this was not understood."""
    if plan.begun or now.begun:
        return Move(joined(sentence("greeted", now.lang), show_examples(now)))
    if HELP in now.tools and now.words.asks(now.heard):
        return ask_help(now)
    if guessed := guess(now):
        return Move(sentence("did_you_mean", now.lang, text=guessed[0]), notes={"asks": guessed[1]})
    return not_understood(now)
