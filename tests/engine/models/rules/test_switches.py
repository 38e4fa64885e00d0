"""Changes of subject by rules: a day with several, and what observers and dialogs make of each."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from app.plugins.standin import RulesModel
from tests.support.rules_outcome import PROFILE, Lang
from tests.support.rules_room import Room, rules_prompt

pytestmark = pytest.mark.needs("profile")


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
                "add cheese",
                "change 3 to goat cheese",
                "let's talk about my experience",
                "I work as a cook",
                "show my list",
                "mark milk as done",
                "that's all",
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
                "добавь сыр",
                "замени 3 на козий сыр",
                "давай поговорим о моём опыте",
                "работаю поваром",
                "покажи список",
                "отметь молоко как сделанное",
                "это всё",
            ],
            [["молоко", True], ["яйца", False], ["козий сыр", False]],
        ),
    ],
)
@pytest.mark.needs("planner")
def test_a_day_with_switches(lang: Lang, lines: list[str], todos: list[list[Any]]) -> None:
    """Missing values are asked for, bare answers taken, and topics switched back and forth."""
    room = Room(lang)
    for line in lines:
        assert room.says(line)
    assert room.todos == todos
    assert room.form["experience"] in ("cook", "поваром")
    assert room.dialog is None


@pytest.mark.parametrize(
    ("lang", "dialog", "reply", "text", "verdict"),
    [
        ("en", "profile", "Which skills do you have?", "Python and Rust", "stay"),
        ("en", "profile", "Which skills do you have?", "I know how to plan", "stay"),
        ("en", "profile", "Which skills do you have?", "add milk to my list", "planner"),
        ("en", "profile", "Which skills do you have?", "what time is it?", "current_time"),
        ("en", "profile", "Which skills do you have?", "let's talk about something else", "other"),
        ("en", "planner", "1. milk", "eggs", "stay"),
        ("en", "planner", "1. milk", "show my profile", "profile"),
        ("en", "planner", "1. milk", "add milk and what time is it", "stay"),
        ("ru", "profile", "Какие у вас навыки?", "Python и Rust", "stay"),
        ("ru", "profile", "Какие у вас навыки?", "напомни позвонить маме", "planner"),
        ("ru", "profile", "Какие у вас навыки?", "который час?", "current_time"),
        ("ru", "profile", "Какие у вас навыки?", "давай поговорим о другом", "other"),
        ("ru", "planner", "1. молоко", "покажи мой профиль", "profile"),
        ("ru", "planner", "1. молоко", "яйца", "stay"),
    ],
)
@pytest.mark.needs("planner")
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
        ("en", "Hi! I'm looking for a job as a data analyst.", "I'm looking for a job as a data analyst"),
        ("en", "I like milk", None),
        ("ru", "Я ищу работу аналитиком данных.", "Я ищу работу аналитиком данных"),
        ("en", "my brother wants to become a pilot", None),
        ("ru", "мой брат хочет стать лётчиком", None),
        ("ru", "добавь молоко", None),
    ],
)
def test_observer_of_intent(lang: Lang, text: str, intent: str | None) -> None:
    """A professional intent is told in the user's own words."""
    assert json.loads(Room(lang, dialog="profile").observes("intent", text)) == ({"intent": intent} if intent else {})


def dialog_reply(name: str, *messages: BaseMessage, **scene: Any) -> AIMessage:
    """Return what a dialog says next to a history of its own."""
    room = Room(dialog=name)
    entries = {"get_acquainted": ("profile", "profile"), "plan_things": ("planner", None)}
    helpers: dict[str, Any] = {
        tool: {"dialog": dialog, "title": dialog, "tools": [], "form": form} for tool, (dialog, form) in entries.items()
    }
    closing = {"role": name, "lang": "en", "helpers": helpers, "tools": ["current_time"], **scene}
    return RulesModel().bind_tools(room.tools(name)).invoke(rules_prompt(messages, **closing))


@pytest.mark.needs("planner")
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


@pytest.mark.parametrize(
    ("lang", "text", "spoken"),
    [("ru", "english please", "en"), ("en", "по-русски, пожалуйста", "ru"), ("en", "Russian, please", "ru")],
)
def test_a_language_is_asked_for_in_passing(lang: Lang, text: str, spoken: Lang) -> None:
    """A language with "please" is a wish to speak it, not an answer to what is asked."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], text]:
        room.says(line)
    assert (room.lang, "skills" in room.form) == (spoken, False)


def test_a_language_alone_is_an_answer() -> None:
    """Without "please" a language is what the user is asked for."""
    room = Room("ru")
    for line in [*PROFILE["ru"][:2], "English"]:
        room.says(line)
    assert (room.lang, room.form["skills"]) == ("ru", ["English"])
