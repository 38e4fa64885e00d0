"""To-dos by rules: the list as a whole, what is forbidden, and questions that are not answered."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agents.models.rules import RulesModel
from tests.support.rules_outcome import Lang, acted, call
from tests.support.rules_room import Room

SHOW = {"en": "show my list", "ru": "покажи список"}
TODOS = {"en": ["milk", "bread", "eggs"], "ru": ["молоко", "хлеб", "яйца"]}
DELETED: list[tuple[Lang, str, list[int]]] = [
    ("en", "delete everything except milk", [2, 3]),
    ("en", "delete all but the second one", [1, 3]),
    ("en", "delete the first two", [1, 2]),
    ("en", "delete the last two", [2, 3]),
    ("ru", "удали всё кроме молока", [2, 3]),
    ("ru", "удали всё, кроме второго", [1, 3]),
    ("ru", "удали первые два", [1, 2]),
    ("ru", "удали последние два", [2, 3]),
]


def shopping(lang: Lang, most: int = 3) -> Room:
    """Return a room whose user has just seen the list."""
    room = Room(lang, todos=[[text, False] for text in TODOS[lang][:most]])
    room.says(SHOW[lang])
    return room


@pytest.mark.parametrize(("lang", "text", "numbers"), DELETED)
def test_several_of_a_list(lang: Lang, text: str, numbers: list[int]) -> None:
    """Entries are also meant by what is left out, and by counting from an end."""
    room = shopping(lang)
    room.says(text)
    assert acted(room) == [call("planner.delete_todos", numbers=numbers)]


@pytest.mark.parametrize(("lang", "text"), [("en", "delete both"), ("ru", "удали оба")])
def test_both_of_two(lang: Lang, text: str) -> None:
    """Both are the two entries of a list of two."""
    room = shopping(lang, 2)
    room.says(text)
    assert acted(room) == [call("planner.delete_todos", numbers=[1, 2])]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "don't delete milk"),
        ("en", "please don't delete the milk"),
        ("en", "I don't want to delete milk"),
        ("en", "never delete milk"),
        ("en", "delete none of them"),
        ("en", "delete nothing"),
        ("en", "I don't want to say"),
        ("en", "skip"),
        ("en", "wait"),
        ("en", "that's wrong"),
        ("en", "which one?"),
        ("en", "you are stupid"),
        ("ru", "не удаляй молоко"),
        ("ru", "пожалуйста, не удаляй молоко"),
        ("ru", "не хочу удалять молоко"),
        ("ru", "ничего не удаляй"),
        ("ru", "удали ничего"),
        ("ru", "не хочу отвечать"),
        ("ru", "пропусти"),
        ("ru", "подожди"),
        ("ru", "неправильно"),
        ("ru", "какое именно?"),
        ("ru", "ты дурак"),
    ],
)
def test_nothing_is_done_or_guessed(lang: Lang, text: str) -> None:
    """What forbids, refuses, asks back or complains changes nothing, and is not offered as a new to-do."""
    room = shopping(lang)
    said = room.says(text)
    assert acted(room) == []
    assert [entry for entry, _ in room.todos] == TODOS[lang]
    assert "Did you mean" not in said
    assert "имели в виду" not in said


@pytest.mark.parametrize(
    ("lang", "lines", "todos"),
    [
        ("en", ["delete something", "which one?", "say that again", "wait", "the second one"], ["milk", "eggs"]),
        ("en", ["delete something", "wine", "beer", "yes"], ["milk", "bread", "eggs", "beer"]),
        ("en", ["add something", "what?", "to call mom"], ["milk", "bread", "eggs", "call mom"]),
        ("en", ["delete something", "I'd rather not", "second one"], ["milk", "bread", "eggs"]),
        ("ru", ["удали что-нибудь", "какое?", "повтори", "подожди", "второе"], ["молоко", "яйца"]),
        ("ru", ["удали что-нибудь", "вино", "пиво", "да"], ["молоко", "хлеб", "яйца", "пиво"]),
        ("ru", ["добавь что-нибудь", "что?", "чтобы был сыр"], ["молоко", "хлеб", "яйца", "был сыр"]),
    ],
)
def test_a_question_stays_open_as_long_as_it_is_meant(lang: Lang, lines: list[str], todos: list[str]) -> None:
    """A question outlives being asked back, and is given up when refused or twice not answered."""
    room = shopping(lang)
    for line in lines:
        room.says(line)
    assert [text for text, _ in room.todos] == todos


@tool
def choose_todo(numbers: list[int]) -> str:
    """Let the user choose."""
    return ""


@pytest.mark.parametrize(
    ("wish", "text", "calls"),
    [
        ("delete milk", "both", [("delete_todos", {"numbers": [1, 2]})]),
        ("mark milk as done", "all of them", [("change_todo", {"number": n, "done": True}) for n in (1, 2)]),
        ("удали молоко", "оба", [("delete_todos", {"numbers": [1, 2]})]),
        ("delete milk", "none of them", []),
        ("удали молоко", "ни одного", []),
    ],
)
def test_a_choice_of_one_answered_by_both(wish: str, text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Who is let choose one entry may mean all that were shown, or none."""
    made = AIMessage("", tool_calls=[{"name": "choose_todo", "args": {"numbers": [1, 2]}, "id": "1"}])
    left = ToolMessage("The user said something else.", tool_call_id="1", status="error")
    closing = SystemMessage("Go on.", additional_kwargs={"scene": {"role": "planner"}})
    tools = [*Room(dialog="planner").tools("planner"), choose_todo]
    prompt = [SystemMessage("Role."), HumanMessage(wish), made, left, HumanMessage(text), closing]
    reply = RulesModel().bind_tools(tools).invoke(prompt)
    assert [(entry["name"], entry["args"]) for entry in reply.tool_calls] == calls


SERVED: list[tuple[Lang, str, str, str, list[Any], list[Any]]] = [
    (
        "en",
        "list_todos",
        "1. milk\n2. bread\n3. eggs",
        "delete the second one",
        ["milk", "eggs"],
        ["call mom", "call dad"],
    ),
    (
        "en",
        "list_reminders",
        "1. call mom\n2. call dad",
        "delete the first one",
        ["milk", "bread", "eggs"],
        ["call dad"],
    ),
    ("en", "list_reminders", "1. call mom\n2. call dad", "delete all", ["milk", "bread", "eggs"], []),
    ("ru", "list_todos", "1. молоко\n2. хлеб\n3. яйца", "удали второе", ["молоко", "яйца"], ["мама", "папа"]),
    ("ru", "list_reminders", "1. мама\n2. папа", "удали первое", ["молоко", "хлеб", "яйца"], ["папа"]),
]


@pytest.mark.parametrize(("lang", "name", "shown", "text", "todos", "reminders"), SERVED)
def test_a_number_is_of_the_list_shown_last(
    lang: Lang, name: str, shown: str, text: str, todos: list[str], reminders: list[str]
) -> None:
    """A list that was shown without its dialog is the one that "the second one" is of, whatever the dialog did last."""
    calls = ["call mom", "call dad"] if lang == "en" else ["мама", "папа"]
    room = Room(lang, reminders=[[text, "at 9"] for text in calls])
    room.todos = [[text, False] for text in TODOS[lang]]
    other = SHOW[lang] if name == "list_reminders" else {"en": "show my reminders", "ru": "покажи напоминания"}[lang]
    room.says(other)
    room.says({"en": "that's all", "ru": "это всё"}[lang])
    note = {"served": name}
    room.talk("supervisor").extend([HumanMessage("…"), AIMessage(shown, additional_kwargs=note)])
    room.says(text)
    assert [entry for entry, _ in room.todos] == todos
    assert [entry for entry, _ in room.reminders] == reminders


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "which one did you delete?"),
        ("en", "what did you remove?"),
        ("ru", "что ты удалил?"),
        ("ru", "какое удалено?"),
    ],
)
def test_a_question_deletes_nothing(lang: Lang, text: str) -> None:
    """To ask what was deleted is no wish to delete, not even where there is but one entry to delete."""
    room = shopping(lang, 1)
    room.says(text)
    assert [entry for entry, _ in room.todos] == TODOS[lang][:1]
