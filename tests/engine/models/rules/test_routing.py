"""A wish reaches whoever can fulfil it; what is no wish calls nothing."""

import pytest

from agents.language.text.stems import stems, words
from tests.support.rules_outcome import PROFILE, Lang, acted, call
from tests.support.rules_room import Room

pytestmark = pytest.mark.needs("planner")

TO_SUPERVISOR: list[tuple[Lang, str, list[str]]] = [
    ("en", "what time is it?", [call("supervisor.current_time")]),
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
    ("en", "Please put call mom on my to-do list", [call("planner.add_todos", items=["call mom"])]),
    ("en", "add buy 5 eggs", [call("planner.add_todos", items=["buy 5 eggs"])]),
    (
        "en",
        'add "bread and butter" and milk to my list',
        [call("planner.add_todos", items=["bread and butter", "milk"])],
    ),
    ("en", "Thanks, now show my list", [call("planner.list_todos")]),
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
    ("ru", "что ты умеешь?", [call("supervisor.abilities")]),
    ("ru", "как подключить модель?", [call("supervisor.assistant_help", query="как подключить модель?")]),
    ("ru", "какая столица Франции?", [call("supervisor.assistant_help", query="какая столица Франции?")]),
    ("ru", "Привет! Добавь молоко, пожалуйста", [call("planner.add_todos", items=["молоко"])]),
    ("ru", "Запиши, пожалуйста, позвонить маме", [call("planner.add_todos", items=["позвонить маме"])]),
    ("ru", "добавь «хлеб с маслом» и молоко в список", [call("planner.add_todos", items=["хлеб с маслом", "молоко"])]),
    ("ru", "Спасибо, теперь покажи список", [call("planner.list_todos")]),
    ("ru", "что ты обо мне знаешь?", [call("profile.show_profile")]),
    ("ru", "выгрузи профиль в json", [call("profile.export_profile", format="json")]),
    (
        "ru",
        "добавь молоко и скажи время",
        [call("supervisor.current_time"), call("planner.add_todos", items=["молоко"])],
    ),
]


@pytest.mark.parametrize(("lang", "text", "calls"), TO_SUPERVISOR)
@pytest.mark.needs("profile")
def test_supervisor_routes(lang: Lang, text: str, calls: list[str]) -> None:
    """A wish reaches the tool that fulfils it, whoever has that tool, with its values."""
    room = Room(lang)
    room.says(text)
    assert acted(room) == calls


SMALL_TALK: list[tuple[Lang, str]] = [
    *(("en", text) for text in ("Hello!", "how are you?", "thanks!", "ok", "no", "I'm tired")),
    *(("en", text) for text in ("The weather is nice today", "asdf qwer", "who are you?")),
    *(("en", text) for text in ("I like milk", "I need to call the dentist tomorrow", "I'm a nurse")),
    ("en", "let's talk about something else"),
    ("ru", "давай поговорим о другом"),
    *(("ru", text) for text in ("мне нравится молоко", "надо позвонить стоматологу завтра", "я медсестра")),
    *(("ru", text) for text in ("Привет!", "как дела?", "спасибо!", "ок", "я устал")),
    *(("ru", text) for text in ("погода сегодня хорошая", "фыва олдж", "кто ты?")),
]


@pytest.mark.parametrize(("lang", "text"), SMALL_TALK)
def test_small_talk_calls_nothing(lang: Lang, text: str) -> None:
    """Small talk gets a sentence and triggers no tool."""
    room = Room(lang)
    assert room.says(text)
    assert room.trace == []


@pytest.mark.needs("profile")
def test_two_dialogs_in_one_message() -> None:
    """Both wishes are done one after the other, and the first dialog makes room for the second."""
    room = Room()
    room.says("add milk to my list, then let's talk about my experience")
    assert room.todos == [["milk", False]]
    assert room.dialog == "profile"


@pytest.mark.needs("profile")
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
    assert "1000" in room.says("once upon a time there was a story " * 500)
    assert "did not understand" in room.says("once upon a time there was a story " * 25)


def test_words_and_stems() -> None:
    """Words are comparable across case, Unicode forms, ё and endings; CJK text becomes bigrams."""
    assert words("Ёлка, ＡＢＣ C++ don’t") == ["елка", "abc", "c++", "dont"]
    assert words("牛乳買う") == ["牛乳", "乳買", "買う"]
    assert stems("задачи tasks", "ru") == stems("задача task", "ru")
