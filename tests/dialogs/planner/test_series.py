"""A series is a rule, its exceptions and its next time: an edit changes one of them, and nothing forgets the others."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from agents.language.schedule import STEPS, Moment
from agents.language.schedule.calendar import WEEKDAYS
from agents.language.schedule.parser import moment
from app.testing import Chat
from app.testing.script import Call
from dialogs.planner.calendar_file import entries
from dialogs.planner.records import Reminder, timing
from dialogs.planner.reschedule import moved, rezoned
from dialogs.planner.series import is_of_last_ring, without
from dialogs.planner.store import Reminders
from tests.dialogs.planner.test_calendar import event, file
from tests.dialogs.planner.test_kinds import answers
from tests.support.made_inputs import tried

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = tuple(map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")))
SAID = (
    *("every day at 9", "every day at 2:30 am", "every evening", "every 3 days at 7", "every weekday at 8"),
    *(
        "every other Monday at 9",
        "every Monday and Thursday at 18:00",
        "on weekends at 10",
        "every 2 weeks on Friday at 6",
    ),
    *("on the 31st of every month at 9", "on the last day of every month at 1:15 am", "every 3 months on the 5th at 9"),
    *("on the first Monday of every month at 10", "on the last Friday of each month at 16:00"),
    *("every year on 29 February at 9", "every 2 years on 1 May at noon"),
    *("every 3 hours", "every 90 minutes", "every 36 hours", "every 100 seconds"),
)
RULES = (
    *("FREQ=DAILY;COUNT=9", "FREQ=DAILY;INTERVAL=2;COUNT=12", "FREQ=WEEKLY;COUNT=5", "FREQ=WEEKLY;INTERVAL=2;COUNT=6"),
    *("FREQ=WEEKLY;BYDAY=MO,WE,FR;COUNT=20", "FREQ=MONTHLY;BYDAY=-1FR;COUNT=8", "FREQ=MONTHLY;BYMONTHDAY=-1"),
    *("FREQ=DAILY;UNTIL=20270401T060000Z", "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,SU", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=28"),
)
BEGINNINGS = [
    datetime(2026, 10, 24, 12, tzinfo=UTC),
    datetime(2027, 3, 26, 20, tzinfo=UTC),
    datetime(2026, 11, 20, 9, tzinfo=UTC),
]
"""Before the clocks go back, before they go on, and neither."""
COMPARED = 5
LONG_AGO = datetime(1, 1, 1)  # noqa: DTZ001  # the clock of a wall


@dataclass
class Expected:
    """The same series as `dateutil` expands it: wall-clock times, or instants of elapsed time."""

    rule: str
    start: datetime
    zone: ZoneInfo
    skipped: set[datetime]
    since: datetime

    @property
    def is_elapsed(self) -> bool:
        """Whether it counts elapsed time."""
        return any(f"FREQ={name}" in self.rule for name in STEPS)

    def instants(self, now: datetime) -> Iterator[datetime]:
        """Yield the coming instants."""
        for wall in rrulestr(self.rule, dtstart=self.start):
            at = wall.replace(tzinfo=UTC if self.is_elapsed else self.zone).astimezone(UTC)
            place = wall if self.is_elapsed else datetime.combine(wall.date(), time())
            if at > now and place >= self.since and place not in self.skipped:
                yield at

    def place_of(self, at: datetime) -> datetime:
        """Return the place of an instant that `instants` yields."""
        if self.is_elapsed:
            return at.astimezone(UTC).replace(tzinfo=None)
        walls = (
            wall
            for wall in rrulestr(self.rule, dtstart=self.start)
            if wall.replace(tzinfo=self.zone).astimezone(UTC) == at
        )
        return datetime.combine(next(walls).date(), time())

    def at_time(self, clock: time) -> None:
        """Move it to another time of day."""
        self.start = datetime.combine(self.start.date(), clock)

    def on_weekday(self, weekday: int) -> None:
        """Move a series of one day of the week: all that it has moves by as many days."""
        days = timedelta(days=weekday - next(rrulestr(self.rule, dtstart=self.start).__iter__()).weekday())
        old = next(day for day in WEEKDAYS if f"BYDAY={day}" in self.rule)
        self.rule = self.rule.replace(f"BYDAY={old}", f"BYDAY={WEEKDAYS[weekday]}")
        if "UNTIL=" in self.rule:
            rule, _, until = self.rule.partition("UNTIL=")
            self.rule = f"{rule}UNTIL={datetime.fromisoformat(until) + days:%Y%m%dT%H%M%S}"
        self.start += days
        self.skipped = {day + days for day in self.skipped}
        self.since = LONG_AGO

    def by_days(self, days: int, place: datetime) -> None:
        """Move all that comes, and the end."""
        rule, ended, until = self.rule.partition("UNTIL=")
        rule = re.sub(r"(?<=BYMONTHDAY=)\d+", lambda day: f"{int(day[0]) + days}", rule)
        moved = [WEEKDAYS[(place + days) % 7] for place, name in enumerate(WEEKDAYS) if f"BYDAY={name}" in rule]
        if moved:
            rule = f"{rule.partition('BYDAY=')[0]}BYDAY={moved[0]}{rule.partition('BYDAY=')[2][2:]}"
        ending = f"{datetime.fromisoformat(until) + timedelta(days=days):%Y%m%dT%H%M%S}" if ended else ""
        self.rule, self.start = f"{rule}{ended}{ending}", self.start + timedelta(days=days)
        self.skipped = {day + timedelta(days=days) for day in self.skipped}
        self.since = place + timedelta(days=days)


def begun(said: str, now: datetime, zone: ZoneInfo) -> Moment | None:
    """Return a series as a person says it, or as a calendar has it."""
    if not said.startswith("FREQ"):
        return moment(said, "en", now, zone)
    start = f"DTSTART;TZID={zone.key}:{now.astimezone(zone) + timedelta(days=1):%Y%m%d}T090000"
    [entry] = entries(file(event("UID:1", start, f"RRULE:{said}")).encode(), zone, now)
    return entry.moment


def expected_of(series: Moment, now: datetime) -> Expected:
    """Return the expected instants of a new series from now on."""
    assert series.repeat is not None
    repeat = series.repeat
    start = repeat.start.astimezone(UTC) if repeat.is_elapsed else repeat.start
    rule, ended, until = repeat.rule.partition("UNTIL=")
    ending = f"{ended}{until[:8]}T235959" if ended else ""
    zone = series.at.tzinfo
    assert isinstance(zone, ZoneInfo)
    return Expected(rule + ending, start.replace(tzinfo=None), zone, set(), LONG_AGO)


def kept(series: Moment) -> Moment:
    """Return a moment as its row keeps it."""
    return Reminder(number=1, text="x", lang="en", **timing(series)).moment


def edited(series: Moment, expected: Expected, edit: Sequence[int], now: datetime) -> Moment | None:
    """Make one edit of both; None where the series is over by it, the same series where it is refused."""
    kind, first, second = edit
    assert series.repeat is not None
    place = expected.place_of(series.at.astimezone(UTC))
    zone = expected.zone
    clock = time(first % 24, second % 60)
    if kind == 0:
        expected.skipped.add(place)
        return without(series, series.at, now)
    if kind == 1:
        there = ZONES[first % len(ZONES)]
        if not expected.is_elapsed:
            expected.since = place
        expected.zone = there
        return rezoned(series, now, there)
    if kind == 2 and not expected.is_elapsed:
        expected.at_time(clock)
        expected.since = place
        return moved(f"at {clock:%I:%M %p}", "en", now, zone, series)
    weekly = [
        day for day in WEEKDAYS if series.repeat.rule.split(";UNTIL")[0].endswith(f"FREQ=WEEKLY;INTERVAL=2;BYDAY={day}")
    ]
    if kind == 3 and weekly:
        expected.on_weekday(first % 7)
        names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
        return moved(f"on {names[first % 7]}", "en", now, zone, series)
    if kind == 4 and "," not in series.repeat.rule and not expected.is_elapsed:
        later = moved(f"{second + 1} days later", "en", now, zone, series)
        if later:
            expected.by_days(second + 1, place)
        return later or series
    return series


@tried(100)
@given(
    st.sampled_from(SAID + RULES),
    st.sampled_from(BEGINNINGS),
    st.sampled_from(ZONES),
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 400), st.integers(0, 59), st.integers(0, 60 * 24 * 20)), max_size=6
    ),
)
def test_every_edit_leaves_what_dateutil_makes_of_the_rest(
    said: str, now: datetime, zone: ZoneInfo, edits: list[tuple[int, int, int, int]]
) -> None:
    """Skips, other hours, other days and zones, in any order and over both changes of the clocks, as rows keep them."""
    series = begun(said, now, zone)
    assert series is not None, said
    expected = expected_of(series, now)
    for *edit, minutes in edits:
        now += timedelta(minutes=minutes)
        if series.at <= now:
            following = series.following(now)
            if following is None:
                return
            series = replace(series, at=following)
        after = edited(series, expected, edit, now)
        ahead = [*islice(expected.instants(now), COMPARED)]
        if after is None:
            assert ahead == []
            return
        series = kept(after)
        instants: list[datetime | None] = [series.at]
        while len(instants) < len(ahead):
            last = instants[-1]
            assert last is not None
            instants.append(series.following(last))
        assert [at and at.astimezone(UTC) for at in instants] == ahead


PLANTS = Call("add_reminder", {"when": "every other Monday at 9", "text": "plants"})
PILLS = Call("add_reminder", {"when": "every day at 10", "text": "pills"})
LONDON = Call("set_time_zone", {"zone": "Europe/London"})


async def coming(chat: Chat, number: int, count: int = 3) -> list[str]:
    """Return the next times of a reminder."""
    async with chat.assistant() as assistant:
        live = await assistant.services.get(Reminders).live("ann")
    series = next(it.moment for it in live if it.number == number)
    instants = [series.at]
    while len(instants) < count and (following := series.following(instants[-1])):
        instants.append(following)
    return [f"{at:%d %b %H:%M}" for at in instants]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([Call("skip_reminder", {"number": 1}), LONDON], ["07 Dec 09:00", "21 Dec 09:00", "04 Jan 09:00"]),
        (
            [
                Call("skip_reminder", {"number": 1}),
                Call("change_reminder", {"number": 1, "when": "at 10", "every": True}),
            ],
            ["07 Dec 10:00", "21 Dec 10:00", "04 Jan 10:00"],
        ),
        (
            [Call("change_reminder", {"number": 1, "when": "on Tuesday", "every": True}), LONDON],
            ["24 Nov 09:00", "08 Dec 09:00", "22 Dec 09:00"],
        ),
        (
            [
                Call("skip_reminder", {"number": 1}),
                Call("change_reminder", {"number": 1, "when": "two days later", "every": True}),
            ],
            ["09 Dec 09:00", "23 Dec 09:00", "06 Jan 09:00"],
        ),
        (
            [Call("skip_reminder", {"number": 1, "when": "on 7 December"})],
            ["23 Nov 09:00", "21 Dec 09:00", "04 Jan 09:00"],
        ),
    ],
)
async def test_a_talk_edits_one_property(friday: Chat, calls: list[Call], expected: list[str]) -> None:
    """A skipped time stays skipped in another zone and at another hour; other days come in the same weeks."""
    await answers(friday, [PLANTS], [*calls])
    assert await coming(friday, 1) == expected


async def test_a_day_that_two_become_is_skipped_with_both(friday: Chat) -> None:
    """A run on Mondays and Thursdays moves to Saturdays: a skipped Monday takes no Saturday, a skipped week does."""
    run = Call("add_reminder", {"when": "every Monday and Thursday at 9", "text": "run"})
    skip, move = Call("skip_reminder", {"number": 1}), {"number": 1, "when": "on Saturday", "every": True}
    await answers(friday, [run], [skip, Call("change_reminder", move)])
    assert await coming(friday, 1, 2) == ["28 Nov 09:00", "05 Dec 09:00"]
    await answers(friday, [Call("add_reminder", {"when": "every Monday and Thursday at 9", "text": "swim"})])
    await answers(friday, [Call("skip_reminder", {"number": 2})], [Call("skip_reminder", {"number": 2})])
    await answers(friday, [Call("change_reminder", {**move, "number": 2})])
    assert await coming(friday, 2, 2) == ["05 Dec 09:00", "12 Dec 09:00"]


async def test_what_was_put_off_once_rings_once(friday: Chat) -> None:
    """The series leaves out the time that was put off, whatever zone the user moves to, until "undo" brings it back."""
    later = Call("change_reminder", {"number": 1, "when": "at 11", "every": False})
    await answers(friday, [PILLS], [later, LONDON])
    assert await coming(friday, 1, 2) == ["21 Nov 10:00", "22 Nov 10:00"]
    assert await coming(friday, 2) == ["20 Nov 11:00"]
    await friday.says("undo")
    assert await coming(friday, 1, 2) == ["20 Nov 10:00", "21 Nov 10:00"]


async def test_what_rang_is_done_and_skips_nothing(friday: Chat) -> None:
    """The user is told when it rang and when it comes next; with a day that time is skipped."""
    await answers(friday, [PILLS])
    async with friday.assistant() as assistant:
        reminders = assistant.services.get(Reminders)
        [due] = await reminders.due(2**45, None, "*")
        await reminders.rang(due)
    said = await answers(friday, [Call("skip_reminder", {"number": 1})])
    assert said == ["It rang today at 9 am. The next time, today at 10 am, stays; to skip that one, name its day."]
    assert await coming(friday, 1, 2) == ["20 Nov 10:00", "21 Nov 10:00"]
    await answers(friday, [Call("skip_reminder", {"number": 1, "when": "today"})])
    assert await coming(friday, 1, 2) == ["21 Nov 10:00", "22 Nov 10:00"]


@pytest.mark.parametrize(
    ("now", "rung", "upcoming", "is_of_ring"),
    [
        ("20 10:00", "20 09:00", "21 09:00", True),
        ("20 22:00", "20 09:00", "21 09:00", True),
        ("21 00:30", "20 09:00", "21 09:00", False),
        ("21 08:00", "20 09:00", "21 09:00", False),
        ("20 12:10", "20 12:00", "20 13:00", True),
        ("20 12:50", "20 12:00", "20 13:00", False),
        ("18 12:00", "16 09:00", "23 09:00", True),
        ("22 12:00", "16 09:00", "23 09:00", False),
    ],
)
def test_the_last_ring_is_meant_until_the_next_one_is_near(
    now: str, rung: str, upcoming: str, is_of_ring: bool
) -> None:
    """Before the next ring the next time is meant; on the evening of a ring still the ring."""
    at, rang, next_one = (
        datetime.strptime(f"2026-11-{it}", "%Y-%m-%d %H:%M").replace(tzinfo=BERLIN) for it in (now, rung, upcoming)
    )
    assert is_of_last_ring(rang, next_one, at) == is_of_ring


async def test_the_last_one_is_what_was_told_last(friday: Chat) -> None:
    """A reminder that has rung since is meant by "snooze", not the one that was set after it."""
    pills = Call("add_reminder", {"when": "in 25 seconds", "text": "pills"})
    mum = Call("add_reminder", {"when": "tomorrow at 9", "text": "mum"})
    await answers(friday, [pills], [mum])
    async with friday.assistant() as assistant:
        reminders = assistant.services.get(Reminders)
        due, *_ = await reminders.due(2**45, None, "*")
        async with assistant.memory.locks.hold("ann"):
            await assistant.tell("ann", "⏰ pills", due.id)
        await reminders.rang(due)
    said = await answers(friday, [Call("change_reminder", {"when": "10 minutes", "every": False})])
    assert said[0].startswith("Set: 1. pills: ")
    assert await coming(friday, 2) == ["21 Nov 09:00"]


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        *(("en", f"every 0 {unit}") for unit in ("minutes", "hours", "days", "weeks", "months")),
        *(("en", said) for said in ("every year on 31 April", "on the sixth Monday of every month", "in 0 minutes")),
        *(("ru", said) for said in ("каждые 0 минут", "каждые 0 недель")),
        *(("zh", said) for said in ("每0分钟", "每0天")),
    ],
)
def test_what_is_zero_or_never_comes_is_no_time(lang: str, said: str) -> None:
    """It is refused, and is no other repetition."""
    assert moment(said, lang, BEGINNINGS[2], BERLIN) is None


def test_the_second_of_two_equal_hours_stays_the_second() -> None:
    """At 2:20, when the clocks have gone back, 2:40 is twenty minutes away, and so is what is put off by as much."""
    now = datetime(2026, 10, 25, 2, 20, fold=1, tzinfo=BERLIN)
    named = moment("at 2:40 am", "en", now, BERLIN)
    shifted = moved("20 minutes later", "en", now, BERLIN, Moment(now))
    corrected = moved("at 2:40 am", "en", now, BERLIN, Moment(now.replace(minute=50)))
    in_utc = [it and it.at.astimezone(UTC) for it in (named, shifted, corrected)]
    assert in_utc == [datetime(2026, 10, 25, 1, 40, tzinfo=UTC)] * 3
