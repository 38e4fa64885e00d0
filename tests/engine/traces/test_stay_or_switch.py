"""The reasons that the trace gives where a message stays, against a vote or without one (docs/stay-or-switch.md)."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from agents.conversation.gate import Guess
from agents.conversation.scene import Scene
from agents.events import Observed
from agents.state.person import FORWARDED
from agents.state.verdict import Verdict
from app.testing import Chat
from app.testing.script import Call, Line
from observers import Observer

pytestmark = pytest.mark.needs("profile", "planner", "orders", "player", "research")

MEET = Call("get_acquainted", {"brief": "-"})
PLAN = Call("plan_things", {"brief": "milk"})
LEAVING = "Something with many patients"


def reasons(chat: Chat, observer: str) -> list[tuple[str, str]]:
    """Return the verdicts that the last turns tell of an observer or a rule, each with its reason."""
    events = [event for event in chat.events if isinstance(event, Observed) and event.observer == observer]
    return [(event.verdict, event.reason) for event in events]


async def vote(chat: Chat, verdict: Verdict, text: str = LEAVING) -> None:
    """Let a dialog lead, and an observer vote on a message."""

    async def check(scene: Scene) -> Verdict:
        return verdict

    chat.observers = {**chat.observers, "supervisor": Observer(pre_check=check)}
    chat.gate = lambda scene: Guess(0.5, "perhaps")
    await chat.says("Hi, I have just joined", text)


@pytest.mark.parametrize(
    ("target", "kind", "reason"),
    [
        ("profile", "stay", "about work (names the dialog that leads)"),
        ("nobody", "supervisor", "about work (names no dialog)"),
    ],
)
async def test_a_vote_that_comes_to_something_else_says_so(chat: Chat, target: str, kind: str, reason: str) -> None:
    """A vote for the dialog itself is "stay", and one for an unknown name goes to the supervisor."""
    answer: dict[str, list[Line]] = {"profile": ["Fine."]} if kind == "stay" else {"supervisor": ["Well."]}
    chat.expects(supervisor=[MEET], profile=["What do you do?"])
    chat.expects(**answer)
    await vote(chat, Verdict("switch", target, "about work"))
    assert reasons(chat, "supervisor") == [(kind, reason)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Perhaps!", "the model answered with none of the words it was asked for"),
        ("stay", ""),
        (RuntimeError("broken"), "the observer failed (RuntimeError)"),
    ],
)
async def test_an_observer_without_a_vote_says_why(chat: Chat, line: Line, reason: str) -> None:
    """Words that are no vote, and a failure, count as "stay" and are told apart from one."""
    chat.gate = lambda scene: Guess(0.5, "perhaps")
    chat.expects(supervisor=[MEET], profile=["What do you do?", "Fine."], observer=[line])
    await chat.says("Hi, I have just joined", LEAVING)
    assert reasons(chat, "supervisor") == [("stay", reason)]


ODD: list[Any] = [
    asyncio.CancelledError(),
    Verdict("elsewhere"),  # type: ignore[arg-type]
    Verdict(reason=5),  # type: ignore[arg-type]
    None,
]


@pytest.mark.parametrize("vote", ODD, ids=repr)
async def test_whatever_an_observer_does_the_dialog_answers(chat: Chat, vote: Any) -> None:
    """An observer fails if it returns no vote, or if it ends the process or its task."""

    async def check(scene: Scene) -> Verdict:
        if isinstance(vote, BaseException):
            raise vote
        return cast(Verdict, vote)

    chat.observers = {**chat.observers, "supervisor": Observer(pre_check=check, when=lambda scene: True)}
    chat.expects(supervisor=[MEET], profile=["What do you do?", "Fine."])
    await chat.says("Hi, I have just joined", LEAVING)
    [(verdict, reason)] = reasons(chat, "supervisor")
    assert verdict == "stay"
    assert reason.startswith("the observer failed (")


async def test_an_observer_whose_test_fails_has_nothing_to_say(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """The message is the dialog's, before the answer and after it."""

    def when(scene: Scene) -> bool:
        raise KeyError(scene.text)

    async def check(scene: Scene) -> Verdict:
        return Verdict("finished")

    chat.observers = {**chat.observers, "supervisor": Observer(pre_check=check, post_check=check, when=when)}
    chat.expects(supervisor=[MEET], profile=["What do you do?", "Fine."])
    await chat.says("Hi, I have just joined", LEAVING)
    assert reasons(chat, "supervisor") == []
    assert f"{__name__}: the test of an observer failed: KeyError" in caplog.text


async def test_the_supervisor_in_place_of_the_dialog_is_told(chat: Chat) -> None:
    """With DIRECT_SWITCH off the verdict names a dialog, and the supervisor's model decides."""
    chat.settings = chat.settings.model_copy(update={"direct_switch": False})
    chat.expects(supervisor=[MEET, "Well."], profile=["What do you do?"])
    await vote(chat, Verdict("switch", "planner", "about milk"))
    assert reasons(chat, "verdict") == [("supervisor", "the supervisor's model decides (DIRECT_SWITCH=0)")]


async def test_a_queued_handoff_that_is_dropped_says_so(chat: Chat) -> None:
    """A message about something else declines the offer."""
    chat.expects(
        supervisor=[[MEET, PLAN], "A lovely day.", "A poem, then."], profile=["What do you do?"], observer=["other"]
    )
    await chat.says("My work, then milk on my list", "Is it not a lovely day today?", "Recite a poem by somebody")
    reason = "the queued handoff to planner is dropped: the user changes the subject"
    assert reasons(chat, "handoff") == [("stay", reason)]


async def test_the_oldest_of_too_many_paused_dialogs_says_that_it_ends(chat: Chat) -> None:
    """Each dialog is left by the name of the next one; the first is let go when one more is paused than may wait."""
    names = ["profile", "planner", "orders", "player", "research"]
    dialogs = {name: replace(dialog, resume="ask") for name, dialog in chat.speakers.dialogs.items()}
    chat.speakers = replace(chat.speakers, dialogs=dialogs)
    lines: dict[str, list[Line]] = {name: ["What is it?"] for name in names}
    chat.expects(**lines)
    await chat.says(*names)
    assert reasons(chat, "pause") == [("finished", "3 other dialogs are paused, and this one is the oldest")]


@pytest.mark.parametrize("leads", [True, False])
async def test_a_message_of_somebody_elses_says_that_no_rule_takes_it(chat: Chat, leads: bool) -> None:
    """A forwarded "stop" ends no dialog, whoever leads."""
    if leads:
        chat.expects(supervisor=[MEET], profile=["What do you do?", "I have read it."])
    else:
        chat.expects(supervisor=["Hello.", "I have read it."])
    await chat.says("Hi, I have just joined")
    await chat.says("stop", source=FORWARDED)
    assert reasons(chat, "foreign") == [("stay", "somebody else wrote it: no rule takes it, a model reads it")]


async def test_a_dialog_that_may_not_pass_a_message_on_says_why(chat: Chat) -> None:
    """After "no, go on" the dialog's own wish to give the message back is refused once."""
    chat.expects(
        supervisor=[MEET],
        profile=["What do you do?", Call("hand_back", {"wish": "about milk"}), "So, what do you do?"],
        observer=["planner"],
        planner=["Shall I put milk on the list?"],
    )
    trace = await chat.says("Hi, I have just joined", "Never mind that, it is milk", "No, go on")
    assert trace.endswith("supervisor -> profile\nprofile: So, what do you do?")
    assert reasons(chat, "profile") == [("stay", "the user has just taken a switch back")]
