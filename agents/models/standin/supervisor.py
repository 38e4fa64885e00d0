"""The parts of the supervisor and of the observers.

The supervisor hands each wish to whom it belongs, uses its own tools, and says honestly what it is. The observers say
who shall hold the conversation, whether the dialog is over, and what work the user seeks.
"""

import json

from langchain_core.messages import AIMessage, HumanMessage

from agents.models.standin.arguments import NeedsCall, Plan, cancelled, understand
from agents.models.standin.references import points, with_list
from agents.models.standin.replies import abilities, joined, not_understood, small_talk, told
from agents.models.standin.situation import HELP, Call, Move, Situation
from agents.models.standin.vocabulary import sentence
from prompts import table

UNSURE = {"supervisor": Move("stay"), "finished": Move("no"), "intent": Move("{}")}
WORK = "work"
"""The field of a profile whose sentences tell a professional intent."""


def observe(now: Situation) -> Move:
    """Return an observer's opinion as text."""
    kind = now.facts.get("observer")
    if kind == "supervisor":
        return Move(_holder(now))
    if kind == "finished":
        return Move("yes" if now.words.made_of(now.heard, "done", "thanks", "no") >= {"done"} else "no")
    intent = next((match.text for match in now.wishes() if WORK in match.slots and match.pattern.of_form), None)
    return Move(json.dumps({"intent": intent.strip()} if intent else {}, ensure_ascii=False))


def _holder(now: Situation) -> str:
    """Name who is plainly wished for instead of the present dialog; "stay" in doubt."""
    has_asked = "?" in str(now.facts.get("reply") or "")
    if now.words.made_of(now.heard, "switch.phrases"):
        return "stay" if has_asked and now.words.made_of(now.heard, "cancel") else "own"
    matches = now.wishes()
    # Every speaker can look into the help itself.
    owners = [match.owner for match in matches if match.owner not in ("", HELP)]
    strong = [match.owner for match in matches if match.owner in owners and (match.pattern.strong or not has_asked)]
    if len(strong) < len(matches) or not strong:
        return "stay"
    return next((helper.dialog for helper in now.helpers if helper.tool == strong[0]), strong[0])


def speak(now: Situation) -> Move:
    """Return the supervisor's next move."""
    if now.results:
        # What a dialog does, the dialog says itself.
        entries = {helper.tool for helper in now.helpers}
        own = [result for result in now.results if result.call.name not in entries]
        return _with_remarks(now, _plan(now), told(own, (), now.lang) if own else "")
    if now.facts.get("opening") or not now.heard:
        return _opening(now)
    if answered := _offer_answered(now):
        return answered
    if text := cancelled(now):
        return Move(text)
    if now.words.made_of(now.heard, "switch.phrases", "done", "thanks") - {"thanks"}:
        return Move(joined(sentence("left", now.lang), sentence("greeted", now.lang)))
    if text := small_talk(now):
        return Move(text, notes={"offer": now.note("offer")})
    plan = _plan(now)
    if calls := (*plan.calls, *_handovers(now, plan)):
        return Move("", calls)
    if plan.remarks:
        return _with_remarks(now, plan, "")
    return Move(not_understood(now).text, notes={"offer": now.note("offer")})


def _plan(now: Situation) -> Plan:
    try:
        return understand(now)
    except NeedsCall:
        return Plan()


def _with_remarks(now: Situation, plan: Plan, text: str) -> Move:
    notes = {"asks": plan.asks} if plan.asks else {}
    return Move(joined(text, *plan.remarks, by="\n") or sentence("queued", now.lang), notes=notes)


def _opening(now: Situation) -> Move:
    if any(isinstance(message, AIMessage | HumanMessage) for message in now.messages):
        return Move(joined(sentence("again", now.lang), abilities(now)))
    parts = [now.greeting, sentence("who", now.lang), sentence("connect", now.lang), abilities(now)]
    helper = next((helper for helper in now.helpers if helper.form), next(iter(now.helpers), None))
    if helper is None:
        return Move(joined(*parts, by="\n"))
    own_offer = table(f"{helper.dialog}/phrases", now.lang).get("offer")
    offer = own_offer or sentence("offer", now.lang, title=helper.title)
    return Move(joined(*parts, offer, by="\n"), notes={"offer": helper.tool})


def _offer_answered(now: Situation) -> Move | None:
    """Take up or drop what the opening offered; small talk in between leaves it open."""
    helper = next((helper for helper in now.helpers if helper.tool == now.note("offer")), None)
    if helper and now.words.made_of(now.heard, "yes"):
        return Move("", (Call(helper.tool, {"brief": helper.title}),))
    if helper and now.words.made_of(now.heard, "no", "skip", "cancel"):
        return Move(joined(sentence("offer_declined", now.lang), abilities(now)))
    return None


def _handovers(now: Situation, plan: Plan) -> list[Call]:
    """Make one call for each dialog that is wanted, with its part of the message as brief; those that ask come last."""
    briefs: dict[str, list[str]] = {}
    forms = {helper.tool for helper in now.helpers if helper.form}
    for match in sorted(plan.foreign, key=lambda match: match.owner in forms):
        text = with_list(now, match) if points(match, now.words) else None
        briefs.setdefault(match.owner, []).append(text or match.text)
    return [Call(owner, {"brief": ". ".join(texts)}) for owner, texts in briefs.items()]
