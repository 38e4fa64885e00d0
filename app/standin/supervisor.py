"""The parts of the supervisor and of the observers.

The supervisor hands each wish to its dialog, uses its own tools, and says honestly what it is. The observers say who
shall hold the conversation, whether the dialog is over, and what work the user seeks.
"""

import json

from langchain_core.messages import AIMessage, HumanMessage

from agents.language.text.stems import words
from app.standin.arguments import NeedsCall, Plan, cancelled, understand
from app.standin.references import points, with_list
from app.standin.replies import abilities, greeting, in_words, joined, not_understood, small_talk
from app.standin.situation import HELP, DialogCard, Move, PlannedCall, Situation
from app.standin.vocabulary import sentence
from prompts import table

UNSURE = {"supervisor": Move("stay"), "finished": Move("no"), "intent": Move("{}")}
MOST_WORDS = 10
"""The words of a message that names a subject; a longer one tells more than that."""
WORK = "work"
"""The field of a profile whose sentences tell a professional intent."""


def observe(now: Situation) -> Move:
    """Return an observer's opinion as text."""
    kind = now.facts.get("observer")
    if kind == "supervisor":
        return Move(_holder(now))
    if kind == "finished":
        is_done = not now.instead and "done" in now.words.made_of(now.heard, "done", "thanks", "no")
        return Move("yes" if is_done else "no")
    intent = next((match.text for match in now.wishes() if WORK in match.slots and match.pattern.of_form), None)
    return Move(json.dumps({"intent": intent.strip()} if intent else {}, ensure_ascii=False))


def _holder(now: Situation) -> str:
    """Name who is plainly wished for instead of the present dialog; "stay" in doubt."""
    has_asked = "?" in str(now.facts.get("reply") or "")
    if now.words.made_of(now.heard, "switch.phrases"):
        return "stay" if has_asked and now.words.made_of(now.heard, "cancel") else "other"
    wished = [match.pattern for match in now.wishes()]
    # Every speaker can ask the help itself.
    if not wished or any(it.owner in ("", HELP) or (has_asked and not it.strong) for it in wished):
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
    if text := cancelled(now):
        return Move(text)
    if now.words.made_of(now.heard, "switch.phrases", "done", "thanks") - {"thanks"}:
        return Move(joined(sentence("left", now.lang), sentence("greeted", now.lang)))
    if text := small_talk(now):
        return Move(text, notes={"offer": now.offer})
    if not now.wishes() and (helper := _by_topic(now)):
        return Move("", (PlannedCall(helper.tool, {"brief": now.heard}),))
    plan = _plan(now)
    if calls := (*plan.calls, *_handovers(now, plan)):
        return Move("", calls)
    if plan.remarks:
        return _with_remarks(now, plan, "")
    return Move(not_understood(now).text, notes={"offer": now.offer})


def _by_topic(now: Situation) -> DialogCard | None:
    """Return the one dialog whose subject a message names, if the message is no wish in the words of a card."""
    heard = words(now.heard)
    named = [helper for helper in now.helpers if helper.topic(now.lang) & {*heard}]
    is_told = not now.words.words_of("answers.telling").isdisjoint(now.words.spelled(now.heard))
    is_plain = len(heard) <= MOST_WORDS and not is_told and not now.words.is_saying(now.heard)
    # "Pick up the dry cleaning after work" is something to do, and not about work.
    is_errand = any(now.words.begins(now.heard, f"answers.{name}") for name in ("errands", "chores"))
    return named[0] if len(named) == 1 and is_plain and not is_errand else None


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
    if helper and now.words.made_of(now.heard, "yes"):
        return Move("", (PlannedCall(helper.tool, {"brief": helper.title}),))
    if helper and now.words.made_of(now.heard, "no", "skip", "cancel"):
        return Move(joined(sentence("offer_declined", now.lang), abilities(now)))
    return None


def _handovers(now: Situation, plan: Plan) -> list[PlannedCall]:
    """Make one call for each wanted dialog, with its part of the message as brief. Dialogs that ask come last."""
    briefs: dict[str, list[str]] = {}
    forms = {helper.tool for helper in now.helpers if helper.form}
    for match in sorted(plan.foreign, key=lambda match: match.pattern.owner in forms):
        text = with_list(now, match) if points(match, now.words) else None
        briefs.setdefault(match.pattern.owner, []).append(text or match.text)
    return [PlannedCall(owner, {"brief": ". ".join(texts)}) for owner, texts in briefs.items()]
