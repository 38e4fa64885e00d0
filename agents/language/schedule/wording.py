"""Instants in the words of a language, for people and models: "tomorrow at 6 pm", "in 12 minutes"."""

from datetime import datetime, timedelta
from math import ceil
from string import Template

from prompts import table

HOUR = 3600
SECONDS_COUNT = 120
"""The least seconds of a length that is told without seconds; so is the time at its end."""
NEAR = 6  # The number of coming days for which the weekday is name enough.
LENGTHS = (("days_of", 86_400), ("hours_of", HOUR), ("minutes_of", 60), ("seconds_of", 1))


def worded_instant(at: datetime, lang: str, now: datetime | None = None, *, is_new: bool = False) -> str:
    """Return an instant in words, as seen from `now`: within the hour, by its day, or with its date.

    Just when it is set (`is_new`), the seconds of its length are told.
    """
    if now is not None and 0 < (left := ceil((at - now).total_seconds())) < HOUR:
        is_exact = left < SECONDS_COUNT or (is_new and left % 60 > 0)
        return _say("soon", lang, span=length(left, lang, exact=is_exact), time=clock(at, lang, seconds=is_exact))
    return _say("day_clock", lang, day=_day(at, lang, now), time=clock(at, lang))


def length(seconds: int, lang: str, *, exact: bool = False) -> str:
    """Return a length of time in its two largest units: "1 hour 20 minutes".

    From two minutes on it has no seconds, unless it is to be `exact`.
    """
    if SECONDS_COUNT <= seconds < HOUR and not exact:
        seconds = -(-seconds // 60) * 60
    parts: list[str] = []
    for key, unit in LENGTHS:
        count, rest = divmod(seconds, unit)
        if count and len(parts) < 2:
            parts.append(f"{count} {counted(table('schedule', lang)['wording'][key], count)}")
            seconds = rest
    return " ".join(parts) or f"0 {counted(table('schedule', lang)['wording']['seconds_of'], 0)}"


def counted(forms: list[str], count: int) -> str:
    """Return the form of a noun beside a number: of two forms as in English, of three as in Slavic languages."""
    if len(forms) < 3:
        return forms[0] if count == 1 else forms[-1]
    if count % 100 in range(11, 15) or count % 10 in (0, *range(5, 10)):
        return forms[2]
    return forms[0] if count % 10 == 1 else forms[1]


def heading(at: datetime, lang: str, now: datetime) -> str:
    """Return the name of a day: "Today, Friday, 20 November"."""
    words = table("schedule", lang)["wording"]
    named = _say("heading", lang, weekday=words["headings"][at.weekday()], **_date(at, lang))
    near = (at.date() - now.astimezone(at.tzinfo).date()).days
    return f"{words['days'][near + 1].capitalize()}, {named}" if -1 <= near <= 1 else f"{named[:1].upper()}{named[1:]}"


def clock(at: datetime, lang: str, *, seconds: bool = False) -> str:
    """Return the time of day in a language: "6 pm", "6:30 pm", "noon", "18:00"; seconds only if they are asked for."""
    words = table("schedule", lang)["wording"]
    second = f":{at:%S}" if seconds and at.second else ""
    if not second and at.minute == 0 and at.hour in (0, 12):
        return str(words["midnight" if at.hour == 0 else "noon"])
    if not words["am"]:
        return f"{at.hour}:{at:%M}{second}"
    minute = f":{at:%M}" if at.minute or second else ""
    return f"{at.hour % 12 or 12}{minute}{second} {words['am' if at.hour < 12 else 'pm']}"


def _day(at: datetime, lang: str, now: datetime | None) -> str:
    words = table("schedule", lang)["wording"]
    if now is not None:
        ahead = (at.date() - now.astimezone(at.tzinfo).date()) // timedelta(days=1)
        if -1 <= ahead <= 1:
            return str(words["days"][ahead + 1])
        if 1 < ahead <= NEAR:
            return str(words["weekdays"][at.weekday()])
    is_far = now is not None and at.year != now.astimezone(at.tzinfo).year
    weekday = words["weekdays"][at.weekday()]
    return _say("date_year" if is_far else "date", lang, weekday=weekday, **_date(at, lang))


def _date(at: datetime, lang: str) -> dict[str, object]:
    return {"day": at.day, "month": table("schedule", lang)["wording"]["months"][at.month - 1], "year": at.year}


def _say(key: str, lang: str, **variables: object) -> str:
    return Template(table("schedule", lang)["wording"][key]).substitute(variables)
