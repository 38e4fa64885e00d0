"""To-dos by rules: what is said of a list, and what has to be looked up or asked first."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from app.plugins.standin import RulesModel
from tests.support.rules_outcome import Lang, acted, call, room_after
from tests.support.rules_room import Room, rules_prompt

pytestmark = pytest.mark.needs("planner")

PLANNER = {"en": ["add milk, bread and eggs to my list"], "ru": ["добавь молоко, хлеб и яйца в список"]}
IN_PLANNER: list[tuple[Lang, str, list[str]]] = [
    ("en", "delete the first and the third", [call("planner.delete_todos", numbers=[1, 3])]),
    ("en", "delete the last one", [call("planner.delete_todos", numbers=[3])]),
    ("en", "remove everything", [call("planner.delete_todos", numbers=[1, 2, 3])]),
    ("en", "change 2 to oat milk", [call("planner.change_todo", number=2, text="oat milk")]),
    ("en", "rename the second one to rye bread", [call("planner.change_todo", number=2, text="rye bread")]),
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
    ("en", "cheese", []),
    ("en", "delete wine", [call("planner.list_reminders")]),
    ("ru", "удали первое и третье", [call("planner.delete_todos", numbers=[1, 3])]),
    ("ru", "удали последнее", [call("planner.delete_todos", numbers=[3])]),
    ("ru", "убери всё", [call("planner.delete_todos", numbers=[1, 2, 3])]),
    ("ru", "замени 2 на овсяное молоко", [call("planner.change_todo", number=2, text="овсяное молоко")]),
    ("ru", "переименуй второе в ржаной хлеб", [call("planner.change_todo", number=2, text="ржаной хлеб")]),
    ("ru", "я купил яйца", [call("planner.change_todo", number=3, done=True)]),
    ("ru", "сними отметку с молока", [call("planner.change_todo", number=1, done=False)]),
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
    ("ru", "надо сделать уроки", []),
    ("ru", "удали их все", [call("planner.delete_todos", numbers=[1, 2, 3])]),
    ("ru", "сыр", []),
    ("ru", "удали вино", [call("planner.list_reminders")]),
]


@pytest.mark.parametrize(("lang", "text", "calls"), IN_PLANNER)
def test_planner_understands(lang: Lang, text: str, calls: list[str]) -> None:
    """To-dos are added, changed and deleted by number, ordinal or name, several in one message."""
    room = room_after(lang, PLANNER[lang])
    room.says(text)
    assert acted(room) == calls


@pytest.mark.parametrize(("lang", "text"), [("en", "delete the milk"), ("ru", "удали молоко")])
def test_looks_up_before_it_acts(lang: Lang, text: str) -> None:
    """A name is looked up in the list first when the conversation does not hold the list."""
    room = Room(lang, todos=[["хлеб", False], ["milk" if lang == "en" else "молоко", False]])
    room.says(text)
    assert acted(room) == [call("planner.list_todos"), call("planner.delete_todos", numbers=[2])]


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
    reply = RulesModel().invoke(rules_prompt([HumanMessage("what time is it"), made, failed]))
    assert "the clock is broken" in str(reply.text)
