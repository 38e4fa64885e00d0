"""Moments with their repetitions in words: "every Monday at 9 am"."""

from dataclasses import replace
from datetime import datetime
from string import Template

from agents.language.schedule import Moment, Repeat
from agents.language.schedule.calendar import WEEKDAYS
from agents.language.schedule.wording import clock, worded_instant
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
ELAPSED = ("seconds", "minutes", "hours")


def worded(moment: Moment, lang: str, now: datetime | None = None) -> str:
    """Return a moment and its repetition in words; without `now` with its date."""
    if moment.repeat is None:
        # A timer that was set in this second.
        return worded_instant(moment.at, lang, now, is_new=now is not None and moment.begun == now)
    key, rule = _rule(moment.repeat, lang)
    is_next = now is None or moment.at <= replace(moment.repeat, skipped=frozenset()).following(now)
    if key in ("days", "weeks", "workdays") and is_next:
        return _repeats("at", lang, rule=rule, time=clock(moment.at, lang))
    return _repeats("next", lang, rule=rule, when=worded_instant(moment.at, lang, now))


def _rule(repeat: Repeat, lang: str) -> tuple[str, str]:
    parts, words = repeat.parts, table("schedule", lang)
    key, count = PERIODS[parts["FREQ"]], parts.get("INTERVAL", "1")
    days = parts.get("BYDAY", "")
    place = days[: -len("MO")] if key == "months" else ""
    if place:
        days, key = days.removeprefix(place), "months_weekday"
    elif parts.get("BYMONTHDAY") == "-1":
        key = "months_last"
    elif key in ELAPSED:
        key = key.removesuffix("s") if count == "1" and key != "seconds" else key
    elif count != "1":
        key = f"some_{key}"
    elif days == ",".join(WEEKDAYS[:5]):
        key = "workdays"
    names = [words["repeats"]["weekdays"][WEEKDAYS.index(day)] for day in days.split(",") if day]
    listed = words["repeats"]["joined"].join(filter(None, [words["repeats"]["comma"].join(names[:-1]), *names[-1:]]))
    day = parts.get("BYMONTHDAY", "").rpartition(",")[2]
    month = words["wording"]["months"][int(parts.get("BYMONTH") or 1) - 1]
    place = words["repeats"]["places"].get(place, place)
    return key, _repeats(key, lang, count=count, days=listed, place=place, day=day, month=month)


def _repeats(key: str, lang: str, **variables: object) -> str:
    return Template(table("schedule", lang)["repeats"][key]).substitute(variables)
