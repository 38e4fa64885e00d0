"""Reminders by rules: set, several at once, changed and deleted by what people call them."""

import pytest

from tests.support.rules_outcome import Lang, acted, call, room_after
from tests.support.rules_room import Room

pytestmark = pytest.mark.needs("planner")

REMINDERS: list[tuple[Lang, str, dict[str, str]]] = [
    ("en", "remind me to call mom tomorrow at 9", {"when": "tomorrow at 9", "text": "call mom"}),
    ("en", "remind me tomorrow at 9 to call Mom", {"when": "tomorrow at 9", "text": "call Mom"}),
    ("en", "remind me in 20 minutes to turn off the oven", {"when": "in 20 minutes", "text": "turn off the oven"}),
    ("en", "Could you remind me in an hour to call Bob?", {"when": "in an hour", "text": "call Bob"}),
    ("en", "remind me at a quarter to nine to go", {"when": "at a quarter to nine", "text": "go"}),
    ("en", "at 6 p.m. remind me to feed the cat", {"when": "at 6 p.m", "text": "feed the cat"}),
    ("en", "remind me every Monday and Friday at 9 to run", {"when": "every Monday and Friday at 9", "text": "run"}),
    ("en", "set a 10 minute timer", {"when": "10 minute"}),
    ("en", "greet me every morning at 7:30", {"when": "every morning at 7:30", "kind": "day"}),
    ("en", "set an alarm for 6:30 every weekday", {"when": "6:30 every weekday", "kind": "alarm"}),
    ("ru", "напомни завтра в 9 позвонить маме", {"when": "завтра в 9", "text": "позвонить маме"}),
    ("ru", "напомни мне позвонить маме завтра в 9", {"when": "завтра в 9", "text": "позвонить маме"}),
    ("ru", "Через 20 минут напомни выключить духовку", {"when": "Через 20 минут", "text": "выключить духовку"}),
    ("ru", "напомни через час, что надо ехать", {"when": "через час", "text": "ехать"}),
    ("ru", "каждый понедельник в 9 напомни про встречу", {"when": "каждый понедельник в 9", "text": "встречу"}),
    ("ru", "поставь будильник на 6:30 по будням", {"when": "6:30 по будням", "kind": "alarm"}),
]


@pytest.mark.parametrize(("lang", "text", "args"), REMINDERS)
def test_what_has_a_time_is_a_reminder(lang: Lang, text: str, args: dict[str, str]) -> None:
    """The time is passed on in the user's own words, wherever it stands; an alarm or a timer needs no text."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == [call("planner.add_reminder", **args)]


LOOK = call("planner.list_reminders")
IN_REMINDERS: list[tuple[Lang, str, list[str]]] = [
    (
        "en",
        "make the second reminder ten minutes later",
        [LOOK, call("planner.change_reminder", number=2, when="ten minutes later")],
    ),
    ("en", "the second one should be at ten", [LOOK, call("planner.change_reminder", number=2, when="at ten")]),
    ("en", "move the oven reminder to 10:30", [LOOK, call("planner.change_reminder", number=1, when="10:30")]),
    (
        "en",
        "make the first reminder an hour earlier",
        [LOOK, call("planner.change_reminder", number=1, when="an hour earlier")],
    ),
    ("en", "delete the second reminder", [LOOK, call("planner.delete_reminders", numbers=[2])]),
    ("en", "delete the oven reminder", [LOOK, call("planner.delete_reminders", numbers=[1])]),
    ("en", "delete all reminders", [LOOK, call("planner.delete_reminders", numbers=[1, 2])]),
    ("en", "delete the second one", [LOOK, call("planner.delete_reminders", numbers=[2])]),
    ("en", "what reminders do I have?", [LOOK]),
    ("ru", "первое перенеси на десять", [LOOK, call("planner.change_reminder", number=1, when="на десять")]),
    (
        "ru",
        "перенеси второе напоминание на пятницу",
        [LOOK, call("planner.change_reminder", number=2, when="на пятницу")],
    ),
    ("ru", "удали первое напоминание", [LOOK, call("planner.delete_reminders", numbers=[1])]),
    ("ru", "удали второе", [LOOK, call("planner.delete_reminders", numbers=[2])]),
    ("ru", "мой часовой пояс Europe/Moscow", [call("planner.set_time_zone", zone="Europe/Moscow")]),
]
SET = {
    "en": ["add milk and bread", "remind me in 20 minutes to check the oven", "remind me at 9 to call mom"],
    "ru": ["добавь молоко и хлеб", "напомни через 20 минут проверить духовку", "напомни в 9 позвонить маме"],
}


@pytest.mark.parametrize(("lang", "text", "calls"), IN_REMINDERS)
def test_reminders_are_changed_by_their_own_numbers(lang: Lang, text: str, calls: list[str]) -> None:
    """Numbers, names and "it" go by the list of reminders where reminders are meant, else by that of to-dos."""
    room = room_after(lang, SET[lang])
    room.says(text)
    # A number by itself needs no list.
    assert [line for line in acted(room) if line in calls] == acted(room)
    assert acted(room)[-1] == calls[-1]


@pytest.mark.parametrize(
    ("lang", "text", "deleted"),
    [("en", "delete the second one", "bread"), ("ru", "удали второе", "хлеб")],
)
def test_a_number_by_itself_goes_by_the_last_list(lang: Lang, text: str, deleted: str) -> None:
    """Once to-dos were spoken of again, "the second one" is a to-do."""
    room = Room(lang)
    for line in [*SET[lang], {"en": "show my list", "ru": "покажи список"}[lang], text]:
        room.says(line)
    assert deleted not in str(room.todos)
    assert len(room.reminders) == 2


SEVERAL: list[tuple[Lang, str, list[dict[str, str]]]] = [
    (
        "en",
        "set a timer for 10 minutes and wake me up at 7",
        [{"when": "10 minutes", "kind": "timer"}, {"when": "at 7", "kind": "alarm"}],
    ),
    (
        "en",
        "remind me at 9 to call mom and dad",
        [{"when": "at 9", "text": "call mom and dad"}],
    ),
    (
        "ru",
        "поставь таймер на 10 минут и будильник на 7",
        [{"when": "10 минут", "kind": "timer"}, {"when": "на 7", "kind": "alarm"}],
    ),
    ("ru", "каждый понедельник в 9 напоминай бегать", [{"when": "каждый понедельник в 9", "text": "бегать"}]),
]


@pytest.mark.parametrize(("lang", "text", "args"), SEVERAL)
def test_several_reminders_in_one_message(lang: Lang, text: str, args: list[dict[str, str]]) -> None:
    """Each wish that is said whole is a reminder of its own."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == [call("planner.add_reminder", **one) for one in args]


@pytest.mark.parametrize(
    ("lang", "lines", "args"),
    [
        ("en", ["set a timer", "an hour"], {"kind": "timer", "when": "an hour"}),
        (
            "en",
            ["set a reminder", "tomorrow", "call Ann"],
            {"kind": "reminder", "when": "tomorrow", "text": "call Ann"},
        ),
        ("en", ["remind me tomorrow", "call Ann"], {"when": "tomorrow", "kind": "reminder", "text": "call Ann"}),
        ("ru", ["напомни завтра", "купить сыр"], {"when": "завтра", "kind": "reminder", "text": "купить сыр"}),
        ("ru", ["поставь таймер", "10 минут"], {"kind": "timer", "when": "10 минут"}),
    ],
)
def test_what_is_missing_is_asked_for(lang: Lang, lines: list[str], args: dict[str, str]) -> None:
    """A timer without a time, and a reminder of nothing, lead to questions, whose answers set them."""
    room = Room(lang)
    for line in lines[:-1]:
        assert room.says(line).endswith(("?", "？"))
        assert acted(room) == []
    room.says(lines[-1])
    assert acted(room) == [call("planner.add_reminder", **args)]


@pytest.mark.parametrize(
    ("lang", "lines"),
    [("en", ["wake me up at 7", "cancel the alarm"]), ("ru", ["разбуди меня в 7", "отмени будильник"])],
)
def test_the_only_alarm_needs_no_name(lang: Lang, lines: list[str]) -> None:
    """Where there is one, "the alarm" is that one."""
    room = Room(lang)
    for line in lines:
        room.says(line)
    assert room.reminders == []


@pytest.mark.parametrize(
    ("lang", "said", "when"),
    [
        ("en", "make it ten minutes later", "ten minutes later"),
        ("en", "move it to ten", "at ten"),
        ("en", "snooze 5 minutes", "5 minutes later"),
        ("en", "no, at 8", "at 8"),
        ("ru", "отложи на 5 минут", "на 5 минут позже"),
        ("ru", "нет, лучше в пятницу", "в пятницу"),
    ],
)
def test_a_correction_leaves_it_to_the_tool_which_one_was_just_set(lang: Lang, said: str, when: str) -> None:
    """Only the tool knows what was set in the turn before."""
    room = room_after(lang, SET[lang])
    room.says(said)
    assert acted(room) == [call("planner.change_reminder", when=when)]
