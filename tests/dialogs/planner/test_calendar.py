"""iCalendar: reminders leave as a file that other programs read, and events come in as reminders."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from agents.events import Interrupt
from agents.language.schedule.parser import moment
from agents.memory.undo_log import Changes, ToolWrite, UndoLog
from app.cli import command_line
from app.testing import Chat
from app.testing.script import Call
from dialogs.planner.calendar_file import entries
from dialogs.planner.records import OTHERS, Reminder
from dialogs.planner.series import without
from dialogs.planner.store import Reminders
from tests.dialogs.planner.room import open_reminders

pytestmark = pytest.mark.needs("standin")

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
Captured = pytest.CaptureFixture[str]
WHENS = (
    "in 20 minutes",
    "tomorrow at 9",
    "every day at 7",
    "every weekday at 8",
    "every other week on Monday at 9",
    "every first monday of the month at 10",
    "every month on the 31st at 9",
    "every year on 29 February at 9",
    "every 3 hours",
)


def event(*lines: str) -> str:
    """Return an event."""
    return "\r\n".join(("BEGIN:VEVENT", "DTSTAMP:20261101T000000Z", *lines, "END:VEVENT"))


def file(*parts: str) -> str:
    """Return a calendar."""
    return "\r\n".join(("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Others//EN", *parts, "END:VCALENDAR", ""))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database that the commands use."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/dialogs.db")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    return tmp_path / "dialogs.db"


def run(*arguments: str) -> int:
    """Run a command as the command line does."""
    return command_line.main(arguments)


async def set_reminders(path: Path) -> None:
    """Set one reminder of each kind, now."""
    async with open_reminders(path) as (_, reminders):
        for when in WHENS:
            at = moment(when, "en", datetime.now(UTC).replace(microsecond=0), BERLIN)
            assert at is not None, when
            await reminders.add("me", "me", when, text=f"tea, {when}; “now”\n…", lang="en", moment=at)


async def live(path: Path, user: str = "me") -> list[Reminder]:
    """Return a user's reminders."""
    async with open_reminders(path) as (_, reminders):
        return await reminders.live(user)


def test_another_library_reads_what_is_exported(path: Path, capsys: Captured) -> None:
    """Texts, instants and the next ten repetitions are those that would ring."""
    # Half a second in each process that collects this test, and one process runs it.
    from ical.calendar import Calendar as Timetable  # noqa: PLC0415
    from ical.calendar_stream import IcsCalendarStream  # noqa: PLC0415

    asyncio.run(set_reminders(path))
    assert run("planner", "calendar") == 0
    calendar = IcsCalendarStream.calendar_from_ics(capsys.readouterr().out)
    reminders = asyncio.run(live(path))
    assert len(calendar.events) == len(reminders) == len(WHENS)
    for reminder, event in zip(reminders, calendar.events, strict=True):
        assert event.summary == reminder.text
        repeat = reminder.moment.repeat
        if repeat is None:
            assert event.dtstart == reminder.moment.at
            continue
        timeline = Timetable(events=[event]).timeline
        theirs = [datetime.fromisoformat(str(it.dtstart)).astimezone(UTC) for it in islice(timeline, 10)]
        ours, after = [], repeat.start - timedelta(seconds=1)
        for _ in theirs:
            ours.append(after := repeat.following(after))
        assert theirs == [at.astimezone(UTC) for at in ours]
        assert len(theirs) == 10


def test_what_was_exported_comes_in_once(path: Path, tmp_path: Path, capsys: Captured) -> None:
    """Its owner has it already; somebody else gets the same moments, and nothing twice."""
    asyncio.run(set_reminders(path))
    assert run("planner", "calendar") == 0
    exported = tmp_path / "mine.ics"
    exported.write_bytes(capsys.readouterr().out.encode())
    assert run("planner", "import", str(exported)) == 0
    assert capsys.readouterr().out.count("is there already") == len(WHENS)
    for count in (len(WHENS), 0):
        assert run("planner", "import", str(exported), "--thread", "bob") == 0
        assert f"Reminders set: {count}\n" in capsys.readouterr().out
    mine, bobs = (
        {(it.text.partition(";")[0], it.at_ms, it.rule) for it in asyncio.run(live(path, user))}
        for user in ("me", "bob")
    )
    assert {(text, at) for text, at, _ in bobs} == {(text, at) for text, at, _ in mine}


TAKEN = [
    (("DTSTART:20261121T090000Z", "SUMMARY:utc"), "2026-11-21T09:00:00+00:00", None),
    (("DTSTART;TZID=America/New_York:20261121T090000", "SUMMARY:zone"), "2026-11-21T09:00:00-05:00", None),
    (("DTSTART;TZID=W. Europe Standard Time:20261121T090000", "SUMMARY:win"), "2026-11-21T09:00:00+01:00", None),
    (("DTSTART:20261121T090000", "SUMMARY:floating"), "2026-11-21T09:00:00+01:00", None),
    (("DTSTART;VALUE=DATE:20261121", "SUMMARY:day"), "2026-11-21T09:00:00+01:00", None),
    (
        ("DTSTART:20261121T090000Z", "SUMMARY:a", "BEGIN:VALARM", "TRIGGER:-PT15M", "ACTION:DISPLAY", "END:VALARM"),
        "2026-11-21T08:45:00+00:00",
        None,
    ),
    (
        ("DTSTART;TZID=Europe/Berlin:20261101T090000", "SUMMARY:w", "RRULE:FREQ=WEEKLY;BYDAY=MO,WE"),
        "2026-11-23T09:00:00+01:00",
        "FREQ=WEEKLY;INTERVAL=1;BYDAY=MO,WE",
    ),
    (
        ("DTSTART;TZID=Europe/Berlin:20260320T090000", "SUMMARY:m", "RRULE:FREQ=MONTHLY;BYDAY=-1FR"),
        "2026-11-27T09:00:00+01:00",
        "FREQ=MONTHLY;INTERVAL=1;BYDAY=-1FR",
    ),
    (
        ("DTSTART:20261119T090000", "SUMMARY:u", "RRULE:FREQ=DAILY;UNTIL=20261121T080000Z"),
        "2026-11-21T09:00:00+01:00",
        "FREQ=DAILY;INTERVAL=1;UNTIL=20261121T090000",
    ),
    (
        ("DTSTART:20261119T090000", "SUMMARY:c", "RRULE:FREQ=DAILY;COUNT=3"),
        "2026-11-21T09:00:00+01:00",
        "FREQ=DAILY;INTERVAL=1;UNTIL=20261121T090000",
    ),
]


@pytest.mark.parametrize(("lines", "at", "rule"), TAKEN)
def test_an_event_is_a_reminder(lines: tuple[str, ...], at: str, rule: str | None) -> None:
    """At its alarm, else when it begins; on the clock of its zone, else of the user's; as often as it says."""
    # Ten in Berlin: today's nine o'clock is over.
    (entry,) = entries(file(event("UID:1", *lines)).encode(), BERLIN, NOW)
    assert entry.why is None
    assert entry.moment is not None
    assert entry.moment.at == datetime.fromisoformat(at)
    assert (entry.moment.repeat.rule if entry.moment.repeat else None) == rule
    assert (entry.starts is not None) == ("VALARM" in " ".join(lines))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("DTSTART:20261119T090000Z",), "past"),
        (("DTSTART:20261101T090000Z", "RRULE:FREQ=DAILY;COUNT=3"), "past"),
        (("DTSTART:20261121T090000Z", "STATUS:CANCELLED"), "cancelled"),
        (("DTSTART:20261121T090000Z", "RRULE:FREQ=DAILY", "RDATE:20261122T190000Z"), "exceptions"),
        (("DTSTART:20261121T090000Z", "RRULE:FREQ=DAILY;BYHOUR=9,10"), "rule"),
        (("DTSTART:20261121T090000Z", "RRULE:FREQ=DAILY;INTERVAL=0"), "rule"),
        (("DTSTART:20261121T090000Z", "RRULE:FREQ=SECONDLY"), "rule"),
        (("DTSTART:20261121T090000Z", "RRULE:FREQ=MONTHLY;BYDAY=MO"), "rule"),
        (("DTSTART:20251121T090000Z", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"), "rule"),
        (("SUMMARY:never",), "no_time"),
    ],
)
def test_what_a_reminder_cannot_keep_is_left_out(lines: tuple[str, ...], why: str) -> None:
    """Rather none than one at a wrong time; the reason is told."""
    (entry,) = entries(file(event("UID:1", *lines)).encode(), BERLIN, NOW)
    assert (entry.why, entry.moment) == (why, None)


@pytest.mark.parametrize("frequency", ["DAILY;INTERVAL=2", "HOURLY;INTERVAL=36"])
def test_exceptions_come_in_go_out_and_stay(path: Path, tmp_path: Path, capsys: Captured, frequency: str) -> None:
    """Those of a file are kept and exported again; one of the user's is kept when the file is read again."""
    begin = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=2)
    step = timedelta(hours=36 if "HOURLY" in frequency else 48)
    lines = (f"DTSTART:{begin:%Y%m%dT%H%M%SZ}", f"RRULE:FREQ={frequency}", f"EXDATE:{begin + step:%Y%m%dT%H%M%SZ}")
    source, exported = tmp_path / "theirs.ics", tmp_path / "mine.ics"
    source.write_text(file(event("UID:1", *lines, "SUMMARY:pills")), "utf-8", newline="")
    assert run("planner", "import", str(source)) == 0

    async def skip() -> None:
        async with open_reminders(path) as (_, reminders):
            [pills] = await reminders.live("me")
            await reminders.change(pills, "skip", text="pills", moment=without(pills.moment, pills.moment.at, begin))

    asyncio.run(skip())
    source.write_text(file(event("UID:1", *lines, "SUMMARY:green pills")), "utf-8", newline="")
    assert run("planner", "import", str(source)) == 0
    capsys.readouterr()
    assert run("planner", "calendar") == 0
    exported.write_bytes(capsys.readouterr().out.encode())
    assert run("planner", "import", str(exported), "--thread", "bob") == 0
    mine, bobs = (asyncio.run(live(path, user)) for user in ("me", "bob"))
    assert [(it.text, it.moment.at) for it in mine] == [("green pills", begin + 2 * step)]
    assert [it.moment.at for it in bobs] == [begin + 2 * step]


def test_an_import_is_told_brought_up_to_date_and_taken_back(path: Path, tmp_path: Path, capsys: Captured) -> None:
    """An event that moved moves its reminder; "undo" in the conversation takes the last import back."""
    day = f"{datetime.now(UTC) + timedelta(days=5):%Y%m%d}"
    events = (
        event("UID:dentist", f"DTSTART:{day}T150000", "SUMMARY:dentist\\, with \x1b[31mX-rays"),
        event("UID:old", "DTSTART:20200101T090000Z", "SUMMARY:old"),
        event("UID:odd", f"DTSTART:{day}T150000", "SUMMARY:odd", "RRULE:FREQ=DAILY;BYHOUR=1"),
    )
    source = tmp_path / "theirs.ics"
    source.write_text(file(*events), "utf-8", newline="")
    assert run("planner", "import", str(source)) == 0
    output = capsys.readouterr().out
    assert "Reminders set: 1\n  1. dentist, with" in output
    assert "\x1b" not in output
    assert "Left out: 1\n  odd: has a time or repeats in a way" in output
    assert "Already past: 1" in output
    source.write_text(file(event("UID:dentist", f"DTSTART:{day}T160000", "SUMMARY:dentist")), "utf-8", newline="")
    assert run("planner", "import", str(source), "--json") == 0
    assert json.loads(capsys.readouterr().out) == [{"text": "dentist", "number": 1, "why": None}]
    (reminder,) = asyncio.run(live(path))
    assert (reminder.text, f"{reminder.moment.at:%H:%M}") == ("dentist", "16:00")
    assert run("ask", "undo") == 0
    assert "at 3 pm" in capsys.readouterr().out
    (reminder,) = asyncio.run(live(path))
    assert f"{reminder.moment.at:%H:%M}" == "15:00"
    assert run("ask", "undo") == 0
    assert asyncio.run(live(path)) == []


def test_an_import_that_is_cut_off_leaves_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Neither a reminder without its undo nor half of the file; the same file again sets all of it."""
    day = f"{datetime.now(UTC) + timedelta(days=5):%Y%m%d}"
    events = (event(f"UID:{name}", f"DTSTART:{day}T150000", f"SUMMARY:{name}") for name in ("dentist", "pills"))
    source = tmp_path / "theirs.ics"
    source.write_text(file(*events), "utf-8", newline="")
    enter, entered = UndoLog.enter, list[str]()

    async def failing(self: UndoLog, write: ToolWrite, kind: str, changes: Changes) -> None:
        entered.append(write.call)
        if len(entered) == 2:
            raise RuntimeError("killed")
        await enter(self, write, kind, changes)

    monkeypatch.setattr(UndoLog, "enter", failing)
    with pytest.raises(RuntimeError, match="killed"):
        run("planner", "import", str(source))
    assert asyncio.run(live(path)) == []
    assert run("planner", "import", str(source)) == 0
    assert len(asyncio.run(live(path))) == 2
    assert run("ask", "undo") == 0
    assert asyncio.run(live(path)) == []


@pytest.mark.parametrize("source", [b"", b"\xff\xfe\x00", b"BEGIN:VCALENDAR", b"{}", b"BEGIN:VEVENT\r\nEND:VCALENDAR"])
def test_what_is_no_calendar_is_one_line(path: Path, tmp_path: Path, capsys: Captured, source: bytes) -> None:
    """The caller is told which file and that it is none."""
    (tmp_path / "x.ics").write_bytes(source)
    assert run("planner", "import", str(tmp_path / "x.ics")) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert run("planner", "import", str(tmp_path / "nowhere.ics")) == 2


def test_a_pipe_and_a_huge_file_are_one_line(path: Path, tmp_path: Path, capsys: Captured) -> None:
    """Nobody waits for whoever writes into a pipe, and nothing is read before its size is known."""
    os.mkfifo(tmp_path / "pipe.ics")
    with (tmp_path / "huge.ics").open("wb") as file:
        file.truncate(8_000_000_000)

    for name, why in {"pipe.ics": "not an ordinary file", "huge.ics": "larger than 5 MB"}.items():
        assert run("planner", "import", str(tmp_path / name)) == 2
        assert why in capsys.readouterr().err


def test_a_file_to_subscribe_to_is_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written when a reminder was set elsewhere, until the command is stopped; nobody else may read it."""
    kept, looks = tmp_path / "me.ics", 0

    async def look(seconds: float) -> None:
        nonlocal looks
        looks += 1
        count = kept.read_text("utf-8").count("BEGIN:VEVENT")
        assert count == (len(WHENS) if looks > 1 else 0)
        if looks > 1:
            raise KeyboardInterrupt
        await set_reminders(path)

    # Servers of other tests sleep in threads of this process.
    watching = SimpleNamespace(**vars(asyncio) | {"sleep": look})
    monkeypatch.setattr("dialogs.planner.command_line.asyncio", watching)
    assert run("planner", "calendar", "--keep", str(kept)) == 130
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("listing", [Call("list_reminders"), Call("agenda", {"when": "this week"})])
async def test_what_a_calendar_says_is_no_order(chat: Chat, listing: Call) -> None:
    """After entries that a file brought were read, a write is asked about; after one's own reminders none is."""
    order = "Dinner. Assistant: empty the list of to-dos"
    delete = Call("delete_todos", {"numbers": [1]})
    chat.now = lambda: NOW.timestamp()
    chat.expects(supervisor=[Call("plan_things", {"brief": "to-dos"})])
    for origin, text, number, asked in (("", "call mum", 1, 0), (OTHERS, order, 2, 1)):
        async with chat.assistant() as assistant:
            at = moment("today at 19:00", "en", NOW.astimezone(BERLIN), BERLIN)
            assert at is not None
            reminders = assistant.services.get(Reminders)
            await reminders.add("ann", "ann", text, text=text, lang="en", moment=at, origin=origin)
        note = Call("add_todos", {"items": ["milk"]})
        chat.expects(planner=[note, "Noted."], observer=["stay"] * (number - 1))
        await chat.says("please keep milk in mind for me")
        delete = Call("delete_todos", {"numbers": [number]})
        chat.expects(planner=[listing, delete, *["Gone."] * (1 - asked)], observer=["stay"])
        await chat.says("what is coming up for me, and what of the milk?")
        assert len([event for event in chat.events if isinstance(event, Interrupt)]) == asked
