"""Move a moment by a person's words: "ten minutes later", "at ten instead", "на пятницу"."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, Repeat, calendar, later, on_the_clock
from agents.language.schedule.grammar import UNITS, Amount, Pieces, only_pieces, read, words
from agents.language.schedule.parser import EARLY, NOON, amount_of, meant, moment
from dialogs.planner.series import at_time, by_days, by_rule, in_zone, on_monthday, on_weekday

MORNING, EVENING = range(6, NOON), 18


def moved(
    text: str, lang: str, now: datetime, zone: ZoneInfo, former: Moment, *, day_named: bool = True, by_day: bool = False
) -> Moment | None:
    """Return `former` moved to the time that `text` names. It keeps the day, time or repetition that `text` leaves out.

    Without `day_named` the user has not named its day, so another time of day may come sooner.
    With `by_day` "at 3" is in the afternoon, unless `former` is early itself.
    Returns None when the text names no future moment.
    """
    now, number = now.astimezone(zone), words(lang).number(text)
    former = replace(former, at=former.at.astimezone(zone))
    named: Pieces = only_pieces(text, lang)
    if read(text, lang) is None and number is not None:
        named = {"clock": {"hour": number}}
    if not named:
        return moment(text, lang, now, zone)
    try:
        if former.begun is not None and (longer := _of_another_length(named, former, now)):
            return longer
        if former.begun is not None and named.keys() <= {*calendar.DAY_KINDS, *calendar.REPEAT_KINDS}:
            # A timer changes its length, never its day.
            return None
        pieces = dict(_in_the_same_half(named, former, by_day=by_day))
        if pieces.keys() <= {"shift", "length"}:
            return _shifted(amount_of(*pieces.values()), former, now, zone) if len(pieces) == 1 else None
        if pieces.keys() <= calendar.TIME_KINDS - {"daily"}:
            return _at_another_time(pieces, former, now, zone, day_named=day_named)
        return _on_other_days(pieces, former, now, zone)
    except (ValueError, OverflowError):
        return None


def _on_other_days(pieces: Pieces, former: Moment, now: datetime, zone: ZoneInfo) -> Moment | None:
    """Return a moment on the days that the pieces name; at the former time if they have none."""
    named, repeat = dict(pieces), former.repeat
    if not named.keys() & calendar.TIME_KINDS and (named.keys() <= set(calendar.DAY_KINDS) or _goes_by_days(named)):
        clock = repeat.start if repeat and not repeat.is_elapsed else former.at
        named["clock"] = {"hour": clock.hour, "minute": clock.minute}
        rule = None
        if named.keys() == {"weekday", "clock"} and repeat and "BYDAY" in repeat.parts:
            rule = on_weekday(repeat.rule, int(named["weekday"]["weekday"]))
        if named.keys() == {"monthday", "clock"} and repeat and "BYMONTHDAY" in repeat.parts:
            rule = on_monthday(repeat.rule, named["monthday"])
        if rule and repeat:
            return by_rule(former, Moment(former.at, Repeat(rule, repeat.start)), now)
    new = meant(named, now, zone)
    return by_rule(former, new, now) if new and new.repeat and repeat else new


def _in_the_same_half(pieces: Pieces, former: Moment, *, by_day: bool) -> Pieces:
    """Put a time that comes twice a day ("at 8") into the former time's half of the day.

    "Tomorrow at 9" is in the morning, as for a new reminder, unless the former time is in the evening.
    """
    clock = calendar.clock_of(pieces)
    if clock is None or not clock.is_vague:
        return pieces
    is_new = clock.hour in MORNING and not pieces.keys() <= calendar.TIME_KINDS
    is_late = former.at.hour >= (EVENING if is_new else NOON) or (
        by_day and clock.hour in EARLY and former.at.hour not in EARLY
    )
    return calendar.halved(pieces, "pm" if is_late else "am")


def _of_another_length(pieces: Pieces, former: Moment, now: datetime) -> Moment | None:
    """Return a timer with another length: "15 minutes", or "15" in the former unit."""
    assert former.begun is not None  # the caller asked
    if pieces.keys() == {"length"}:
        return Moment(later(now, seconds=amount_of(pieces["length"]).seconds), begun=now)
    if pieces.keys() != {"clock"} or pieces["clock"].keys() != {"hour"}:
        return None
    length = round((former.at - former.begun).total_seconds())
    unit = next(seconds for seconds in (3600, 60, 1) if length % seconds == 0)
    return Moment(later(now, seconds=int(pieces["clock"]["hour"]) * unit), begun=now)


def in_minutes(text: str, lang: str, now: datetime) -> Moment | None:
    """Return the end of a timer of so many minutes for a bare number ("10", "at 10"); None for other words."""
    pieces, number = only_pieces(text, lang), words(lang).number(text)
    if pieces.keys() == {"clock"} and pieces["clock"].keys() == {"hour"}:
        number = int(pieces["clock"]["hour"])
    return Moment(later(now, seconds=60 * number), begun=now) if number else None


def is_length(text: str, lang: str) -> bool:
    """Tell whether a text names a length of time and nothing else ("in five minutes", "ten minutes")."""
    return only_pieces(text, lang).keys() in ({"after"}, {"length"})


def repeats(text: str, lang: str) -> bool:
    """Tell whether a text names a repetition ("every day at 9")."""
    return not only_pieces(text, lang).keys().isdisjoint(calendar.REPEAT_KINDS)


def names_no_day(text: str, lang: str) -> bool:
    """Tell whether a text names a time of day and nothing else ("at 8")."""
    pieces = only_pieces(text, lang)
    return bool(pieces) and pieces.keys() <= calendar.TIME_KINDS - {"daily"}


def rezoned(former: Moment, now: datetime, zone: ZoneInfo) -> Moment:
    """Return a moment for a user who has moved to `zone`.

    A repetition by the calendar keeps its wall-clock time; a single moment, or one by elapsed time, keeps its instant.
    """
    at, repeat = former.at.astimezone(zone), former.repeat
    if repeat is None:
        return Moment(at)
    if repeat.is_elapsed:
        return Moment(at, replace(repeat, start=repeat.start.astimezone(zone)))
    try:
        moved = in_zone(former, zone, now)
    except OverflowError:
        return former
    # A due moment rings first.
    return moved if at > now else replace(moved, at=at)


def _shifted(amount: Amount, former: Moment, now: datetime, zone: ZoneInfo) -> Moment | None:
    # A moment that has rung is postponed from now.
    base = max(former.at, now, key=datetime.timestamp)
    if amount.months or amount.days:
        base = on_the_clock(datetime.combine(calendar.after(base.date(), amount), base.time()), zone)
    at = later(base, seconds=amount.seconds)
    if former.repeat is None:
        return replace(former, at=at) if at > now.astimezone(UTC) else None
    if former.repeat.is_elapsed:
        return Moment(at, Repeat(former.repeat.rule, at))
    if amount.days and not (amount.months or amount.seconds):
        return by_days(former, amount.days, now)
    start = former.repeat.start.replace(tzinfo=None) + timedelta(seconds=amount.seconds)
    if amount.months or amount.days or start.date() != former.repeat.start.date():
        # Its rule names days. A time on the next day would belong to other days.
        return None
    return at_time(former, start.time(), now)


def _at_another_time(
    pieces: Pieces, former: Moment, now: datetime, zone: ZoneInfo, *, day_named: bool
) -> Moment | None:
    clock, repeat = calendar.clock_of(pieces), former.repeat
    assert clock is not None  # there are pieces, and all of them name a time
    if not day_named and former.at.date() > now.date():
        # "At 8" meant tomorrow morning, since this morning's 8 is past; "no, at 8 pm" means today.
        return calendar.first(repeat.rule, clock, now) if repeat else meant(pieces, now, zone)
    if repeat is not None and not repeat.is_elapsed:
        return at_time(former, clock.clock, now)
    at = clock.on(former.at.date(), zone, now)
    if repeat is None and (at > now.astimezone(UTC) or former.at > now.astimezone(UTC)):
        # The moment is in the future, so a past hour does not mean the next day.
        return Moment(at) if at > now.astimezone(UTC) else None
    return meant(pieces, now, zone)


def _goes_by_days(pieces: Pieces) -> bool:
    if not pieces.keys() & calendar.REPEAT_KINDS:
        return False
    values = pieces.get("every", pieces.get("every_other", {}))
    amount = values.get("amount") or UNITS.get(values.get("unit") or values.get("adverb", ""), Amount())
    return not amount.seconds
