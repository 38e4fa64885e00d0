"""The time in another place, which no tool tells: asked for it, the rules say what they know instead."""

from agents.models.rules.matches import first_match
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.small_talk import points_only


def time_elsewhere(now: Situation) -> str | None:
    """Return the answer to a question for the time in another place; None if the text is about something else."""
    found = first_match("elsewhere.time", now.heard, now.words.lang)
    if found is None or points_only(found["place"], now.words) or any(one.isdigit() for one in found["place"]):
        return None
    return sentence("time_here", now.lang)
