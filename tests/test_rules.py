"""The rule-based model, spoken to as a new user would, in both languages."""

import json
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.lexical import stems, words
from agents.models.rules import RulesModel
from tests.talk_room import Room

Lang = Literal["en", "ru"]
PROFILE = {
    "en": ["let's get acquainted", "nurse", "Python and Ruby"],
    "ru": ["давай познакомимся", "медсестра", "Python и Ruby"],
}
PLANNER = {"en": ["add milk, bread and eggs to my list"], "ru": ["добавь молоко, хлеб и яйца в список"]}


def acted(room: Room) -> list[str]:
    """Return the tool calls of the last turn, hand-overs left out."""
    entries = ("get_acquainted", "plan_things", "hand_back")
    return [line for line in room.trace if not any(f".{name}(" in line for name in entries)]


def call(name: str, **args: Any) -> str:
    """Return a tool call as the room traces it."""
    return f"{name}({json.dumps(args, ensure_ascii=False)})"


TO_SUPERVISOR: list[tuple[Lang, str, list[str]]] = [
    ("en", "what time is it?", [call("supervisor.current_time")]),
    ("en", "could you tell me what time it is", [call("supervisor.current_time")]),
    ("en", "Good morning, what day is it today?", [call("supervisor.current_time")]),
    ("en", "switch to Russian please", [call("supervisor.change_language", language="ru")]),
    ("en", "what can you do", [call("supervisor.abilities")]),
    ("en", "how do I delete my data?", [call("supervisor.assistant_help", query="how do I delete my data?")]),
    (
        "en",
        "what is the capital of France?",
        [call("supervisor.assistant_help", query="what is the capital of France?")],
    ),
    ("en", "Hi! Add milk please", [call("planner.add_todos", items=["milk"])]),
    ("en", "I need to buy eggs", [call("planner.add_todos", items=["buy eggs"])]),
    ("en", "Please put call mom on my to-do list", [call("planner.add_todos", items=["call mom"])]),
    ("en", "remind me to call the dentist", [call("planner.add_todos", items=["call the dentist"])]),
    ("en", "remind me to buy 5 eggs", [call("planner.add_todos", items=["buy 5 eggs"])]),
    ("en", "I need to call the dentist tomorrow", [call("planner.add_todos", items=["call the dentist tomorrow"])]),
    (
        "en",
        'add "bread and butter" and milk to my list',
        [call("planner.add_todos", items=["bread and butter", "milk"])],
    ),
    ("en", "Thanks, now show my list", [call("planner.list_todos")]),
    ("en", "I like milk", [call("profile.fill_form", interests=["milk"])]),
    ("en", "I'm looking for a job as a data analyst", [call("profile.fill_form", work="data analyst")]),
    ("en", "what do you know about me?", [call("profile.show_profile")]),
    ("en", "export my profile as markdown", [call("profile.export_profile", format="markdown")]),
    (
        "en",
        "what time is it and add milk to my list",
        [call("supervisor.current_time"), call("planner.add_todos", items=["milk"])],
    ),
    ("ru", "не подскажешь, который час?", [call("supervisor.current_time")]),
    ("ru", "Сколько времени", [call("supervisor.current_time")]),
    ("ru", "Доброе утро, какой сегодня день?", [call("supervisor.current_time")]),
    ("ru", "говори по-английски", [call("supervisor.change_language", language="en")]),
    ("ru", "что ты умеешь?", [call("supervisor.abilities")]),
    ("ru", "как подключить модель?", [call("supervisor.assistant_help", query="как подключить модель?")]),
    ("ru", "какая столица Франции?", [call("supervisor.assistant_help", query="какая столица Франции?")]),
    ("ru", "Привет! Добавь молоко, пожалуйста", [call("planner.add_todos", items=["молоко"])]),
    ("ru", "мне нужно купить яйца", [call("planner.add_todos", items=["купить яйца"])]),
    ("ru", "Запиши, пожалуйста, позвонить маме", [call("planner.add_todos", items=["позвонить маме"])]),
    ("ru", "напомни позвонить стоматологу", [call("planner.add_todos", items=["позвонить стоматологу"])]),
    ("ru", "надо позвонить стоматологу завтра", [call("planner.add_todos", items=["позвонить стоматологу завтра"])]),
    ("ru", "добавь «хлеб с маслом» и молоко в список", [call("planner.add_todos", items=["хлеб с маслом", "молоко"])]),
    ("ru", "Спасибо, теперь покажи список", [call("planner.list_todos")]),
    ("ru", "мне нравится молоко", [call("profile.fill_form", interests=["молоко"])]),
    ("ru", "ищу работу аналитиком данных", [call("profile.fill_form", work="аналитиком данных")]),
    ("ru", "что ты обо мне знаешь?", [call("profile.show_profile")]),
    ("ru", "выгрузи профиль в json", [call("profile.export_profile", format="json")]),
    (
        "ru",
        "добавь молоко и скажи время",
        [call("supervisor.current_time"), call("planner.add_todos", items=["молоко"])],
    ),
]


@pytest.mark.parametrize(("lang", "text", "calls"), TO_SUPERVISOR)
def test_supervisor_routes(lang: Lang, text: str, calls: list[str]) -> None:
    """A wish reaches the tool that fulfils it, whoever has that tool, with its values."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == calls


REMINDERS: list[tuple[Lang, str, dict[str, str]]] = [
    ("en", "remind me to call mom tomorrow at 9", {"when": "tomorrow at 9", "text": "call mom"}),
    ("en", "remind me tomorrow at 9 to call Mom", {"when": "tomorrow at 9", "text": "call Mom"}),
    ("en", "remind me in 20 minutes to turn off the oven", {"when": "in 20 minutes", "text": "turn off the oven"}),
    ("en", "Could you remind me in an hour to call Bob?", {"when": "in an hour", "text": "call Bob"}),
    ("en", "remind me at a quarter to nine to go", {"when": "at a quarter to nine", "text": "go"}),
    ("en", "at 6 p.m. remind me to feed the cat", {"when": "at 6 p.m", "text": "feed the cat"}),
    ("en", "remind me every Monday and Friday at 9 to run", {"when": "every Monday and Friday at 9", "text": "run"}),
    ("en", "remind me about the meeting on Friday at 10:30", {"when": "on Friday at 10:30", "text": "meeting"}),
    ("en", "set a timer for 10 minutes", {"when": "10 minutes"}),
    ("en", "set a 10 minute timer", {"when": "10 minute"}),
    ("en", "wake me up at 7", {"when": "at 7"}),
    ("en", "set an alarm for 7", {"when": "at 7"}),
    ("en", "set an alarm for 6:30 every weekday", {"when": "6:30 every weekday"}),
    ("ru", "напомни завтра в 9 позвонить маме", {"when": "завтра в 9", "text": "позвонить маме"}),
    ("ru", "напомни мне позвонить маме завтра в 9", {"when": "завтра в 9", "text": "позвонить маме"}),
    ("ru", "Через 20 минут напомни выключить духовку", {"when": "Через 20 минут", "text": "выключить духовку"}),
    ("ru", "напомни через час, что надо ехать", {"when": "через час", "text": "надо ехать"}),
    ("ru", "каждый понедельник в 9 напомни про встречу", {"when": "каждый понедельник в 9", "text": "встречу"}),
    ("ru", "поставь таймер на 10 минут", {"when": "на 10 минут"}),
    ("ru", "разбуди меня в 7", {"when": "в 7"}),
    ("ru", "поставь будильник на 6:30 по будням", {"when": "на 6:30 по будням"}),
]


@pytest.mark.parametrize(("lang", "text", "args"), REMINDERS)
def test_what_has_a_time_is_a_reminder(lang: Lang, text: str, args: dict[str, str]) -> None:
    """The time is passed on in the user's own words, wherever it stands; an alarm or a timer needs no text."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == [call("planner.add_reminder", **args)]


LOOK = call("planner.list_reminders")
IN_REMINDERS: list[tuple[Lang, str, list[str]]] = [
    ("en", "make it ten minutes later", [LOOK, call("planner.change_reminder", number=2, when="ten minutes later")]),
    ("en", "move it to ten", [LOOK, call("planner.change_reminder", number=2, when="at ten")]),
    ("en", "the second one should be at ten", [LOOK, call("planner.change_reminder", number=2, when="at ten")]),
    ("en", "snooze 5 minutes", [LOOK, call("planner.change_reminder", number=2, when="5 minutes")]),
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
    ("en", "my time zone is Europe/Berlin", [call("planner.set_time_zone", zone="Europe/Berlin")]),
    (
        "ru",
        "перенеси его на десять минут позже",
        [LOOK, call("planner.change_reminder", number=2, when="на десять минут позже")],
    ),
    (
        "ru",
        "сделай на десять минут позже",
        [LOOK, call("planner.change_reminder", number=2, when="десять минут позже")],
    ),
    ("ru", "первое перенеси на десять", [LOOK, call("planner.change_reminder", number=1, when="на десять")]),
    ("ru", "отложи на 5 минут", [LOOK, call("planner.change_reminder", number=2, when="на 5 минут")]),
    (
        "ru",
        "перенеси второе напоминание на пятницу",
        [LOOK, call("planner.change_reminder", number=2, when="на пятницу")],
    ),
    ("ru", "удали первое напоминание", [LOOK, call("planner.delete_reminders", numbers=[1])]),
    ("ru", "удали второе", [LOOK, call("planner.delete_reminders", numbers=[2])]),
    ("ru", "какие у меня напоминания?", [LOOK]),
    ("ru", "мой часовой пояс Europe/Moscow", [call("planner.set_time_zone", zone="Europe/Moscow")]),
]
SET = {
    "en": ["add milk and bread", "remind me in 20 minutes to check the oven", "remind me at 9 to call mom"],
    "ru": ["добавь молоко и хлеб", "напомни через 20 минут проверить духовку", "напомни в 9 позвонить маме"],
}


@pytest.mark.parametrize(("lang", "text", "calls"), IN_REMINDERS)
def test_reminders_are_changed_by_their_own_numbers(lang: Lang, text: str, calls: list[str]) -> None:
    """Numbers, names and "it" go by the list of reminders where reminders are meant, else by that of to-dos."""
    room = Room(lang)
    for line in SET[lang]:
        room.says(line)
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
        "remind me to call mom tomorrow at 9 and to feed the cat at 6 pm",
        [{"when": "tomorrow at 9", "text": "call mom"}, {"when": "at 6 pm", "text": "feed the cat"}],
    ),
    (
        "en",
        "remind me at 9 to call mom, at 10 to call dad and at 11 to sleep",
        [
            {"when": "at 9", "text": "call mom"},
            {"when": "at 10", "text": "call dad"},
            {"when": "at 11", "text": "sleep"},
        ],
    ),
    ("en", "set a timer for 10 minutes and an alarm for 7", [{"when": "10 minutes"}, {"when": "at 7"}]),
    ("en", "wake me up at 7 and at 8", [{"when": "at 7"}, {"when": "at 8"}]),
    (
        "en",
        "remind me at 9 to call mom and dad",
        [{"when": "at 9", "text": "call mom and dad"}],
    ),
    (
        "ru",
        "напомни завтра в 9 позвонить маме и в 18 покормить кота",
        [{"when": "завтра в 9", "text": "позвонить маме"}, {"when": "в 18", "text": "покормить кота"}],
    ),
    ("ru", "поставь таймер на 10 минут и будильник на 7", [{"when": "на 10 минут"}, {"when": "на 7"}]),
    ("ru", "каждый понедельник в 9 напоминай бегать", [{"when": "каждый понедельник в 9", "text": "бегать"}]),
]


@pytest.mark.parametrize(("lang", "text", "args"), SEVERAL)
def test_several_reminders_in_one_message(lang: Lang, text: str, args: list[dict[str, str]]) -> None:
    """Each time is a reminder of its own, though the verb is said once."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == [call("planner.add_reminder", **one) for one in args]


@pytest.mark.parametrize(
    ("lang", "lines", "args"),
    [
        ("en", ["set a timer", "an hour"], {"when": "an hour"}),
        (
            "en",
            [
                "set a reminder",
                "tomorrow",
            ],
            {"when": "tomorrow"},
        ),
        ("ru", ["поставь таймер", "10 минут"], {"when": "10 минут"}),
    ],
)
def test_a_missing_time_is_asked_for(lang: Lang, lines: list[str], args: dict[str, str]) -> None:
    """A timer without a time leads to a question, whose answer sets it."""
    room = Room(lang)
    assert "?" in room.says(lines[0])
    assert acted(room) == []
    room.says(lines[1])
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


SMALL_TALK: list[tuple[Lang, str]] = [
    *(("en", text) for text in ("Hello!", "how are you?", "thanks!", "ok", "no", "I'm tired", "I love you")),
    *(("en", text) for text in ("The weather is nice today", "tell me a joke", "asdf qwer", "who are you?", "lol")),
    *(("en", text) for text in ("never mind", "let's talk about something else", "My name is Anna")),
    *(("ru", text) for text in ("Привет!", "как дела?", "спасибо!", "ок", "нет", "я устал", "я тебя люблю")),
    *(("ru", text) for text in ("погода сегодня хорошая", "расскажи анекдот", "фыва олдж", "кто ты?", "ыыы")),
    *(("ru", text) for text in ("неважно", "давай поговорим о другом", "меня зовут Анна")),
]


@pytest.mark.parametrize(("lang", "text"), SMALL_TALK)
def test_small_talk_calls_nothing(lang: Lang, text: str) -> None:
    """Small talk gets a sentence and triggers no tool."""
    room = Room(lang)
    assert room.says(text)
    assert room.trace == []


IN_PLANNER: list[tuple[Lang, str, list[str]]] = [
    ("en", "delete the first and the third", [call("planner.delete_todos", numbers=[1, 3])]),
    ("en", "delete milk", [call("planner.delete_todos", numbers=[1])]),
    ("en", "delete the last one", [call("planner.delete_todos", numbers=[3])]),
    ("en", "remove everything", [call("planner.delete_todos", numbers=[1, 2, 3])]),
    ("en", "change 2 to oat milk", [call("planner.change_todo", number=2, text="oat milk")]),
    ("en", "rename the second one to rye bread", [call("planner.change_todo", number=2, text="rye bread")]),
    ("en", "no, not milk but oat milk", [call("planner.change_todo", number=1, text="oat milk")]),
    ("en", "mark milk as done", [call("planner.change_todo", number=1, done=True)]),
    ("en", "I bought the eggs", [call("planner.change_todo", number=3, done=True)]),
    ("en", "check milk off", [call("planner.change_todo", number=1, done=True)]),
    ("en", "untick milk", [call("planner.change_todo", number=1, done=False)]),
    (
        "en",
        "mark milk and bread as done",
        [call("planner.change_todo", number=1, done=True), call("planner.change_todo", number=2, done=True)],
    ),
    (
        "en",
        "add milk and bread, and delete eggs",
        [call("planner.add_todos", items=["milk", "bread"]), call("planner.delete_todos", numbers=[3])],
    ),
    (
        "en",
        "delete 1 and change 2 to rye bread",
        [call("planner.change_todo", number=2, text="rye bread"), call("planner.delete_todos", numbers=[1])],
    ),
    (
        "en",
        "add butter, and what time is it?",
        [call("planner.add_todos", items=["butter"]), call("supervisor.current_time")],
    ),
    ("en", "what is left?", [call("planner.list_todos")]),
    ("en", "cheese", []),
    ("en", "delete wine", []),
    ("ru", "удали первое и третье", [call("planner.delete_todos", numbers=[1, 3])]),
    ("ru", "удали молоко", [call("planner.delete_todos", numbers=[1])]),
    ("ru", "удали последнее", [call("planner.delete_todos", numbers=[3])]),
    ("ru", "убери всё", [call("planner.delete_todos", numbers=[1, 2, 3])]),
    ("ru", "замени 2 на овсяное молоко", [call("planner.change_todo", number=2, text="овсяное молоко")]),
    ("ru", "переименуй второе в ржаной хлеб", [call("planner.change_todo", number=2, text="ржаной хлеб")]),
    ("ru", "нет, не молоко, а овсяное молоко", [call("planner.change_todo", number=1, text="овсяное молоко")]),
    ("ru", "отметь молоко как сделанное", [call("planner.change_todo", number=1, done=True)]),
    ("ru", "я купил яйца", [call("planner.change_todo", number=3, done=True)]),
    ("ru", "сними отметку с молока", [call("planner.change_todo", number=1, done=False)]),
    (
        "ru",
        "отметь молоко и хлеб как сделанные",
        [call("planner.change_todo", number=1, done=True), call("planner.change_todo", number=2, done=True)],
    ),
    (
        "ru",
        "добавь сыр и удали молоко",
        [call("planner.add_todos", items=["сыр"]), call("planner.delete_todos", numbers=[1])],
    ),
    (
        "ru",
        "добавь масло, и который час?",
        [call("planner.add_todos", items=["масло"]), call("supervisor.current_time")],
    ),
    ("ru", "надо сделать уроки", [call("planner.add_todos", items=["сделать уроки"])]),
    ("ru", "что осталось?", [call("planner.list_todos")]),
    ("ru", "сыр", []),
    ("ru", "удали вино", []),
]


@pytest.mark.parametrize(("lang", "text", "calls"), IN_PLANNER)
def test_planner_understands(lang: Lang, text: str, calls: list[str]) -> None:
    """To-dos are added, changed and deleted by number, ordinal or name, several in one message."""
    room = Room(lang)
    for line in PLANNER[lang]:
        room.says(line)
    room.says(text)
    assert acted(room) == calls


IN_PROFILE: list[tuple[Lang, str, dict[str, Any]]] = [
    ("en", "hiking", {"interests": ["hiking"]}),
    ("en", "reading, chess and long walks", {"interests": ["reading", "chess", "long walks"]}),
    ("en", "I like milk", {"interests": ["milk"]}),
    ("en", "add Rust to my skills", {"skills": ["Python", "Ruby", "Rust"]}),
    ("en", "I also know C++ and C#", {"skills": ["Python", "Ruby", "C++", "C#"]}),
    ("en", "remove Ruby", {"skills": ["Python"]}),
    ("en", "remove Ruby from my skills", {"skills": ["Python"]}),
    ("en", "no, I meant Rust not Ruby", {"skills": ["Python", "Rust"]}),
    ("en", "no, I meant Rust", {"skills": ["Python", "Rust"]}),
    ("en", "replace Ruby with Rust", {"skills": ["Python", "Rust"]}),
    ("en", "change my skills to cooking and driving", {"skills": ["cooking", "driving"]}),
    ("en", "I'm a doctor, not a nurse", {"experience": "doctor"}),
    ("en", "I'd like to become a pilot", {"work": "pilot"}),
    ("en", "I enjoy chess, and I am looking for a job as a cook", {"interests": ["chess"], "work": "cook"}),
    ("ru", "походы", {"interests": ["походы"]}),
    ("ru", "чтение, шахматы и долгие прогулки", {"interests": ["чтение", "шахматы", "долгие прогулки"]}),
    ("ru", "люблю молоко", {"interests": ["молоко"]}),
    ("ru", "добавь Rust в мои навыки", {"skills": ["Python", "Ruby", "Rust"]}),
    ("ru", "ещё знаю C++ и C#", {"skills": ["Python", "Ruby", "C++", "C#"]}),
    ("ru", "убери Ruby", {"skills": ["Python"]}),
    ("ru", "убери Ruby из навыков", {"skills": ["Python"]}),
    ("ru", "нет, не Python, а Rust", {"skills": ["Rust", "Ruby"]}),
    ("ru", "нет, я имел в виду Rust", {"skills": ["Python", "Rust"]}),
    ("ru", "замени Ruby на Rust", {"skills": ["Python", "Rust"]}),
    ("ru", "измени навыки на кулинарию и вождение", {"skills": ["кулинарию", "вождение"]}),
    ("ru", "я врач, а не медсестра", {"experience": "врач"}),
    ("ru", "хочу стать пилотом", {"work": "пилотом"}),
    ("ru", "увлекаюсь шахматами и ищу работу поваром", {"interests": ["шахматами"], "work": "поваром"}),
]


@pytest.mark.parametrize(("lang", "text", "values"), IN_PROFILE)
def test_profile_understands(lang: Lang, text: str, values: dict[str, Any]) -> None:
    """Fields are filled by answers and by sentences unasked, and corrected in the user's own words."""
    room = Room(lang)
    for line in PROFILE[lang]:
        room.says(line)
    before = dict(room.form)
    room.says(text)
    assert room.form == before | values


UNFILLED: list[tuple[Lang, str, str]] = [
    ("en", "skip", "What kind of work"),
    ("en", "I don't know", "What kind of work"),
    ("en", "why do you ask?", "Help on: why do you ask?"),
    ("en", "how do I connect a model?", "Help on"),
    ("en", "thanks", "What are you interested in?"),
    ("en", "change my experience", "What do you do"),
    ("en", "show my profile", "Profile: {"),
    ("en", "what time is it?", "18:24"),
    ("en", "add milk to my list", "1. milk"),
    ("ru", "пропусти", "Какую работу"),
    ("ru", "не знаю", "Какую работу"),
    ("ru", "зачем ты спрашиваешь?", "Help on: зачем"),
    ("ru", "спасибо", "Чем вы интересуетесь?"),
    ("ru", "измени опыт", "Чем вы занимаетесь"),
    ("ru", "покажи мой профиль", "Profile: {"),
    ("ru", "который час?", "18:24"),
    ("ru", "добавь молоко в список", "1. молоко"),
]


@pytest.mark.parametrize(("lang", "text", "said"), UNFILLED)
def test_profile_does_not_take_everything_for_an_answer(lang: Lang, text: str, said: str) -> None:
    """Refusals, questions, commands and other wishes are not written into the form."""
    room = Room(lang)
    for line in PROFILE[lang]:
        room.says(line)
    before = dict(room.form)
    assert said in room.says(text)
    assert room.form == before


@pytest.mark.parametrize(
    ("lang", "lines", "form"),
    [
        (
            "en",
            [None, "yes please", "I'm a nurse, I know first aid and I like hiking", "head nurse"],
            {"experience": "nurse", "skills": ["first aid"], "interests": ["hiking"], "work": "head nurse"},
        ),
        (
            "ru",
            [None, "да, давай", "Я медсестра, умею оказывать помощь и люблю походы", "старшей медсестрой"],
            {
                "experience": "медсестра",
                "skills": ["оказывать помощь"],
                "interests": ["походы"],
                "work": "старшей медсестрой",
            },
        ),
    ],
)
def test_acquaintance(lang: Lang, lines: list[str | None], form: dict[str, Any]) -> None:
    """The opening says what the model is, offers to get acquainted, and a yes leads to a full profile."""
    room = Room(lang)
    said = [room.says(line) for line in lines]
    assert "LLM_MODEL" in said[0]
    assert "OPENAI_API_KEY" in said[0]
    assert room.form == form
    assert room.dialog is None
    assert room.trace[-1].startswith("profile.hand_back(")


@pytest.mark.parametrize(
    ("lang", "lines", "todos"),
    [
        (
            "en",
            [
                "add something to my list",
                "milk, bread and eggs",
                "delete something",
                "the second one",
                "cheese",
                "yes",
                "change it to goat cheese",
                "let's talk about my experience",
                "I work as a cook",
                "show my list",
                "mark milk as done",
                "no thanks",
            ],
            [["milk", True], ["eggs", False], ["goat cheese", False]],
        ),
        (
            "ru",
            [
                "добавь что-нибудь в список",
                "молоко, хлеб и яйца",
                "удали что-нибудь",
                "второе",
                "сыр",
                "да",
                "замени его на козий сыр",
                "давай поговорим о моём опыте",
                "работаю поваром",
                "покажи список",
                "отметь молоко как сделанное",
                "нет, спасибо",
            ],
            [["молоко", True], ["яйца", False], ["козий сыр", False]],
        ),
    ],
)
def test_a_day_with_switches(lang: Lang, lines: list[str], todos: list[list[Any]]) -> None:
    """Missing values are asked for, bare answers taken, and topics switched back and forth."""
    room = Room(lang)
    for line in lines:
        assert room.says(line)
    assert room.todos == todos
    assert room.form["experience"] in ("cook", "поваром")
    assert room.dialog is None


@pytest.mark.parametrize(("lang", "text"), [("en", "delete the milk"), ("ru", "удали молоко")])
def test_looks_up_before_it_acts(lang: Lang, text: str) -> None:
    """A name is looked up in the list first when the conversation does not hold the list."""
    room = Room(lang, todos=[["хлеб", False], ["milk" if lang == "en" else "молоко", False]])
    room.says(text)
    assert acted(room) == [call("planner.list_todos"), call("planner.delete_todos", numbers=[2])]


def test_two_dialogs_in_one_message() -> None:
    """Both wishes are done one after the other, and the first dialog makes room for the second."""
    room = Room()
    said = room.says("add milk to my list, then let's talk about my experience")
    assert room.todos == [["milk", False]]
    assert "Anything else?" not in said
    assert room.dialog == "profile"


def test_correction_after_the_profile_is_finished() -> None:
    """A correction goes to the dialog that was wanted last, even if it is over."""
    room = Room()
    for line in [*PROFILE["en"], "hiking", "developer", "no, I meant Rust not Ruby"]:
        room.says(line)
    assert room.form["skills"] == ["Python", "Rust"]


def test_ambiguous_name_is_asked_back() -> None:
    """Of two entries with the same word the user chooses."""
    room = Room(todos=[["oat milk", False], ["soy milk", False]])
    assert "Which one" in room.says("delete milk")
    room.says("the second one")
    assert room.todos == [["oat milk", False]]


def test_failed_tool_is_told() -> None:
    """A tool that failed is reported with its own words, nothing is claimed to be done."""
    made = AIMessage("", tool_calls=[{"name": "current_time", "args": {}, "id": "1"}])
    failed = ToolMessage("the clock is broken", tool_call_id="1", status="error")
    reply = RulesModel().invoke([HumanMessage("what time is it"), made, failed])
    assert "the clock is broken" in str(reply.text)


@pytest.mark.parametrize(
    ("lang", "dialog", "reply", "text", "verdict"),
    [
        ("en", "profile", "Which skills do you have?", "Python and Rust", "stay"),
        ("en", "profile", "Which skills do you have?", "I know how to plan", "stay"),
        ("en", "profile", "Which skills do you have?", "add milk to my list", "planner"),
        ("en", "profile", "Which skills do you have?", "what time is it?", "current_time"),
        ("en", "profile", "Which skills do you have?", "let's talk about something else", "own"),
        ("en", "planner", "Anything else?", "eggs", "stay"),
        ("en", "planner", "Anything else?", "show my profile", "profile"),
        ("en", "planner", "Anything else?", "add milk and what time is it", "stay"),
        ("ru", "profile", "Какие у вас навыки?", "Python и Rust", "stay"),
        ("ru", "profile", "Какие у вас навыки?", "напомни позвонить маме", "planner"),
        ("ru", "profile", "Какие у вас навыки?", "который час?", "current_time"),
        ("ru", "profile", "Какие у вас навыки?", "давай поговорим о другом", "own"),
        ("ru", "planner", "Что-нибудь ещё?", "покажи мой профиль", "profile"),
        ("ru", "planner", "Что-нибудь ещё?", "яйца", "stay"),
    ],
)
def test_observer_of_switches(lang: Lang, dialog: str, reply: str, text: str, verdict: str) -> None:
    """Only what plainly belongs elsewhere takes the conversation away from a dialog."""
    room = Room(lang, dialog=dialog)
    room.talk(dialog).append(AIMessage(reply))
    assert room.observes("supervisor", text) == verdict


@pytest.mark.parametrize(
    ("lang", "text", "verdict"),
    [("en", "that's all", "yes"), ("en", "and milk", "no"), ("ru", "это всё", "yes"), ("ru", "и молоко", "no")],
)
def test_observer_of_the_end(lang: Lang, text: str, verdict: str) -> None:
    """A dialog is over when the user says so."""
    assert Room(lang, dialog="planner").observes("finished", text) == verdict


@pytest.mark.parametrize(
    ("lang", "text", "intent"),
    [
        ("en", "I'm looking for a job as a data analyst, by the way", "looking for a job as a data analyst"),
        ("en", "I like milk", None),
        ("ru", "Я сейчас ищу работу аналитиком данных.", "ищу работу аналитиком данных"),
        ("ru", "добавь молоко", None),
    ],
)
def test_observer_of_intent(lang: Lang, text: str, intent: str | None) -> None:
    """A professional intent is told in the user's own words."""
    assert json.loads(Room(lang).observes("intent", text)) == ({"intent": intent} if intent else {})


async def test_streams_word_by_word() -> None:
    """The streamed message is the whole one, in pieces, and its last piece carries the reason for the end."""
    model = RulesModel().bind_tools(Room().tools("supervisor"))
    whole = await model.ainvoke([HumanMessage("hello")])
    merged, count = AIMessageChunk(content=""), 0
    async for piece in model.astream([HumanMessage("hello")]):
        assert isinstance(piece, AIMessageChunk)
        merged, count = merged + piece, count + 1
    assert count > 5
    assert merged.content == whole.content
    assert merged.response_metadata["finish_reason"] == "stop"
    assert merged.response_metadata["model_name"] == "local:rules"
    assert merged.usage_metadata == whole.usage_metadata


async def test_streams_tool_calls_with_stable_ids() -> None:
    """The same prompt makes the same calls with the same ids, streamed or not; other prompts make other ids."""
    model = RulesModel().bind_tools(Room().tools("supervisor"))
    asked = [HumanMessage("what time is it and what can you do", id="m1")]
    merged: AIMessageChunk | None = None
    async for piece in model.astream(asked):
        assert isinstance(piece, AIMessageChunk)
        merged = piece if merged is None else merged + piece
    assert merged is not None
    whole = await model.ainvoke(asked)
    assert isinstance(whole, AIMessage)
    assert merged.tool_calls == whole.tool_calls
    assert [entry["name"] for entry in merged.tool_calls] == ["current_time", "abilities"]
    assert merged.response_metadata["finish_reason"] == "tool_calls"
    again = await model.ainvoke([*asked, whole, HumanMessage("what time is it and what can you do", id="m2")])
    assert isinstance(again, AIMessage)
    assert not {entry["id"] for entry in again.tool_calls} & {entry["id"] for entry in whole.tool_calls}


def test_notes_survive_streaming() -> None:
    """What the next turn needs to know travels with the streamed message too."""
    scene = {"role": "supervisor", "lang": "en", "helpers": {}, "tools": ["change_language"]}
    prompt = [HumanMessage("change the language"), SystemMessage("Go on.", additional_kwargs={"scene": scene})]
    model = RulesModel().bind_tools(Room().tools("supervisor"))
    merged: AIMessageChunk | None = None
    for piece in model.stream(prompt):
        assert isinstance(piece, AIMessageChunk)
        merged = piece if merged is None else merged + piece
    assert merged is not None
    assert merged.additional_kwargs["asks"] == {"tool": "change_language", "slot": "language", "args": {}}


def dialog_reply(name: str, *messages: BaseMessage, **scene: Any) -> AIMessage:
    """Return what a dialog says next to a history of its own."""
    room = Room(dialog=name)
    entries = {"get_acquainted": ("profile", "profile"), "plan_things": ("planner", None)}
    helpers: dict[str, Any] = {
        tool: {"dialog": dialog, "title": dialog, "tools": [], "form": form} for tool, (dialog, form) in entries.items()
    }
    closing = {"role": name, "lang": "en", "helpers": helpers, "tools": ["current_time"], **scene}
    prompt = [SystemMessage("Role."), *messages, SystemMessage("Go on.", additional_kwargs={"scene": closing})]
    return RulesModel().bind_tools(room.tools(name)).invoke(prompt)


def test_brief_in_a_note_counts_more_than_the_message() -> None:
    """A dialog that took over does its part of the message only, as the note of the hand-over says."""
    note = SystemMessage("You have just taken over.", additional_kwargs={"brief": "add milk to my list"})
    reply = dialog_reply("planner", note, HumanMessage("what time is it and add milk to my list"))
    assert [(entry["name"], entry["args"]) for entry in reply.tool_calls] == [("add_todos", {"items": ["milk"]})]


def test_message_of_an_earlier_turn_is_not_done_again() -> None:
    """A dialog that gets the word back goes on; what it gave away before stays given away."""
    given = AIMessage("", tool_calls=[{"name": "hand_back", "args": {"wish": "w"}, "id": "1"}])
    history = [HumanMessage("add eggs"), given, ToolMessage("ok", tool_call_id="1"), SystemMessage("You are back.")]
    reply = dialog_reply("profile", *history, fields=["work"], missing=["work"], form={"work": None})
    assert reply.tool_calls == []
    assert str(reply.text).endswith("What kind of work are you looking for?")


def test_undone_switch_hands_nothing_back() -> None:
    """After "no, go on" the dialog keeps the message, whatever else it looks like."""
    scene = {"fields": ["work"], "missing": ["work"], "form": {"work": None}, "undone": True}
    reply = dialog_reply("profile", HumanMessage("remind me to call mom"), **scene)
    assert "hand_back" not in [entry["name"] for entry in reply.tool_calls]


def test_nothing_of_a_compound_message_is_lost() -> None:
    """Two wishes in answer to a question are wishes, and the one for others is handed back."""
    room = Room()
    for line in PROFILE["en"]:
        room.says(line)
    room.says("add eggs, and show my profile")
    assert acted(room) == [call("profile.show_profile"), call("planner.add_todos", items=["eggs"])]


def test_long_story_is_no_command() -> None:
    """A very long message is read quickly and taken for no wish."""
    room = Room()
    assert "did not understand" in room.says("once upon a time there was a story " * 500)


def test_words_and_stems() -> None:
    """Words are comparable across case, Unicode forms, ё and endings; CJK text becomes bigrams."""
    assert words("Ёлка, ＡＢＣ C++ don’t") == ["елка", "abc", "c++", "dont"]
    assert words("牛乳買う") == ["牛乳", "乳買", "買う"]
    assert stems("задачи tasks", "ru") == stems("задача task", "ru")
