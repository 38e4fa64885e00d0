"""Move a moment as people say it: "ten minutes later", "at ten instead", "на пятницу"."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from agents.schedule import STEPS, Moment, Repeat, later, on_the_clock, recurrence
from agents.schedule.days import KINDS as DAYS
from agents.schedule.days import after
from agents.schedule.grammar import read
from agents.schedule.lexicon import Amount, Pieces, Values
from agents.schedule.parser import meant, moment
from agents.schedule.time_of_day import KINDS as TIMES
from agents.schedule.time_of_day import clock_of


def moved(text: str, lang: str, now: datetime, zone: ZoneInfo, former: Moment) -> Moment | None:
    """Return `former` moved to the time that `text` names. It keeps the day, time or repetition that `text` leaves out.

    Returns None when the text names no moment to come.
    """
    reading = read(text, lang)
    if reading is None or reading.rest:
        return moment(text, lang, now, zone)
    pieces, now = dict(reading.pieces), now.astimezone(zone)
    former = Moment(former.at.astimezone(zone), former.repeat)
    try:
        if "shift" in pieces:
            return _shifted(_amount(pieces["shift"]), former, now, zone) if len(pieces) == 1 else None
        if pieces.keys() <= TIMES - {"daily"}:
            return _at_another_time(pieces, former, now, zone)
    except (ValueError, OverflowError):
        return None
    if not pieces.keys() & TIMES and (pieces.keys() <= set(DAYS) or _goes_by_days(pieces)):
        pieces["clock"] = {"hour": former.at.hour, "minute": former.at.minute}
        if pieces.keys() == {"weekday", "clock"} and former.repeat and "BYDAY" in former.repeat.parts:
            pieces["weekly"] = {"weekday_list": [int(pieces.pop("weekday")["weekday"])]}
    return meant(pieces, now, zone)


def rezoned(former: Moment, now: datetime, zone: ZoneInfo) -> Moment:
    """Return a moment for a user who has moved to `zone`.

    A repetition by the calendar keeps its wall-clock time; a single moment, or one by elapsed time, keeps its instant.
    """
    at, repeat = former.at.astimezone(zone), former.repeat
    if repeat is None:
        return Moment(at)
    if repeat.parts["FREQ"] in STEPS:
        return Moment(at, Repeat(repeat.rule, repeat.start.astimezone(zone)))
    repeat = Repeat(repeat.rule, repeat.start.replace(tzinfo=zone, fold=0))
    # One that is due by now rings first.
    return Moment(repeat.following(now) if at > now else at, repeat)


def _amount(shift: Values) -> Amount:
    amount: Amount = shift.get("amount") or recurrence.UNITS[shift["unit"]]
    return amount.times(int(shift["direction"]))


def _shifted(amount: Amount, former: Moment, now: datetime, zone: ZoneInfo) -> Moment | None:
    # One that has rung is put off from now on.
    base = max(former.at, now, key=datetime.timestamp)
    day = on_the_clock(datetime.combine(after(base.date(), amount), base.time()), zone)
    at = later(day, seconds=amount.seconds)
    if former.repeat is None:
        return Moment(at) if at > now.astimezone(UTC) else None
    if former.repeat.parts["FREQ"] in STEPS:
        return Moment(at, Repeat(former.repeat.rule, at))
    start = former.repeat.start + timedelta(seconds=amount.seconds)
    if amount.months or amount.days or start.date() != former.repeat.start.date():
        # Its rule names days, and a time of the next day would belong to other ones.
        return None
    repeat = Repeat(former.repeat.rule, start)
    return Moment(repeat.following(now), repeat)


def _at_another_time(pieces: Pieces, former: Moment, now: datetime, zone: ZoneInfo) -> Moment | None:
    clock = clock_of(pieces)
    assert clock is not None  # there are pieces, and all of them name a time
    if former.repeat is not None and former.repeat.parts["FREQ"] not in STEPS:
        return recurrence.first(former.repeat.rule, clock, now)
    at = clock.on(former.at.date(), zone)
    return Moment(at) if at > now.astimezone(UTC) and former.repeat is None else meant(pieces, now, zone)


def _goes_by_days(pieces: Pieces) -> bool:
    if not pieces.keys() & recurrence.KINDS:
        return False
    values = pieces.get("every", pieces.get("every_other", {}))
    amount = values.get("amount") or recurrence.UNITS.get(values.get("unit") or values.get("adverb", ""), Amount())
    return not amount.seconds
