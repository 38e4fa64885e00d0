"""The supervisor's part: hand each wish to whom it belongs, use its own tools, say honestly what it is."""

from langchain_core.messages import AIMessage, HumanMessage

from agents.models.standin.arguments import NeedsCall, Plan
from agents.models.standin.plan import cancelled, understand
from agents.models.standin.references import points, with_list
from agents.models.standin.replies import abilities, joined, not_understood, small_talk, told
from agents.models.standin.situation import Call, Move, Situation
from agents.models.standin.vocabulary import sentence
from prompts import table


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
