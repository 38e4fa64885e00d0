"""A wish for a reminder that says neither of what nor when ("remind me"), its answer, and a time put right."""

from collections.abc import Mapping
from typing import Any

from agents.models.rules.calls import Filler, Plan
from agents.models.rules.lists import latest, of_last
from agents.models.rules.matches import first_match
from agents.models.rules.sentences import asking, sentence
from agents.models.rules.situation import Situation
from agents.models.rules.times import parted, time_in, whole
from agents.models.rules.values import Parameter, without

BOTH = "both"
"""Marks in what is asked that the answer may tell of what, when, or both."""


def ask_both(now: Situation, plan: Plan) -> None:
    """Ask of what and when, if the user only said "remind me" and there is a tool to do it with."""
    tool = next((name for name, wanted in now.tools.items() if _times_a_text(wanted)), None)
    if tool and now.words.means(now.heard, "reminding.bare"):
        plan.asks = {"tool": tool, "slot": _of_kind(now, tool, "time"), "args": {}, BOTH: True}
        plan.remarks.append(sentence("remind_what", now.lang))


def take_both(now: Situation, filler: Filler, plan: Plan, asks: Mapping[str, Any], text: str) -> None:
    """Take of what, when or both from the answer, and ask for what is left."""
    tool, when, what = asks["tool"], asks["slot"], _of_kind(now, asks["tool"], "text")
    named = parted(text, now.words.lang)
    moment, rest = named if named and whole(text, named[1], now.words.lang) else (time_in(text, now.words), "")
    said = without(rest if moment else text, now.words, "leads.phrases")
    if moment and said:
        filler.add(plan, tool, {when: moment, what: said})
        return
    plan.asks = {"tool": tool, "slot": what if moment else when, "args": {when: moment} if moment else {what: said}}
    plan.remarks.append(sentence("remind_of", now.lang) if moment else asking(when, now.lang))


def retimed(now: Situation) -> tuple[str, dict[str, str]] | None:
    """Return the tool that moves what was just set and its raw arguments, if the text only corrects its time."""
    changer = next((name for name, wanted in now.tools.items() if {"number", "time"} <= _kinds(wanted)), None)
    found = first_match("edits.retime", now.heard, now.words.lang)
    if changer is None or found is None or time_in(found["new"], now.words) is None:
        return None
    place = latest(now, changer) if of_last(now, changer) == changer else None
    raw = {_of_kind(now, changer, "number"): str(place), _of_kind(now, changer, "time"): found["new"]}
    return (changer, raw) if place else None


def _kinds(wanted: Mapping[str, Parameter]) -> set[str]:
    return {parameter.kind for parameter in wanted.values()}


def _times_a_text(wanted: Mapping[str, Parameter]) -> bool:
    return sorted(parameter.kind for parameter in wanted.values()) == ["text", "time"]


def _of_kind(now: Situation, tool: str, kind: str) -> str:
    return next(name for name, parameter in now.tools[tool].items() if parameter.kind == kind)
