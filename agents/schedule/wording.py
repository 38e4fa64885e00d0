"""Moments in the words of a language, for people and models."""

from datetime import datetime
from string import Template

from agents.schedule import Moment, Repeat
from agents.schedule.recurrence import WEEKDAYS
from prompts import table

PERIODS = {
    "SECONDLY": "seconds",
    "MINUTELY": "minutes",
    "HOURLY": "hours",
    "DAILY": "days",
    "WEEKLY": "weeks",
    "MONTHLY": "months",
    "YEARLY": "years",
}


def worded(moment: Moment, lang: str) -> str:
    """Return a moment with its weekday, date and time, and how it repeats."""
    when = worded_instant(moment.at, lang)
    return when if moment.repeat is None else _say("next", lang, when=when, repeat=_worded_rule(moment.repeat, lang))


def worded_instant(at: datetime, lang: str) -> str:
    """Return an instant as the clock and calendar of its zone show it."""
    weekday = table("schedule", lang)["wording"]["weekdays"][at.weekday()]
    seconds = f":{at:%S}" if at.second else ""
    return _say("once", lang, weekday=weekday, date=f"{at:%Y-%m-%d}", time=f"{at:%H:%M}{seconds}")


def _worded_rule(repeat: Repeat, lang: str) -> str:
    parts = repeat.parts
    key, count = PERIODS[parts["FREQ"]], parts.get("INTERVAL", "1")
    days = parts.get("BYDAY", "")
    names = table("schedule", lang)["wording"]["weekdays"]
    place = days[: -len("MO")] if key == "months" else ""
    if place:
        days, key = days.removeprefix(place), "months_weekday"
    elif parts.get("BYMONTHDAY") == "-1":
        key = "months_last"
    elif count != "1" and key not in ("seconds", "minutes", "hours"):
        key = f"some_{key}"
    listed = ", ".join(names[WEEKDAYS.index(day)] for day in days.split(",") if day)
    day = parts.get("BYMONTHDAY", "").rpartition(",")[2]
    return _say(key, lang, count=count, days=listed, place=place, day=day, month=parts.get("BYMONTH", ""))


def _say(key: str, lang: str, **variables: object) -> str:
    return Template(table("schedule", lang)["wording"][key]).substitute(variables)
