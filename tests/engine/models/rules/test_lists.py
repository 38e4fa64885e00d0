"""To-dos by rules: the list as a whole, what is forbidden, and questions that are not answered."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from tests.support.rules_outcome import Lang
from tests.support.rules_room import Room

pytestmark = pytest.mark.needs("planner")

SHOW = {"en": "show my list", "ru": "покажи список"}
TODOS = {"en": ["milk", "bread", "eggs"], "ru": ["молоко", "хлеб", "яйца"]}


def shopping(lang: Lang, most: int = 3) -> Room:
    """Return a room whose user has just seen the list."""
    room = Room(lang, todos=[[text, False] for text in TODOS[lang][:most]])
    room.says(SHOW[lang])
    return room


@pytest.mark.parametrize(
    ("lang", "lines", "todos"),
    [
        ("en", ["delete something", "wait", "the second one"], ["milk", "eggs"]),
        ("en", ["delete something", "wine", "bread"], ["milk", "eggs"]),
        ("en", ["add something", "I will not tell you", "call mom"], ["milk", "bread", "eggs", "call mom"]),
        ("en", ["delete something", "never mind", "second one"], ["milk", "bread", "eggs"]),
        ("ru", ["удали что-нибудь", "подожди", "второе"], ["молоко", "яйца"]),
        ("ru", ["удали что-нибудь", "вино", "хлеб"], ["молоко", "яйца"]),
        ("ru", ["добавь что-нибудь", "не скажу тебе", "сыр"], ["молоко", "хлеб", "яйца", "сыр"]),
    ],
)
def test_a_question_stays_open_as_long_as_it_is_meant(lang: Lang, lines: list[str], todos: list[str]) -> None:
    """A question outlives an answer that is none, and is given up when the user takes the wish back."""
    room = shopping(lang)
    for line in lines:
        room.says(line)
    assert [text for text, _ in room.todos] == todos


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
