"""The rules of the supervisor and of the observers.

The supervisor hands each wish to its dialog, uses its own tools, and says honestly what it is. The observers name the
next holder of the conversation, and say whether the dialog is over; other observers find nothing.
"""

from langchain_core.messages import AIMessage, HumanMessage

from app.plugins.standin.intent import understand
from app.plugins.standin.plan import NeedsCall, Plan
from app.plugins.standin.replies import abilities, greeting, in_words, joined, not_understood, small_talk
from app.plugins.standin.situation import HELP, Move, PlannedCall, Situation
from app.plugins.standin.vocabulary import sentence
from prompts import table


def observe(now: Situation) -> Move:
    """Return an observer's verdict as text."""
    kind = now.facts.get("observer")
    if kind == "supervisor":
        return Move(_holder(now))
    # The engine itself recognises words that end a dialog.
    return Move("no" if kind == "finished" else "{}")


def _holder(now: Situation) -> str:
    """Return the speaker that the user plainly wants in place of the present dialog; "stay" in doubt."""
    has_asked = "?" in str(now.facts.get("reply") or "")
    # "Stop it" may be for the film that plays, and the dialog hears it if the engine has not obeyed it.
    if now.says("switch.phrases") and not now.says("leave") and all(match.pattern.owner for match in now.wishes):
        return "stay" if has_asked and now.says("cancel") else "other"
    wished = [match.pattern for match in now.wishes]
    # Every speaker can call the help tool itself.
    if not wished or any(it.owner in ("", HELP) or (has_asked and it.is_weak) for it in wished):
        return "stay"
    owner = wished[0].owner
    return now.helpers[owner]["dialog"] if owner in now.helpers else owner


def speak(now: Situation) -> Move:
    """Return the supervisor's next move."""
    if now.results:
        # A dialog reports its own work.
        own = [result for result in now.results if result.call.name not in now.helpers]
        plan, text = _plan(now), in_words(own, (), now.lang) if own else ""
        is_seen = not (text or plan.remarks) and any(result.seen for result in own)
        return Move() if is_seen else _with_remarks(now, plan, text)
    if now.facts.get("opening") or not now.heard:
        return _opening(now)
    if (offer := now.note("offer")) and now.says("yes"):
        return Move("", (PlannedCall(offer, {"brief": now.helpers[offer]["title"]}),))
    is_meant = any(match.pattern.owner in now.facts.get("active", ()) for match in now.wishes)
    if now.says("switch.phrases", "go_on.phrases", "done", "thanks") - {"thanks"} and not is_meant:
        left = "" if now.says("go_on.phrases") else sentence("left", now.lang)
        return Move(joined(left, sentence("greeted", now.lang)))
    if text := small_talk(now):
        # The offer stays open.
        return Move(text, notes={"offer": offer})
    plan = _plan(now)
    if calls := (*plan.calls, *_handovers(now, plan)):
        return Move("", calls)
    return _with_remarks(now, plan, "") if plan.remarks else Move(not_understood(now), notes={"offer": offer})


def _plan(now: Situation) -> Plan:
    try:
        return understand(now)
    except NeedsCall:
        return Plan()


def _with_remarks(now: Situation, plan: Plan, text: str) -> Move:
    return Move(joined(text, *plan.remarks, by="\n") or sentence("queued", now.lang), notes={"asks": plan.asks})


def _opening(now: Situation) -> Move:
    if any(isinstance(message, AIMessage | HumanMessage) for message in now.messages):
        return Move(joined(sentence("again", now.lang), abilities(now)))
    parts = [greeting(now), sentence("who", now.lang), sentence("connect", now.lang), abilities(now)]
    tool = next((it for it in now.helpers if now.helpers[it]["form"]), next(iter(now.helpers), None))
    if tool is None:
        return Move(joined(*parts, by="\n"))
    own_offer = table(f"{now.helpers[tool]['dialog']}/phrases", now.lang).get("offer")
    offer = own_offer or sentence("offer", now.lang, title=now.helpers[tool]["title"])
    return Move(joined(*parts, offer, by="\n"), notes={"offer": tool})


def _handovers(now: Situation, plan: Plan) -> list[PlannedCall]:
    """Return one handoff for each wanted dialog, its part of the message as brief. Dialogs with a form come last."""
    briefs: dict[str, list[str]] = {}
    for match in now.wishes if plan.foreign else ():
        if owner := match.pattern.owner:
            briefs.setdefault(owner, []).append(match.text)
    owners = sorted(briefs, key=lambda owner: bool(owner in now.helpers and now.helpers[owner]["form"]))
    return [PlannedCall(owner, {"brief": ". ".join(briefs[owner])}) for owner in owners]
