"""What a message asks of the speaker: an answer to its own question, wishes by pattern, then likeness."""

from typing import Any

from agents.models.rules.arguments import Filler, Plan
from agents.models.rules.lists import of_last, points
from agents.models.rules.matches import Match
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.types import HELP, Call
from agents.models.rules.values import is_answer, vague, without
from agents.models.rules.wishes import wishes, without_greeting


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; an empty plan if nothing was understood.

    Raises:
        NeedsListing: a name can only be understood with the list at hand.
    """
    plan = Plan()
    filler = Filler(now)
    asks = None if now.begun else now.note("asks")
    heard = wishes(now.heard, now.words, now.book().find)
    if asks and _answer(now, filler, plan, asks, heard.matches):
        return plan
    _follow(now, filler, plan, heard.matches)
    if heard.matches:
        unread = (heard.lead, *heard.unread) if heard.lead else heard.unread
        plan.remarks += [sentence("unread", now.lang, text=text) for text in unread]
    if plan.empty and (like := now.book().resemble(now.heard)) and like.owner:
        plan.foreign.append(like)
    if plan.empty and HELP in now.tools and now.words.asks(now.heard) and not _is_request(now):
        plan.calls.append(Call(HELP, {"query": now.heard}))
    return plan


def cancelled(now: Situation) -> str | None:
    """Return what to say when the user takes back what the speaker was asking about."""
    if now.note("asks") and now.words.means(now.heard, "cancel", "no"):
        return sentence("cancelled", now.lang)
    return None


def _is_request(now: Situation) -> bool:
    """Tell whether a question wants something to be done ("could you …?")."""
    stems = tuple(now.words.stems(now.heard))
    return any(stems[: len(start)] == start for start in now.words.openings)


def _answer(now: Situation, filler: Filler, plan: Plan, asks: dict[str, Any], matches: tuple[Match, ...]) -> bool:
    """Take the text as the answer to the speaker's own question, if it is one."""
    words = now.words
    tool, slot = asks["tool"], asks["slot"]
    parameter = now.tools.get(tool, {}).get(slot)
    if parameter is None or any(_interrupts(match, tool, is_text=parameter.kind == "text") for match in matches):
        return False
    # "An hour" would lose its number.
    text = now.heard if parameter.kind == "time" else without_greeting(now.heard, words)
    is_open = parameter.kind in ("text", "texts")
    text = without(text, words, "leads.phrases") if is_open else text
    if vague(text, words) or (is_open and not is_answer(text, words, may_command=True)):
        return False
    filler.add(plan, tool, {slot: text}, asks["args"])
    return True


def _interrupts(match: Match, tool: str, *, is_text: bool) -> bool:
    """Tell whether a wish outweighs the answer that was waited for."""
    return match.pattern.strong or (not match.owner and (match.tool == tool or not is_text))


def _follow(now: Situation, filler: Filler, plan: Plan, matches: tuple[Match, ...]) -> None:
    for match in matches:
        if match.owner:
            plan.foreign.append(match)
        elif match.tool == HELP:
            plan.calls.append(Call(HELP, {"query": match.text}))
        elif match.tool in now.tools:
            filler.add(plan, of_last(now, match.tool) if _only_points(now, match) else match.tool, match.slots)
        else:
            plan.begun = True


def _only_points(now: Situation, match: Match) -> bool:
    """Tell whether a wish does not say of what it is a number: "delete the second one"."""
    return len(match.pattern.literals) == 1 and points(match, now.words)
