"""The observers' parts: who shall hold the conversation, is the dialog over, what work does the user seek."""

import json
import re

from agents.models.rules.matches import Match, first_match
from agents.models.rules.sentences import sentence, vocabulary
from agents.models.rules.situation import Situation
from agents.models.rules.types import HELP, Move
from agents.models.rules.wishes import wishes
from agents.text.stems import plain
from agents.text.vocabulary import listening

UNSURE = {"supervisor": Move("stay"), "finished": Move("no"), "intent": Move("{}")}
"""The opinions of one who does not know."""
_CLAUSE_END = re.compile(r"[.!?;\n]|,\s")


def observe(now: Situation) -> Move:
    """Return an observer's opinion as text."""
    kind = now.scene.get("observer")
    if kind == "supervisor":
        return Move(_holder(now))
    if kind == "finished":
        return Move("yes" if _finished(now) else "no")
    intent = _intent(str(now.scene.get("text") or ""), now.lang)
    return Move(json.dumps({"intent": intent} if intent else {}, ensure_ascii=False))


def _holder(now: Situation) -> str:
    """Name who fits clearly better than the present dialog; "stay" in doubt."""
    asked = _answers_question(now)
    if now.words.means(now.heard, "switch.phrases"):
        return "stay" if asked and now.words.means(now.heard, "cancel") else "own"
    if now.own and now.own.form and first_match("edits.replace", now.heard, now.words.lang):
        return "stay"
    matches = wishes(now.heard, now.words, now.book().find).matches
    # Every speaker can look into the help itself.
    others = [match for match in matches if match.owner not in ("", HELP) and (match.pattern.strong or not asked)]
    if any(not match.owner for match in matches):
        return "stay"
    if others:
        return _name(now, others[0])
    if not asked and (like := now.book().resemble(now.heard)) and like.owner not in ("", HELP):
        return _name(now, like)
    return "stay"


def _answers_question(now: Situation) -> bool:
    """Whether the dialog has asked something other than if there is anything else."""
    reply = str(now.scene.get("reply") or "").rstrip()
    return "?" in reply and not reply.endswith(sentence("more", now.lang))


def _name(now: Situation, match: Match) -> str:
    return next((helper.dialog for helper in now.helpers if helper.tool == match.owner), match.owner)


def _finished(now: Situation) -> bool:
    reply = str(now.scene.get("reply") or "").rstrip()
    is_more_asked = reply.endswith(sentence("more", now.lang))
    return now.words.means(now.heard, "done") or (
        is_more_asked and now.words.means(now.heard, "no", "thanks", "goodbye")
    )


def _intent(text: str, lang: str) -> str | None:
    """Return the clause that begins with a cue ("looking for a job as a data analyst")."""
    words = vocabulary(listening(text, lang))
    flat = plain(text)
    span = words.mention(flat, "intent.phrases")
    if span is None:
        return None
    end = _CLAUSE_END.search(flat, span[1])
    return flat[span[0] : end.start() if end else len(flat)].strip()
