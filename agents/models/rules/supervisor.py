"""The supervisor's part: hand each wish to whom it belongs, use its own tools, say honestly what it is."""

from langchain_core.messages import AIMessage, HumanMessage

from agents.models.rules.arguments import NeedsListing, Plan
from agents.models.rules.lists import spelled
from agents.models.rules.matches import first_match
from agents.models.rules.plan import cancelled, understand
from agents.models.rules.replies import abilities, joined, not_understood, small_talk, told
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.types import Call, Helper, Move


def speak(now: Situation) -> Move:
    """Return the supervisor's next move."""
    if now.results:
        return _report(now)
    if now.scene.get("opening") or not now.heard:
        return _opening(now)
    if accepted := _offer_answered(now):
        return accepted
    if text := cancelled(now):
        return Move(text)
    if now.words.means(now.heard, "switch.phrases", "done"):
        return Move(joined(sentence("left", now.lang), sentence("greeted", now.lang)))
    if move := _chat(now):
        return move
    plan = _plan(now)
    calls = (*plan.calls, *_handovers(now, plan))
    if calls:
        return Move("", calls)
    if plan.remarks:
        return _with_remarks(now, plan, "")
    if (dialog := _corrected(now)) is not None:
        return Move("", (Call(dialog.tool, {"brief": now.heard}),))
    helper = _offered(now)
    return _offering(now, helper, not_understood(now).text) if helper else not_understood(now)


def _chat(now: Situation) -> Move | None:
    """Answer small talk; what was offered before it stays on offer."""
    helper = _offered(now)
    if helper and (text := small_talk(now, "greeting", "how_are_you", "who_are_you")):
        return _offering(now, helper, text)
    text = small_talk(now)
    return Move(text) if text else None


def _plan(now: Situation) -> Plan:
    try:
        return understand(now)
    except NeedsListing:
        return Plan()


def _report(now: Situation) -> Move:
    """Word the results of the supervisor's own tools; what a dialog does, the dialog says itself."""
    entries = {helper.tool for helper in now.helpers}
    own = [result for result in now.results if result.call.name not in entries]
    return _with_remarks(now, _plan(now), told(own, (), now.lang) if own else "")


def _with_remarks(now: Situation, plan: Plan, text: str) -> Move:
    notes = {"asks": plan.asks} if plan.asks else {}
    return Move(joined(text, *plan.remarks, by="\n") or sentence("queued", now.lang), notes=notes)


def _opening(now: Situation) -> Move:
    if any(isinstance(message, AIMessage | HumanMessage) for message in now.messages):
        return Move(joined(sentence("again", now.lang), abilities(now)))
    first = next(iter(now.helpers), None)
    parts = [sentence("greeting", now.lang), sentence("who", now.lang), sentence("connect", now.lang), abilities(now)]
    getting_acquainted = next((helper for helper in now.helpers if helper.form), first)
    if getting_acquainted is None:
        return Move(joined(*parts, by="\n"))
    return _offering(now, getting_acquainted, *parts)


def _offering(now: Situation, helper: Helper, *said: str) -> Move:
    offer = sentence("offer" if helper.form == "profile" else "offer_other", now.lang, title=helper.title)
    # Asked to say it again, the offer is what was said last.
    others = (text for text in said if not text.endswith(offer))
    return Move(joined(*others, offer, by="\n"), notes={"offer": helper.tool})


def _offered(now: Situation) -> Helper | None:
    offered = now.note("offer")
    return next((helper for helper in now.helpers if helper.tool == offered), None)


def _offer_answered(now: Situation) -> Move | None:
    """Take up or drop what the last message offered."""
    if (helper := _offered(now)) is None:
        return None
    if now.words.means(now.heard, "yes"):
        return Move("", (Call(helper.tool, {"brief": helper.title}),))
    if now.words.means(now.heard, "no", "skip", "cancel"):
        return Move(joined(sentence("offer_declined", now.lang), abilities(now)))
    return None


def _corrected(now: Situation) -> Helper | None:
    """Return the dialog with a form that gave the conversation back last, if the text corrects what it was told."""
    if not any(first_match(name, now.heard, now.words.lang) for name in ("edits.replace", "edits.again")):
        return None
    ended = [note.additional_kwargs["dialog"] for note in now.before if "dialog" in note.additional_kwargs]
    return next((helper for helper in now.helpers if helper.form and ended and helper.dialog == ended[-1]), None)


def _handovers(now: Situation, plan: Plan) -> list[Call]:
    """Make one call for each dialog that is wanted, with its part of the message as brief."""
    owners = list(dict.fromkeys(match.owner for match in plan.foreign))
    if len(owners) == 1 and not plan.calls:
        alone = plan.foreign[0] if len(plan.foreign) == 1 else None
        return [Call(owners[0], {"brief": (alone and spelled(now, alone)) or now.heard})]
    briefs = {
        owner: [spelled(now, match) or match.text for match in plan.foreign if match.owner == owner] for owner in owners
    }
    return [Call(owner, {"brief": ". ".join(texts)}) for owner, texts in briefs.items()]
