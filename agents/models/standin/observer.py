"""The observers' parts: who shall hold the conversation, is the dialog over, what work does the user seek."""

import json

from agents.models.standin.situation import HELP, Move, Situation

UNSURE = {"supervisor": Move("stay"), "finished": Move("no"), "intent": Move("{}")}
"""The opinions of one who does not know."""
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
