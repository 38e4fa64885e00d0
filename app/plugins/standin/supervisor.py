"""The parts of the supervisor and of the observers.

The supervisor hands each wish to its dialog, uses its own tools, and says honestly what it is. The observers say who
shall hold the conversation, whether the dialog is over, and what work the user seeks.
"""

import json

from langchain_core.messages import AIMessage, HumanMessage

from app.plugins.standin.lists import naming_list
from app.plugins.standin.planning import NeedsCall, Plan, understand
from app.plugins.standin.replies import abilities, greeting, in_words, joined, not_understood, small_talk
from app.plugins.standin.situation import HELP, Move, PlannedCall, Situation
from app.plugins.standin.vocabulary import sentence
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
        return Move("yes" if now.is_done else "no")
    intent = next((match.text for match in now.wishes if WORK in match.slots and match.pattern.of_form), None)
    return Move(json.dumps({"intent": intent.strip()} if intent else {}, ensure_ascii=False))


def _holder(now: Situation) -> str:
    """Name who is plainly wished for instead of the present dialog; "stay" in doubt."""
    has_asked = "?" in str(now.facts.get("reply") or "")
    if now.says("switch.phrases"):
        return "stay" if has_asked and now.says("cancel") else "other"
    wished = [match.pattern for match in now.wishes]
    # Every speaker can ask the help itself.
    if not wished or any(it.owner in ("", HELP) or (has_asked and it.is_weak) for it in wished):
        return "stay"
    return next((helper.dialog for helper in now.helpers if helper.tool == wished[0].owner), wished[0].owner)


def speak(now: Situation) -> Move:
    """Return the supervisor's next move."""
    if now.results:
        # A dialog itself says what it does.
        entries = {helper.tool for helper in now.helpers}
        own = [result for result in now.results if result.call.name not in entries]
        plan, text = _plan(now), in_words(own, (), now.lang) if own else ""
        is_seen = not (text or plan.remarks) and any(result.seen for result in own)
        return Move() if is_seen else _with_remarks(now, plan, text)
    if now.facts.get("opening") or not now.heard:
        return _opening(now)
    if answered := _offer_answered(now):
        return answered
    if now.note("asks") and now.says("cancel", "no"):
        return Move(sentence("cancelled", now.lang))
    if now.says("switch.phrases", "done", "thanks") - {"thanks"}:
        return Move(joined(sentence("left", now.lang), sentence("greeted", now.lang)))
    if text := small_talk(now):
        return Move(text, notes={"offer": now.offer})
    plan = _plan(now)
    if calls := (*plan.calls, *_handovers(now, plan)):
        return Move("", calls)
    return _with_remarks(now, plan, "") if plan.remarks else Move(not_understood(now), notes={"offer": now.offer})


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
    parts = [greeting(now), sentence("who", now.lang), sentence("connect", now.lang), abilities(now)]
    helper = next((helper for helper in now.helpers if helper.form), next(iter(now.helpers), None))
    if helper is None:
        return Move(joined(*parts, by="\n"))
    own_offer = table(f"{helper.dialog}/phrases", now.lang).get("offer")
    offer = own_offer or sentence("offer", now.lang, title=helper.title)
    return Move(joined(*parts, offer, by="\n"), notes={"offer": helper.tool})


def _offer_answered(now: Situation) -> Move | None:
    """Accept or drop what the opening offered; after small talk the offer is still open."""
    helper = next((helper for helper in now.helpers if helper.tool == now.offer), None)
    if helper and now.says("yes"):
        return Move("", (PlannedCall(helper.tool, {"brief": helper.title}),))
    if helper and now.says("no", "skip", "cancel"):
        return Move(joined(sentence("offer_declined", now.lang), abilities(now)))
    return None


def _handovers(now: Situation, plan: Plan) -> list[PlannedCall]:
    """Make one call for each wanted dialog, with its part of the message as brief. Dialogs that ask come last."""
    briefs: dict[str, list[str]] = {}
    forms = {helper.tool for helper in now.helpers if helper.form}
    foreign = [match for match in now.wishes if match.pattern.owner] if plan.foreign else []
    for match in sorted(foreign, key=lambda match: match.pattern.owner in forms):
        briefs.setdefault(match.pattern.owner, []).append(naming_list(now, match))
    return [PlannedCall(owner, {"brief": ". ".join(texts)}) for owner, texts in briefs.items()]
