"""A yes counts for the question as it was put: a question names things, and their later changes need a new yes."""

from typing import Any

import pytest

from agents.events import Interrupt
from agents.state.person import FORWARDED
from app.testing import Chat
from app.testing.script import Call, Line

pytestmark = pytest.mark.needs("planner")
PLAN: list[Line] = [Call("plan_things", {"brief": "-"})]
BOTH = Call("delete_todos", {"numbers": [1, 2]})
ASKED = "confirm: Delete from your list (2): 1. milk; 2. bread? [yes | no]"


async def todos(chat: Chat, user: str = "ann") -> dict[int, tuple[str, bool]]:
    """Return the to-dos by number, and whether each is done."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(("users", user, "todos"), limit=100)
    return {item.value["number"]: (item.value["text"], item.value["done"]) for item in items}


async def elsewhere(chat: Chat, *calls: Call) -> None:
    """Do something on another device of the same user."""
    for call in calls:
        chat.expects(supervisor=PLAN, planner=[call, "So."])
        await chat.says("something else", thread=f"device {call.tool} {call.args}", user="ann")


async def asked_to_delete(chat: Chat) -> str:
    """Let there be milk and bread, and the question whether both shall be deleted; return its id."""
    chat.expects(supervisor=PLAN, planner=[Call("add_todos", {"items": ["milk", "bread"]}), "Noted.", BOTH])
    assert (await chat.says("note milk and bread", "please take all of that off my list")).endswith(ASKED)
    return next(event.id for event in chat.events if isinstance(event, Interrupt))


@pytest.mark.parametrize(
    ("changes", "anew", "left"),
    [
        (
            [Call("change_todo", {"number": 2, "text": "the will"})],
            "confirm: Delete from your list (2): 1. milk; 2. the will? [yes | no]",
            {},
        ),
        (
            [Call("delete_todos", {"numbers": [2]}), Call("add_todos", {"items": ["the will"]})],
            "confirm: Delete from your list (1): 1. milk? [yes | no]",
            {3: ("the will", False)},
        ),
    ],
)
async def test_what_has_changed_meanwhile_is_asked_anew(
    chat: Chat, changes: list[Call], anew: str, left: dict[int, Any]
) -> None:
    """A yes to what was asked before does nothing; a yes to the new question does what that one says."""
    first = await asked_to_delete(chat)
    await elsewhere(chat, *changes)
    before = await todos(chat)
    assert (await chat.says("yes")).endswith(anew)
    assert await todos(chat) == before
    chat.expects(planner=["Gone."])
    # A button of the first question is no answer to this one.
    await chat.says("yes", source="choice", id=f"tap#{first}")
    assert await todos(chat) == before
    assert (await chat.says("yes")).endswith("planner: Gone.")
    assert await todos(chat) == left


async def test_nothing_is_asked_anew_where_nothing_has_changed(chat: Chat) -> None:
    """Whatever else happens, and in whatever language the yes is said."""
    await asked_to_delete(chat)
    await elsewhere(chat, Call("add_todos", {"items": ["the will"]}))
    chat.expects(planner=["Gone."])
    assert (await chat.says("да, пожалуйста")).endswith("planner: Gone.")
    assert await todos(chat) == {3: ("the will", False)}


async def test_what_is_gone_is_not_asked_about_again(chat: Chat) -> None:
    """The tool says so itself."""
    await asked_to_delete(chat)
    await elsewhere(chat, Call("delete_todos", {"numbers": [1]}), Call("delete_todos", {"numbers": [2]}))
    chat.expects(planner=["They are gone."])
    assert (await chat.says("yes")).endswith("planner: They are gone.")


@pytest.mark.parametrize(
    ("call", "question"),
    [
        (Call("change_todo", {"number": 2, "done": True}), "Change a to-do (which: “2. bread”; done: yes)?"),
        (
            Call("change_reminder", {"number": 1, "when": "in 9 days"}),
            "Change a reminder (which: “1. pills: on Monday, ",
        ),
    ],
)
async def test_a_change_names_what_is_changed(chat: Chat, call: Call, question: str) -> None:
    """Not its number alone, by which nobody can tell what it is."""
    chat.now = lambda: 1_790_000_000.0
    note = [
        Call("add_todos", {"items": ["milk", "bread"]}),
        Call("add_reminder", {"when": "in 1 hour", "text": "pills"}),
    ]
    chat.expects(supervisor=PLAN, planner=[note, "Noted.", call])
    await chat.says("note it", id="1")
    await chat.says("What a letter!", source=FORWARDED)
    [asked] = [event for event in chat.events if isinstance(event, Interrupt)]
    assert question in asked.prompt


async def test_a_question_about_much_is_short(chat: Chat) -> None:
    """It says how much more there is than it names, and every entry that it names is short."""
    items = [f"{number} {'x' * 490}" for number in range(1, 51)]
    everything = Call("delete_todos", {"numbers": [*range(1, 51)]})
    chat.expects(supervisor=PLAN, planner=[Call("add_todos", {"items": items}), "Noted.", everything])
    await chat.says("note it", "please take all of that off my list")
    [asked] = [event for event in chat.events if isinstance(event, Interrupt)]
    assert len(asked.prompt) < 2_100
    assert "Delete from your list (50): 1. 1 xxx" in asked.prompt
    assert asked.prompt.endswith("… (+30)?")


@pytest.mark.parametrize("answer", ["No, thank you so much", "нет, не надо, спасибо", "不要，谢谢"])
async def test_a_polite_no_is_one(chat: Chat, answer: str) -> None:
    """Thanks beside it change nothing, and the question is not put again."""
    await asked_to_delete(chat)
    chat.expects(planner=["Then not."])
    assert (await chat.says(answer)).endswith("planner: Then not.")
    assert (await chat.state())["pending"] == []
    assert len(await todos(chat)) == 2


@pytest.mark.parametrize("answer", ["Yes, and put eggs on it then", "Да, и запиши яйца", "好的，另外记下鸡蛋"])
async def test_a_yes_with_a_wish_is_both(chat: Chat, answer: str) -> None:
    """The call is done, and then the dialog hears the message, which is asked nothing again."""
    await asked_to_delete(chat)
    chat.expects(planner=[Call("add_todos", {"items": ["eggs"]}), "Both are off, and eggs are on."])
    trace = await chat.says(answer)

    assert trace.endswith("planner.add_todos(items=['eggs']) = 3. eggs\nplanner: Both are off, and eggs are on.")
    assert await todos(chat) == {3: ("eggs", False)}
    heard = [call for call in chat.script.asked if call.role == "planner"][-2].messages[-1]
    assert answer in heard.text


@pytest.mark.parametrize(
    "answer",
    [
        *("yes, but keep the bread", "yes and no"),
        # What points at what was asked, changes it or shares a thing with it may be about the same call.
        *("yes, and make it the eggs", "yes, and keep the bread", "да, и сделай это завтра", "好，然后改成鸡蛋"),
        # Who trails off has not made up their mind.
        *("yes...", "嗯……"),
    ],
)
async def test_a_yes_that_is_narrowed_down_is_none(chat: Chat, answer: str) -> None:
    """Nothing is done; the dialog hears what was said."""
    await asked_to_delete(chat)
    before = await todos(chat)
    chat.expects(planner=["Only the milk, then?"], observer=["stay"])
    await chat.says(answer)
    chat.script.queues.clear()
    assert await todos(chat) == before
