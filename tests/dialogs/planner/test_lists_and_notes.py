"""Lists by name, notes, and single times of a repetition, whatever model calls the tools."""

import pytest

from agents.events import Interrupt
from app.assistant import Turn
from app.testing import Chat
from app.testing.script import Call
from tests.dialogs.planner.test_kinds import answers
from tests.dialogs.planner.test_tools import plans

PILLS = Call("add_reminder", {"when": "every day at 8", "text": "pills"})


async def test_a_list_has_a_name_and_nothing_twice(friday: Chat) -> None:
    """A thing that is on a list and open is not put there again; a list that there is not is said to be none."""
    results = await plans(
        friday,
        Call("add_todos", {"items": ["nails", "glue"], "list_name": "Hardware"}),
        Call("add_todos", {"items": ["milk", "nails"]}),
        Call("add_todos", {"items": ["Nails", "a saw"], "list_name": "hardware"}),
        Call("list_todos", {"list_name": "hardware"}),
        Call("list_todos", {"list_name": "garden"}),
    )
    assert results[2].startswith("On the list already: 1. nails (Hardware).\n")
    assert results[3] == "1. nails (Hardware)\n2. glue (Hardware)\n5. a saw (Hardware)"
    assert results[4].startswith("There is no list “garden”. This is on your list:\n1. nails (Hardware)")


async def test_a_done_thing_may_be_noted_again(friday: Chat) -> None:
    """A thing that was bought last week can be on the list again."""
    milk = Call("add_todos", {"items": ["milk"]})
    done = Call("change_todo", {"number": 1, "done": True})
    assert await answers(friday, [milk, done], [milk]) == ["1. milk (done)\n2. milk"]


async def test_notes_are_told_again(friday: Chat) -> None:
    """A note is found by its words, and deleted by its number."""
    results = await plans(
        friday,
        Call("keep_note", {"note": "my car is on level 3"}),
        Call("keep_note", {"note": "the key is under the mat"}),
        Call("find_notes", {"about": "where I left the car"}),
        Call("find_notes", {"about": "the boat"}),
        Call("list_notes"),
        Call("delete_notes", {"numbers": [1]}),
        Call("delete_notes", {"numbers": [7]}),
    )
    assert results[2] == "You told me: my car is on level 3 (today at 9 am)."
    assert results[3] == "You have told me nothing about “the boat”."
    assert results[4] == "1. my car is on level 3 (today at 9 am)\n2. the key is under the mat (today at 9 am)"
    assert results[5].startswith("Deleted: 1. my car is on level 3 (today at 9 am).")
    assert results[6].startswith("There is no such note: 7.\n2. the key")


async def test_a_note_is_found_by_one_character(friday: Chat) -> None:
    """In a language without blanks a word may be a single character."""
    keep, find = Call("keep_note", {"note": "我的车停在三楼"}), Call("find_notes", {"about": "车"})
    [_, found, other] = await answers(friday, [keep, find, Call("find_notes", {"about": "灯"})], lang="zh")
    assert "我的车停在三楼" in found
    assert "我的车停在三楼" not in other


@pytest.mark.parametrize(
    ("note", "question", "lang"),
    [
        ("my car is on level 3", "where is my car", "en"),
        ("машина стоит на третьем этаже", "где моя машина", "ru"),
        ("我的车停在三楼", "我的车在哪里", "zh"),
    ],
)
async def test_a_note_is_found_by_whoever_asks_help(friday: Chat, note: str, question: str, lang: str) -> None:
    """The planner need not lead. Where others read along the note is not told."""
    await answers(friday, [Call("keep_note", {"note": note})], lang=lang)
    for thread, is_told in (("another", True), ("group", False)):
        friday.expects(supervisor=["Hello.", Call("assistant_help", {"query": question}), "There."])
        await friday.says("hello to you all", thread=thread, user="ann" if is_told else "bob", lang=lang)
        trace = await friday.says(question, thread=thread, user="ann", lang=lang)
        assert (note in trace) == is_told


async def test_one_time_of_a_repetition_is_put_off(friday: Chat) -> None:
    """A snooze, and a day that is named, leave the repetition as it is; both are taken back as one."""
    snooze = Call("change_reminder", {"number": 1, "when": "10 minutes later", "every": False})
    [snoozed] = await answers(friday, [PILLS], [snooze])
    assert snoozed == (
        "Set, for this time only: 2. pills: tomorrow at 8:10 am. "
        "It goes on: 1. pills: every day, next on Sunday at 8 am."
    )
    assert "Taken back: 2. pills" in (trace := await friday.says("undo"))
    assert "As it was: 1. pills: every day at 8 am." in trace
    [moved] = await answers(friday, [Call("change_reminder", {"number": 1, "when": "on Tuesday"})])
    assert moved.startswith("Set, for this time only: 3. pills: on Tuesday at 8 am.")


async def test_all_times_of_a_repetition_are_moved(friday: Chat) -> None:
    """With the model's word for it, and with another repetition, nobody is asked."""
    later = Call("change_reminder", {"number": 1, "when": "at 9", "every": True})
    weekly = Call("change_reminder", {"number": 1, "when": "every Monday"})
    assert await answers(friday, [PILLS], [Call("list_todos")], [later, weekly]) == [
        "Set: 1. pills: every day at 9 am.",
        "Set: 1. pills: every Monday at 9 am.",
    ]


@pytest.mark.parametrize(
    ("day", "when", "upcoming", "moved"),
    [
        ("day", "at 9", "Saturday, 21 November", "every day at 9 am"),
        ("Monday", "two days later", "Monday, 23 November", "every Wednesday at 8 am"),
    ],
)
async def test_the_user_is_asked_which_times_are_meant(
    friday: Chat, day: str, when: str, upcoming: str, moved: str
) -> None:
    """Another time or day may be meant for one time or for all; nothing is written before the answer."""
    pills = Call("add_reminder", {"when": f"every {day} at 8", "text": "pills"})
    await answers(friday, [pills], [Call("list_todos")])
    friday.expects(planner=[Call("change_reminder", {"number": 1, "when": when}), "Done."], observer=["stay"])
    async with friday.assistant() as assistant:
        turn = Turn(thread="ann", text=f"The pills {when}, please", lang="en")
        events = [event async for event in assistant.play(turn)]
    [asked] = [event for event in events if isinstance(event, Interrupt)]
    assert asked.prompt == f"This one (on {upcoming} at 8 am), or all of them?"
    assert f"Set: 1. pills: {moved}." in await friday.says("all of them")


async def test_a_time_is_skipped_and_a_reminder_ticked_off(friday: Chat) -> None:
    """Of a repetition one time is skipped, by its day; a single reminder is over, and comes back by an undo."""
    results = await plans(
        friday,
        PILLS,
        Call("add_reminder", {"when": "tomorrow at 9", "text": "call mom"}),
        Call("skip_reminder", {"number": 1, "when": "last week"}),
        Call("skip_reminder", {"number": 1, "when": "on Sunday"}),
        Call("skip_reminder", {"number": 1, "when": "tomorrow"}),
        Call("skip_reminder", {"number": 2}),
        Call("skip_reminder", {"number": 7}),
        Call("skip_reminder", {"when": "on Monday"}),
        Call("skip_reminder", {"when": "Monday"}),
        Call("agenda", {"when": "tomorrow"}),
    )
    assert results[2:6] == [
        "“last week” does not name one of its times. The next one is tomorrow at 8 am.",
        "Skipped: on Sunday at 8 am. It goes on: 1. pills: every day at 8 am.",
        "Skipped: tomorrow at 8 am. It goes on: 1. pills: every day, next on Monday at 8 am.",
        "Ticked off: 2. call mom: tomorrow at 9 am. “Undo” brings it back.",
    ]
    assert results[6].startswith("There is no such reminder: 7.")
    assert results[7] == "Skipped: on Monday at 8 am. It goes on: 1. pills: every day, next on Tuesday at 8 am."
    assert results[8].startswith("“Monday” does not name one of its times.")
    assert results[9].endswith("Nothing is noted for that.")
