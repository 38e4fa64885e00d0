"""What a message asks of the speaker: an answer to its own question, wishes by pattern, then likeness."""

from typing import Any

from langchain_core.messages import HumanMessage

from agents.models.rules.calls import Filler, Plan, correction
from agents.models.rules.lists import choosers, of_last, points, readings
from agents.models.rules.matches import Match, first_match
from agents.models.rules.references import plain_number
from agents.models.rules.reminders import BOTH, ask_both, retimed, take_both
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.types import HELP, Call, results, text_of
from agents.models.rules.values import clean, vague, without
from agents.models.rules.wishes import wishes, without_greeting
from prompts import card

SHORT = 6
"""Words; only such a short text without a verb of its own is offered back as a value ("Did you mean …?")."""


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; an empty plan if nothing was understood.

    Raises:
        NeedsListing: a name can only be understood with the list at hand.
    """
    plan = Plan()
    filler = Filler(now)
    asks = None if now.begun else now.note("asks")
    found = wishes(now.heard, now.words, now.book().find)
    if all_of_them := _of_choice(now):
        filler.add(plan, *all_of_them)
        return plan
    if asks and _answer(now, filler, plan, asks, found.matches):
        return plan
    ask_both(now, plan)
    if plan.asks:
        return plan
    if (fixed := retimed(now) or correction(now)) and not any(not match.owner for match in found.matches):
        filler.add(plan, *fixed)
        return plan
    _follow(now, filler, plan, found.matches)
    if plan.empty and (more := _more_of_it(now)):
        filler.add(plan, *more)
    if plan.empty and (like := now.book().resemble(now.heard)) and not (_only_asks(now) and now.tools.get(like.tool)):
        _follow(now, filler, plan, (like,))
    if plan.empty and HELP in now.tools and now.words.asks(now.heard):
        plan.calls.append(Call(HELP, {"query": now.heard}))
    return plan


def _only_asks(now: Situation) -> bool:
    """Whether a question wants to know and not to have something done, as "could you …?" does."""
    said = tuple(now.words.stems(now.heard))
    return now.words.asks(now.heard) and not any(said[: len(start)] == start for start in now.words.openings)


def _more_of_it(now: Situation) -> tuple[str, dict[str, str]] | None:
    """Return the tool that the user just had something added with, and what "and bread" adds to it."""
    made = [result for result in results(now.before) if result.call.name not in readings(now)]
    found = first_match("edits.add", now.heard, now.words.lang)
    if not made or not found:
        return None
    needed = [entry for entry in now.tools.get(made[-1].call.name, {}).values() if entry.required]
    return (made[-1].call.name, {needed[0].name: found["new"]}) if [e.kind for e in needed] == ["texts"] else None


def _of_choice(now: Situation) -> tuple[str, dict[str, str]] | None:
    """Return the wish for which the user was let choose one entry, if the user now says "both" or "all of them"."""
    made, spoken = results(now.before), [message for message in now.before if isinstance(message, HumanMessage)]
    if not made or made[-1].call.name not in choosers(now) or not spoken:
        return None
    wish = now.book().find(text_of(spoken[-1]))
    if wish is None or not now.words.means(now.heard, "references.both", "references.all"):
        return None
    numbers = ", ".join(map(str, made[-1].call.args.get("numbers", [])))
    wanted = now.tools.get(wish.tool, {})
    entries = [name for name, parameter in wanted.items() if parameter.kind in ("number", "numbers")]
    return wish.tool, {**wish.slots, **dict.fromkeys(entries, numbers)}


def guess(now: Situation) -> tuple[str, dict[str, Any]] | None:
    """Return what a bare phrase may have meant, to ask back: a phrase in full, and the call it stands for."""
    text = clean(without_greeting(now.heard, now.words), now.words)
    points = now.words.means(text, "references.it") or plain_number(text, now.words) is not None
    if not text or points or len(now.words.stems(text)) > SHORT or now.words.asks(now.heard):
        return None
    for tool, wanted in now.tools.items():
        needed = [parameter for parameter in wanted.values() if parameter.required]
        if tool in (HELP, *now.scene.get("helpers", {})) or [entry.kind for entry in needed] != ["texts"]:
            continue
        example = next((entry for entry in card(tool, now.words.lang)[1] if "{" in entry), None)
        if example:
            name = needed[0].name
            plan = Plan()
            Filler(now, with_lists=False).add(plan, tool, {name: text})
            asks = {"tool": tool, "slot": None, "args": plan.calls[0].args if plan.calls else {}}
            return example.replace(f"{{{name}}}", text), asks
    return None


def _answer(now: Situation, filler: Filler, plan: Plan, asks: dict[str, Any], matches: tuple[Match, ...]) -> bool:
    """Take the text as the answer to the speaker's own question, if it is one."""
    words = now.words
    tool, slot = asks["tool"], asks["slot"]
    if slot is None:
        points = [raw for match in matches for raw in match.slots.values()]
        agreed = words.means(now.heard, "yes") or (points and all(words.means(raw, "references.it") for raw in points))
        if agreed:
            plan.calls.append(Call(tool, asks["args"]))
        return not plan.empty
    parameter = now.tools.get(tool, {}).get(slot)
    free = parameter is not None and parameter.kind == "text"
    if any(_interrupts(match, tool, free) for match in matches) or parameter is None:
        return False
    # "An hour" would lose its number.
    text = now.heard if parameter.kind == "time" else without_greeting(now.heard, words)
    if vague(text, words) or (words.asks(now.heard) and parameter.kind in ("text", "texts")):
        return False
    if BOTH in asks:
        take_both(now, filler, plan, asks, text)
        return True
    if parameter.kind in ("text", "texts"):
        text = without(text, words, "leads.phrases")
    filler.add(plan, tool, {slot: text}, asks["args"])
    if plan.asks and not plan.calls and asks.get("again"):
        # Twice nothing on the list was named: the user is not answering.
        plan.asks, plan.remarks = None, []
        return False
    if plan.asks:
        plan.asks["again"] = True
    return True


def _interrupts(match: Match, tool: str, free: bool) -> bool:
    """Whether a wish outweighs the answer that was waited for."""
    if match.pattern.strong:
        return True
    return not match.owner and (match.tool == tool or not free)


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
    """Whether a wish does not say of what it is a number: "delete the second one"."""
    return match.exact and len(match.pattern.literals) == 1 and points(match, now.words)


def cancelled(now: Situation) -> str | None:
    """Return what to say when the user takes back what the speaker was asking about."""
    if now.note("asks") and now.words.means(now.heard, "cancel", "no"):
        return sentence("cancelled", now.lang)
    return None
