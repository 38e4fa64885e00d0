"""Decisions of the tools alone, for any model: kinds, corrections, refusals, and the entries of a day."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from agents.language.schedule import Moment
from agents.language.schedule.parser import moment
from app.testing import Chat
from app.testing.script import Call, Line
from dialogs.planner.store import Reminders
from tests.dialogs.planner.conftest import NOW
from tests.dialogs.planner.room import FRIDAY, Room, texts
from tests.support.sampling import sample

PASTA = Call("add_reminder", {"when": "10 minutes", "text": "pasta", "kind": "timer"})
TIMER = Call("add_reminder", {"when": "in 20 minutes"})
ALARM = Call("add_reminder", {"when": "tomorrow at 6:30"})
MUM = Call("add_reminder", {"when": "tomorrow at 7pm", "text": "call mum"})
CAR = Call("add_reminder", {"when": "in 2 weeks", "text": "car inspection"})


async def answers(
    chat: Chat, *turns: list[Line], lang: str = "en", said: str = "and here is one thing more"
) -> list[str]:
    """Let the planner make these calls, a list a turn; return what the tools of the last turn answer."""
    lines = [line for turn in turns for line in (*turn, "Noted.")]
    chat.expects(supervisor=[Call("plan_things", {"brief": "reminders"})], planner=lines, observer=["stay"] * 9)
    await chat.says(*[said] * len(turns), lang=lang)
    chat.script.queues.clear()
    return [event.plain()["object"] for event in chat.events if event.type == "tool.end"][-len(turns[-1]) :]


async def kept(chat: Chat) -> list[str]:
    """Return the entries, with kind and time."""
    async with chat.assistant() as assistant:
        live = await assistant.services.get(Reminders).live("ann")
    return [f"{it.kind} {it.text} {it.moment.at.astimezone(NOW.tzinfo):%d %H:%M}" for it in live]


KINDS = [
    ({"when": "10 minutes"}, "timer"),
    ({"when": "in half an hour"}, "timer"),
    ({"when": "at 18:00"}, "alarm"),
    ({"when": "every day at 7"}, "alarm"),
    ({"when": "in 20 minutes", "text": "oven"}, "reminder"),
    ({"when": "in 20 minutes", "kind": "alarm"}, "alarm"),
    ({"when": "10 minutes", "text": "pasta", "kind": "timer"}, "timer"),
    ({"when": "tomorrow at 9", "kind": "reminder"}, "reminder"),
    ({"when": "at 7:30", "kind": "day"}, "day"),
]


@pytest.mark.parametrize(("args", "kind"), sample(KINDS, 3))
async def test_each_has_its_kind(friday: Chat, args: dict[str, str], kind: str) -> None:
    """The kind is what the user calls it, else what its time and its text make it."""
    await answers(friday, [Call("add_reminder", args)])
    assert [entry.split()[0] for entry in await kept(friday)] == [kind]


@pytest.mark.parametrize(
    ("when", "lang", "told"),
    [
        ("5 minutes 30 seconds", "en", "in 5 minutes 30 seconds"),
        ("5 минут 30 секунд", "ru", "через 5 минут 30 секунд"),
        ("5分30秒", "zh", "5 分钟 30 秒后"),
    ],
)
async def test_a_timer_is_told_to_the_second_when_it_is_set(friday: Chat, when: str, lang: str, told: str) -> None:
    """The user sees that the whole length was heard."""
    assert told in (await answers(friday, [Call("add_reminder", {"when": when, "kind": "timer"})], lang=lang))[0]


async def test_stopping_a_timer_touches_nothing_else(friday: Chat) -> None:
    """An alarm has no text either, and a timer may have one; each is stopped by its own kind alone."""
    said = await answers(friday, [ALARM, MUM, PASTA], [Call("stop_timer"), Call("stop_timer", {"which": "timer"})])
    assert said == [
        "Stopped: 3. pasta (timer): in 10 minutes, at 9:10 am. “Undo” brings it back.",
        "No timer is running; nothing was stopped.",
    ]
    assert await kept(friday) == ["alarm Time is up 21 06:30", "reminder call mum 21 19:00"]


@pytest.mark.parametrize("which", ["timer", "alarm"])
async def test_nothing_is_stopped_of_another_kind(friday: Chat, which: str) -> None:
    """Without one of that kind the user is told so, and all stays."""
    other = {"timer": ALARM, "alarm": PASTA}[which]
    [said] = await answers(friday, [other, MUM], [Call("stop_timer", {"which": which})])
    assert said.endswith("nothing was stopped.")
    assert len(await kept(friday)) == 2


async def test_the_last_one_is_what_was_just_set_or_rang(friday: Chat) -> None:
    """ "Turn it off" stops no older entry, and no repetition that has rung and goes on."""
    last = Call("stop_timer", {"last": True})
    assert await answers(friday, [MUM], [last]) == ["Stopped: 1. call mum: tomorrow at 7 pm. “Undo” brings it back."]
    assert await answers(friday, [PASTA], [Call("add_todos", {"items": ["tea"]})], [last]) == [
        "No timer is running; nothing was stopped."
    ]
    await answers(friday, [Call("add_reminder", {"when": "every day at 10", "kind": "alarm"})])
    async with friday.assistant() as assistant:
        reminders = assistant.services.get(Reminders)
        *_, due = await reminders.due(2**45, None, "*")
        await reminders.rang(due)
    assert (await answers(friday, [last]))[0].startswith("It rang today at 9 am.")
    assert len(await kept(friday)) == 2


@pytest.mark.parametrize(("said", "left"), [("the second one", "pasta"), ("1", "Time is up"), ("pasta", "Time is up")])
async def test_of_several_the_user_chooses(friday: Chat, said: str, left: str) -> None:
    """The question is understood by number, by place and by name."""
    await answers(friday, [PASTA, TIMER])
    friday.expects(planner=[Call("stop_timer"), "Stopped."], observer=["stay"] * 3)
    assert "interrupt: Which one do you mean?" in await friday.says("stop that timer now please, will you")
    await friday.says(said)
    friday.script.queues.clear()
    assert [entry.split(" ", 1)[1].rsplit(" ", 2)[0] for entry in await kept(friday)] == [left]


@pytest.mark.parametrize(
    ("text", "lang"), [("delete all of the timers", "en"), ("удали все таймеры", "ru"), ("删除所有计时器", "zh")]
)
async def test_all_is_of_the_kind_that_was_named(friday: Chat, text: str, lang: str) -> None:
    """Where a model would delete more, the question and the deletion are of that kind alone; the model is told."""
    await answers(friday, [MUM, PASTA, ALARM], lang=lang)
    everything = Call("delete_reminders", {"numbers": [1, 2, 3]})
    friday.expects(planner=[everything, "Done."], observer=["stay"] * 9)
    await friday.says(text, lang=lang)
    question = next(str(event) for event in reversed(friday.events) if event.type == "interrupt")
    assert "pasta" in question
    assert "call mum" not in question
    await friday.says({"en": "yes", "ru": "да", "zh": "好"}[lang], lang=lang)
    friday.script.queues.clear()
    [deleted] = [event.plain()["object"] for event in friday.events if event.type == "tool.end"][-1:]
    assert "1. call mum" in deleted.splitlines()[-1]
    assert len(await kept(friday)) == 2


@pytest.mark.parametrize(
    ("text", "lang"), [("delete all of the alarms", "en"), ("удали все будильники", "ru"), ("删除所有闹钟", "zh")]
)
async def test_a_kind_that_was_named_need_not_exist(friday: Chat, text: str, lang: str) -> None:
    """Without an alarm nothing else is deleted in its place; an entry with "alarm" in its name counts as one."""
    await answers(friday, [MUM, PASTA], lang=lang)
    [refused] = await answers(friday, [Call("delete_reminders", {"numbers": [1, 2]})], said=text, lang=lang)
    assert "1. call mum" in refused
    assert len(await kept(friday)) == 2
    await answers(friday, [Call("add_reminder", {"when": "tomorrow at 9", "text": text})], lang=lang)
    await answers(friday, [Call("delete_reminders", {"numbers": [3]})], said=text, lang=lang)
    assert len(await kept(friday)) == 2


@pytest.mark.parametrize(
    ("when", "new", "text", "lang"),
    [
        ("in 5 minutes", "ten minutes", "no, ten minutes", "en"),
        ("через 5 минут", "десять минут", "нет, десять минут", "ru"),
        ("五分钟后", "十分钟", "不对，十分钟", "zh"),
    ],
)
async def test_a_corrected_length_counts_from_now(friday: Chat, when: str, new: str, text: str, lang: str) -> None:
    """After "in five minutes" a "no, ten minutes" is in ten, as "ten minutes later" is in fifteen."""
    tea = Call("add_reminder", {"when": when, "text": "tea"})
    await answers(friday, [tea], lang=lang)
    await answers(friday, [Call("change_reminder", {"when": new})], said=text, lang=lang)
    assert await kept(friday) == ["reminder tea 20 09:10"]


CORRECTIONS = [
    (PASTA, {"when": "15"}, "timer pasta 20 09:15"),
    (PASTA, {"text": "rice"}, "timer rice 20 09:10"),
    (MUM, {"when": "at half past eight"}, "reminder call mum 21 20:30"),
    (ALARM, {"when": "every weekday"}, "alarm Time is up 23 06:30"),
    (CAR, {"when": "by a day"}, "reminder car inspection 05 09:00"),
]


@pytest.mark.parametrize(("set_by", "args", "expected"), sample(CORRECTIONS, 3))
async def test_a_correction_means_what_was_just_set(
    friday: Chat, set_by: Call, args: dict[str, str], expected: str
) -> None:
    """It needs no number, and keeps the kind, the unit and the half of the day; another entry stays as it is."""
    await answers(friday, [Call("add_reminder", {"when": "tomorrow at noon", "text": "lunch"})], [set_by])
    await answers(friday, [Call("change_reminder", args)])
    assert await kept(friday) == ["reminder lunch 21 12:00", expected]


async def test_without_anything_just_set_nothing_is_changed(friday: Chat) -> None:
    """The model is told what there is, and asks."""
    said = await answers(
        friday, [MUM, CAR], [Call("list_todos")], [Call("list_todos")], [Call("change_reminder", {"when": "8"})]
    )
    assert said[0].splitlines()[0] == "It is not clear which one is meant."
    assert await kept(friday) == ["reminder call mum 21 19:00", "reminder car inspection 04 09:00"]


REFUSED = [
    (Call("add_reminder", {"when": "yesterday", "text": "x"}), "“yesterday” is past already (yesterday at 9 am)."),
    (Call("add_reminder", {"when": "at 25:00", "text": "x"}), "There is no such time of day: “at 25:00”."),
    (Call("add_reminder", {"when": "31 February", "text": "x"}), "There is no such day: “31 February”."),
    (Call("add_reminder", {"when": "when I get home", "text": "x"}), "“when I get home” is not a time that can be"),
    (Call("change_reminder", {"number": 1, "when": "today at 8 am"}), "“today at 8 am” is past already"),
    (Call("plan_day", {"plan": "run at 25:00"}), "run at 25:00: there is no such time of day"),
    (Call("agenda", {"when": "the radio"}), "“the radio” is not a day or week that can be understood here."),
    (Call("change_reminder", {"number": 7, "when": "at 9"}), "There is no such reminder: 7."),
    (Call("delete_reminders", {"numbers": [8, 9]}), "There is no such reminder: 8, 9."),
    (Call("set_time_zone", {"zone": "Atlantis"}), "There is no time zone “Atlantis”."),
]


@pytest.mark.parametrize(("call", "reason"), sample(REFUSED, 3))
async def test_what_cannot_be_is_refused_with_the_reason(friday: Chat, call: Call, reason: str) -> None:
    """Nothing is written then."""
    said = await answers(friday, [MUM], [call])
    assert said[0].startswith(reason)
    assert await kept(friday) == ["reminder call mum 21 19:00"]


async def test_what_is_on_is_told(friday: Chat) -> None:
    """Today with what is to do, another day, a week, what is next, how long is left, how many; in both languages."""
    await answers(friday, [MUM, PASTA, ALARM, Call("add_todos", {"items": ["milk", "bread"]})])
    asked = ("today", "tomorrow", "this week", "next", "overdue", "how long", "how many")
    said = await answers(friday, [Call("agenda", {"when": when}) for when in asked])
    assert said == [
        "Today, Friday, 20 November\n9:10 am  pasta (timer)\nTo do: milk; bread\n"
        "Next: pasta (timer): in 10 minutes, at 9:10 am",
        "Tomorrow, Saturday, 21 November\n6:30 am  alarm\n7 pm  call mum",
        "Today, Friday, 20 November, 9:10 am  pasta (timer)\nTomorrow, Saturday, 21 November, 6:30 am  alarm\n"
        "Tomorrow, Saturday, 21 November, 7 pm  call mum\nTo do: milk; bread",
        "What comes next:\npasta (timer): in 10 minutes, at 9:10 am\nalarm: tomorrow at 6:30 am\n"
        "call mum: tomorrow at 7 pm",
        "Overdue:\nNothing is noted for that.",
        "pasta (timer): 10 minutes left",
        "On your list: 2 to-dos (0 done). Set: 1 reminder, 1 alarm, 1 timer.",
    ]
    assert await answers(friday, [Call("agenda", {"when": "завтра"})], lang="ru") == [
        "Завтра, суббота, 21 ноября\n6:30  будильник\n19:00  call mum"
    ]


async def test_a_day_is_noted_from_one_sentence(friday: Chat) -> None:
    """Things with a time ring, the others are to-dos; impossible ones are named; one word takes all of it back."""
    plan = "dentist at 10, groceries, pick up the kids at 3:30, call the plumber, breakfast at 7 am"
    assert await answers(friday, [Call("plan_day", {"plan": plan})]) == [
        "Today, Friday, 20 November\n10 am  dentist\n3:30 pm  pick up the kids\nTo do: groceries; call the plumber\n"
        "Next: dentist: today at 10 am\nNot noted: breakfast at 7 am: that is past already (today at 7 am)"
    ]
    assert "view: day" in "\n".join(map(str, friday.events))
    await friday.says("undo")
    assert await kept(friday) == []


async def test_the_day_is_told_each_morning(room: Room) -> None:
    """The plan of that day rings in its state of that morning."""
    async with room.open() as memory:
        every = moment("every day at 10:30", "en", FRIDAY, ZoneInfo("Europe/Berlin"))
        assert every is not None
        await room.reminders.add("ann", "ann", "day", text="-", lang="en", moment=every, kind="day")
        at = Moment(FRIDAY + timedelta(hours=3))
        await room.reminders.add("ann", "ann", "lunch", text="lunch", lang="en", moment=at)
        await room.until(memory, FRIDAY + timedelta(minutes=31))
    [text] = texts(room)
    assert text.splitlines()[0] == "Today, Friday, 20 November"
    assert "lunch" in text
