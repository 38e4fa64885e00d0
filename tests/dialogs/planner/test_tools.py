"""Reminders in a conversation: what the planner's tools answer."""

from app.assistant import Turn
from app.testing import Chat
from app.testing.script import Call
from dialogs.planner.store import Reminders


async def plans(chat: Chat, *calls: Call, lang: str = "en") -> list[str]:
    """Let the planner call these tools, one after the other; return what they answer."""
    chat.expects(supervisor=[Call("plan_things", {"brief": "reminders"})], planner=[*calls, "Done."])
    async with chat.assistant() as assistant:
        events = [event async for event in assistant.play(Turn(thread="ann", text="Please", lang=lang))]
    return [event.plain()["object"] for event in events if event.type == "tool.end"]


async def test_the_time_is_told_in_the_users_zone(friday: Chat) -> None:
    """Once the user has told a time zone, prompts and the supervisor's tool go by it."""
    await plans(friday, Call("set_time_zone", {"zone": "Pacific/Kiritimati"}))
    friday.expects(supervisor=[Call("current_time", {}), "There you are."])
    async with friday.assistant() as assistant:
        turn = Turn(thread="another", user="ann", text="How late has it become?", lang="en")
        events = [event async for event in assistant.play(turn)]
    results = [event.plain()["object"] for event in events if event.type == "tool.end"]
    assert results[0].endswith("(+14).")
    assert "+14" in friday.script.asked[-1].messages[-1].text


async def test_reminders_are_set_changed_and_deleted(friday: Chat) -> None:
    """The tools answer with numbers and with times in the user's zone; numbers do not change."""
    assert await plans(
        friday,
        Call("set_time_zone", {"zone": "europe/berlin"}),
        Call("add_reminder", {"when": "in 20 minutes", "text": "oven"}),
        Call("add_reminder", {"when": "tomorrow at 9", "text": "call mom"}),
        Call("add_reminder", {"when": "every Monday at 9"}),
        Call("change_reminder", {"number": 2, "when": "ten minutes later"}),
        Call("change_reminder", {"number": 2, "when": "on Sunday", "text": "visit mom"}),
        Call("change_reminder", {"number": 3, "when": "at 10"}),
        Call("delete_reminders", {"numbers": [1]}),
        Call("list_reminders"),
    ) == [
        "The time zone is Europe/Berlin now: it is 10 am there.",
        "Set: 1. oven: in 20 minutes, at 10:20 am.",
        "Set: 2. call mom: tomorrow at 9 am.",
        "Set: 3. alarm: every Monday at 9 am.",
        "Set: 2. call mom: tomorrow at 9:10 am.",
        "Set: 2. visit mom: on Sunday at 9:10 am.",
        "Set: 3. alarm: every Monday at 10 am.",
        "Deleted: 1. oven: in 20 minutes, at 10:20 am. “Undo” brings it back.\n"
        "2. visit mom: on Sunday at 9:10 am\n3. alarm: every Monday at 10 am",
        "2. visit mom: on Sunday at 9:10 am\n3. alarm: every Monday at 10 am",
    ]


async def test_reminders_move_with_the_user(friday: Chat) -> None:
    """In another zone what repeats by the day keeps its time on the clock, all else its moment; the user sees both."""
    answers = await plans(
        friday,
        Call("set_time_zone", {"zone": "Europe/Berlin"}),
        Call("add_reminder", {"when": "every day at 9", "text": "pills"}),
        Call("add_reminder", {"when": "tomorrow at 9", "text": "call mom"}),
        Call("add_reminder", {"when": "every 3 hours", "text": "stretch"}),
        Call("set_time_zone", {"zone": "America/New_York"}),
    )
    assert answers[-1].splitlines() == [
        "The time zone is America/New_York now: it is 4 am there. What repeats by the day keeps "
        "its time on the clock; what comes once or by the hour keeps its moment:",
        "1. pills: every day at 9 am",
        "2. call mom: tomorrow at 3 am",
        "3. stretch: every 3 hours, next today at 7 am",
    ]
    async with friday.assistant() as assistant:
        due = sorted(await assistant.services.get(Reminders).live("ann"), key=lambda it: it.at_ms)
    assert [(reminder.text, reminder.moment.at.isoformat()) for reminder in due] == [
        ("stretch", "2026-11-20T07:00:00-05:00"),
        ("call mom", "2026-11-21T03:00:00-05:00"),
        ("pills", "2026-11-21T09:00:00-05:00"),
    ]


async def test_reminders_are_set_in_russian(friday: Chat) -> None:
    """Times are understood and told in the language of the conversation."""
    assert await plans(
        friday,
        Call("set_time_zone", {"zone": "Europe/Moscow"}),
        Call("add_reminder", {"when": "завтра в половине девятого", "text": "зарядка"}),
        Call("change_reminder", {"number": 1, "when": "на десять минут позже"}),
        Call("change_reminder", {"number": 1, "when": "каждый будний день"}),
        lang="ru",
    ) == [
        "Теперь часовой пояс Europe/Moscow: там сейчас 12:00.",
        "Установлено: 1. зарядка: завтра в 8:30.",
        "Установлено: 1. зарядка: завтра в 8:40.",
        "Установлено: 1. зарядка: по будням в 8:40.",
    ]
