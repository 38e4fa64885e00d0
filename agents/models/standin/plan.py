"""What a message asks of the speaker: an answer to its own question, or wishes by pattern."""

from typing import Any

from agents.models.standin.arguments import Filler, Plan
from agents.models.standin.lists import points, readings, spelled
from agents.models.standin.pattern import Match
from agents.models.standin.sentences import sentence
from agents.models.standin.situation import Situation
from agents.models.standin.types import HELP, Call
from agents.models.standin.values import is_answer, is_order, vague
from agents.models.standin.wishes import without_small_talk


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; an empty plan if they were not understood whole.

    Raises:
        NeedsChoice, NeedsListing: an entry of a list is meant that the conversation does not tell for certain.
    """
    plan = Plan()
    filler = Filler(now)
    asks = None if now.begun else now.note("asks")
    matches = now.wishes()
    is_wish = any(match.pattern.strong or not match.owner for match in matches)
    if asks and not is_wish and _answer(now, filler, plan, asks):
        return plan
    follow(now, filler, plan, matches)
    if plan.empty and wants_help(now):
        plan.calls.append(Call(HELP, {"query": now.heard}))
    return plan


def follow(now: Situation, filler: Filler, plan: Plan, matches: tuple[Match, ...]) -> None:
    """Plan what wishes ask for; one that is not clear leaves nothing of the others."""
    for match in matches:
        if match.owner:
            plan.foreign.append(match)
        elif match.tool == HELP:
            plan.calls.append(Call(HELP, {"query": match.text if len(matches) > 1 else now.heard}))
        elif match.tool not in now.tools:
            plan.begun = True
        elif len(readings(now)) < 2 or not points(match, now.words):
            filler.add(plan, match.tool, match.slots)
        elif (text := spelled(now, match)) and (spelled_match := now.find(text)):
            filler.add(plan, spelled_match.tool, spelled_match.slots)
        else:
            plan.remarks.append(sentence("which_list", now.lang))
    plan.nothing_by_halves(now.lang)


def cancelled(now: Situation) -> str | None:
    """Return what to say when the user takes back what the speaker was asking about."""
    if now.note("asks") and now.words.made_of(now.heard, "cancel", "no"):
        return sentence("cancelled", now.lang)
    return None


def wants_help(now: Situation) -> bool:
    """Tell whether the text is a question, and none that wants something to be done ("could you …?")."""
    stems = tuple(now.words.stems(now.heard))
    is_request = any(stems[: len(start)] == start for start in now.words.openings)
    return HELP in now.tools and now.words.asks(now.heard) and not is_request


def _answer(now: Situation, filler: Filler, plan: Plan, asks: dict[str, Any]) -> bool:
    """Take the text as the answer to the speaker's own question, if it is one."""
    words = now.words
    tool, slot = asks["tool"], asks["slot"]
    parameter = now.tools.get(tool, {}).get(slot)
    text = without_small_talk(now.heard, words)
    if parameter is None or vague(text, words) or words.made_of(text, "go_on.phrases"):
        return False
    if parameter.kind in ("text", "texts") and not is_answer(text, words, errands=True):
        return False
    if is_order(text, words):
        return False
    filler.add(plan, tool, {slot: text}, asks["args"])
    return True
