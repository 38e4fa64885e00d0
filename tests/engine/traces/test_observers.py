"""Observers after an answer, while the user already reads it."""

import sqlite3
from contextlib import closing

import pytest

from agents.conversation.gate import Guess
from agents.events import Message, Observed
from agents.models import Model, Models
from app.testing import Chat
from app.testing.script import Call, ScriptModel

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})
FULL = {"experience": "nurse", "skills": ["first aid"], "interests": ["hiking"], "work": "in a clinic"}


async def test_a_reached_goal_ends_the_dialog(chat: Chat) -> None:
    """When the form is complete and nothing is asked, the finished-observer may end the dialog."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", Call("fill_form", FULL), "Now I know you."],
        observer=["yes"],
    )
    trace = await chat.says("Hi", "A nurse")

    assert trace.endswith("profile: Now I know you.\nfinished (observer): finished\nprofile -> supervisor")
    assert (await chat.state())["is_active"]


async def test_post_checks_do_not_delay_the_answer(chat: Chat) -> None:
    """The answer is out before a post-check has begun."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", "A fine plan."],
        observer=["stay", '{"intent": "a job as a nurse"}'],
    )
    await chat.says("Hi", "Looking for a job")

    order = [type(event) for event in chat.events if isinstance(event, Message | Observed)]
    assert order[-2:] == [Message, Observed]


async def test_an_observer_reads_the_end_of_a_long_answer(chat: Chat) -> None:
    """An observer reads a bounded end of an answer: the last question, or the last 400 characters."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    posts = " ".join(f"Post {number} pays {number} euros more." for number in range(60))
    answers = [f"{posts} Which ward were you on?", f"{posts} That is all."]
    chat.expects(supervisor=[BEGIN], profile=[*answers, "I see."], observer=["stay", "stay"])
    await chat.says("Hi", "Intensive care", "For eleven years")

    question, statement = [call.messages[1].text for call in chat.script.asked if call.role == "observer"]
    assert "It said last: Which ward were you on?" in question
    assert "That is all." in statement
    assert "Post 40 pays" not in statement


async def test_votes_that_stay_cost_no_step(chat: Chat) -> None:
    """A dialog that drafts counts the votes itself: a watched turn has input, start, `route` and answer."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "Which one?"], observer=["stay"])
    await chat.says("Hi")
    before = steps(chat)
    await chat.says("Something with many patients")

    assert steps(chat) - before == 4


def steps(chat: Chat) -> int:
    """Return the number of a thread's checkpoints so far: LangGraph numbers its steps."""
    with closing(sqlite3.connect(chat.path)) as database:
        [(last,)] = database.execute("SELECT max(json_extract(CAST(metadata AS TEXT), '$.step')) FROM checkpoints")
    return int(last)


@pytest.mark.parametrize(("slots", "is_shared"), [(1, True), (4, False), (None, False)])
async def test_on_a_server_of_one_prompt_an_observer_asks_behind_the_dialogs(
    chat: Chat, slots: int | None, is_shared: bool
) -> None:
    """Its prompt is the dialog's own, tools included, with the question behind it; so neither costs the other's."""
    roles = ("supervisor", "observer", "profile")
    habits = {} if slots is None else {"slots": float(slots)}
    models = {role: Model("tiny", ScriptModel(role=role, script=chat.script), habits=habits) for role in roles}
    chat.models = Models(default=models["supervisor"], roles=models)
    chat.now = lambda: 0.0
    chat.expects(supervisor=[BEGIN], profile=["Tell me what you do.", "A fine trade."], observer=["stay"])
    trace = await chat.says("Hi", "By the way, my sister is a nurse in a clinic")

    assert "profile: A fine trade." in trace
    [observer] = [call for call in chat.script.asked if call.role == "observer"]
    *_, dialog = (call for call in chat.script.asked if call.role == "profile")
    assert (observer.prefix.startswith(dialog.prefix), bool(observer.tools)) == (is_shared, is_shared)
    question = observer.messages[-1].text.removeprefix(dialog.messages[-1].text)
    assert ("Neither answer" in question) == is_shared
    # What was said stands in the dialog's own prompt; in a system message nobody's words may stand.
    assert ("It said last: see above" in question, "Tell me what you do." in question) == (is_shared, not is_shared)
    assert "Answer with one of these" in (question if is_shared else observer.messages[0].text)


async def test_a_call_in_place_of_a_vote_changes_nothing(chat: Chat) -> None:
    """A weak model that is asked behind the dialog's prompt may call its tools: nothing runs, and the dialog stays."""
    roles = ("supervisor", "observer", "profile")
    models = {role: Model("tiny", ScriptModel(role=role, script=chat.script), habits={"slots": 1}) for role in roles}
    chat.models = Models(default=models["supervisor"], roles=models)
    chat.expects(supervisor=[BEGIN], profile=["Tell me what you do.", "A fine trade."])
    chat.expects(observer=[Call("fill_form", FULL)])
    trace = await chat.says("Hi", "By the way, my sister is a nurse in a clinic")

    assert trace.endswith("profile: A fine trade.")
    assert "fill_form" not in trace
    assert (await chat.state())["talks"]["profile"].get("form", {}) == {}
