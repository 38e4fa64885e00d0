"""What a message asks of the speaker: an answer to its own question, or wishes by pattern."""

from agents.models.standin.arguments import Filler, Plan
from agents.models.standin.pattern import Match
from agents.models.standin.references import list_tools, points, with_list
from agents.models.standin.situation import HELP, Call, Situation
from agents.models.standin.values import is_answer, is_order, vague
from agents.models.standin.vocabulary import sentence


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; an empty plan if they were not understood whole.

    Raises:
        NeedsCall: an entry of a list is meant that the conversation does not tell for certain.
    """
    plan = Plan()
    matches = now.wishes()
    is_wish = any(match.pattern.strong or not match.owner for match in matches)
    if is_wish or now.begun or not _answer(now, plan):
        follow(now, Filler(now), plan, matches)
    if (plan.empty or plan.begun) and not plan.foreign and (begun := _begun(now)):
        Filler(now).add(plan, begun, {})
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
        elif len(list_tools(now)) < 2 or not points(match, now.words):
            filler.add(plan, match.tool, match.slots)
        elif (text := with_list(now, match)) and (named := now.find(text)):
            filler.add(plan, named.tool, named.slots)
        else:
            plan.remarks.append(sentence("which_list", now.lang))
    if plan.remarks and (plan.calls or plan.foreign or len(plan.remarks) > 1):
        plan.calls, plan.foreign, plan.asks = [], [], None
        plan.remarks.append(sentence("nothing_done", now.lang))


def cancelled(now: Situation) -> str:
    """Return what to say when the user takes back what the speaker was asking about."""
    is_cancelled = now.note("asks") and now.words.made_of(now.heard, "cancel", "no")
    return sentence("cancelled", now.lang) if is_cancelled else ""


def wants_help(now: Situation) -> bool:
    """Tell whether the text is a question, and none that wants something to be done ("could you …?")."""
    stems = tuple(now.words.stems(now.heard))
    is_request = any(stems[: len(start)] == start for start in now.words.openings)
    return HELP in now.tools and now.words.asks(now.heard) and not is_request


def _begun(now: Situation) -> str | None:
    """Return the tool whose question comes first, when the dialog is begun with such words."""
    begins = now.words.phrases("begins")
    return next((tool for tool in begins if tool in now.tools and now.words.means(now.heard, f"begins.{tool}")), None)


def _answer(now: Situation, plan: Plan) -> bool:
    """Take the text as the answer to the speaker's own question, if it is one."""
    asks, words, text = now.note("asks") or {}, now.words, now.heard
    parameter = now.tools.get(asks.get("tool", ""), {}).get(asks.get("slot", ""))
    if parameter is None or vague(text, words) or is_order(text, words) or words.made_of(text, "go_on.phrases"):
        return False
    if parameter.kind in ("text", "texts") and not is_answer(text, words, errands=True):
        return False
    Filler(now).add(plan, asks["tool"], {parameter.name: text}, asks["args"])
    return True
