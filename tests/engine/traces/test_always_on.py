"""Observers that are always on: they watch every dialog and the supervisor; binding verdicts; calls for a person."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.conversation.gate import Guess
from agents.conversation.scene import Scene
from agents.state.verdict import STAY, Verdict
from app.testing import Chat, told
from app.testing.script import Call
from observers import Observer, watched
from tests.support.shop_tools import with_shop

pytestmark = pytest.mark.needs("profile", "planner")
BEGIN = Call("get_acquainted", {"brief": "-"})
Check = Callable[[Scene], Verdict]


@pytest.fixture
def seen() -> list[tuple[str, str]]:
    """The observer's views: the holder of the conversation, and the user's words."""
    return []


def watching(chat: Chat, seen: list[tuple[str, str]], verdict: Callable[[str], Verdict], **more: object) -> None:
    """Add an observer that is always on, and asks no model."""

    async def check(scene: Scene) -> Verdict:
        seen.append((scene.dialog, scene.text))
        return verdict(scene.text)

    fields: dict[str, object] = {"pre_check": check, "always": "everywhere", **more}
    chat.observers = {**chat.observers, "safety": Observer(**fields)}  # type: ignore[arg-type]  # passed through
    chat.speakers = watched(chat.speakers, chat.observers)
    chat.gate = lambda scene: Guess(0.0, "nothing leaves")


def stays(text: str) -> Verdict:
    """Vote to stay."""
    return STAY


async def test_it_sees_what_the_gate_spares_others(chat: Chat, seen: list[tuple[str, str]]) -> None:
    """It is asked with the supervisor, at a handoff and for an answer that fits; it adds no call of a model."""
    watching(chat, seen, stays)
    chat.expects(supervisor=["Hello."], profile=["What do you do?", "Well.", "Fine."])
    await chat.says("hi", "get to know me", "a nurse", "in a clinic")
    assert seen == [("supervisor", "hi"), *(("profile", text) for text in ("get to know me", "a nurse", "in a clinic"))]
    assert [call.role for call in chat.script.asked] == ["supervisor", "profile", "profile", "profile"]


async def test_one_that_asks_a_model_costs_one_call_a_turn(chat: Chat, seen: list[tuple[str, str]]) -> None:
    """An observer with a question costs one call beside the answer, in every turn; its own test saves the call."""

    async def ask(scene: Scene) -> Verdict:
        await scene.ask(words=["stay"], description="", helpers="-", tools="-", dialog="-", reply="-")
        return STAY

    watching(chat, seen, stays)
    supervisor = chat.observers["supervisor"]
    loud = Observer(pre_check=ask, always="everywhere", when=lambda scene: "!" in scene.text)
    chat.observers = {**chat.observers, "supervisor": replace(supervisor, pre_check=ask, always="everywhere")}
    chat.speakers = watched(chat.speakers, chat.observers)
    chat.expects(supervisor=["Hello.", "Yes."], observer=["stay", "stay"])
    await chat.says("hi", "again")
    assert sorted(call.role for call in chat.script.asked) == ["observer"] * 2 + ["supervisor"] * 2
    chat.observers = {**chat.observers, "supervisor": loud}
    chat.expects(supervisor=["Quiet.", "Loud."], observer=["stay"])
    await chat.says("hm", "hm!")
    assert [call.role for call in chat.script.asked].count("observer") == 3


async def test_the_gate_may_spare_it_where_it_allows_that(chat: Chat, seen: list[tuple[str, str]]) -> None:
    """One that is `spared` is asked as those that a dialog names: not where the gate is sure."""
    watching(chat, seen, stays, spared=True)
    chat.expects(profile=["Tell me of you.", "Well.", "Fine."], observer=["stay"])
    await chat.says("get to know me", "a nurse")
    assert seen == []
    chat.gate = lambda scene: Guess(0.5, "perhaps")
    await chat.says("Something with many patients")
    assert seen == [("profile", "Something with many patients")]


@pytest.mark.parametrize("binding", [True, False])
async def test_a_binding_verdict_goes_straight_to_the_dialog(
    chat: Chat, seen: list[tuple[str, str]], binding: bool
) -> None:
    """If the supervisor's model decides on switches, a binding verdict needs no call of it."""
    chat.settings = chat.settings.model_copy(update={"direct_switch": False})
    verdict = Verdict("switch", "planner", "lists are elsewhere", binding=binding)
    watching(chat, seen, lambda text: verdict if "list" in text else STAY, always="dialogs")
    again = [] if binding else [Call("plan_things", {"brief": "a list"})]
    chat.expects(
        supervisor=[BEGIN, *again],
        profile=["What do you do?"],
        planner=["What shall I put on it?"],
    )
    trace = await chat.says("hello there", "some list of mine is what we need")
    assert trace.endswith("planner: What shall I put on it?")
    assert trace.count("safety (observer): switch -> planner") == 1
    assert [call.role for call in chat.script.asked].count("supervisor") == 1 + len(again)
    assert (await chat.state())["paused"] == ["profile"]


async def test_it_takes_the_supervisors_draft_back(chat: Chat, seen: list[tuple[str, str]]) -> None:
    """Over the supervisor it sends a message to a dialog; "to the supervisor" and "finished" change nothing there."""
    verdicts = {"a list": Verdict("switch", "planner", "-", binding=True), "home": Verdict("supervisor")}
    watching(chat, seen, lambda text: next((it for word, it in verdicts.items() if word in text), STAY))
    chat.expects(planner=["What shall I put on it?"])
    assert await chat.says("a list of what I need now") == told("""
        user: a list of what I need now
        safety (observer): switch -> planner
        supervisor -> planner
        planner: What shall I put on it?""")
    assert (await chat.state())["dialog"] == "planner"
    chat.expects(supervisor=["Here I am."])
    assert (await chat.says("my home is far", thread="ben")).endswith("supervisor: Here I am.")


async def test_what_a_tool_alone_would_hear(chat: Chat, seen: list[tuple[str, str]]) -> None:
    """Words that meet an observer's own test are no answer to a tool's question; ways out stay free."""
    watching(chat, seen, lambda text: Verdict("person", reason="in danger"), when=lambda scene: "hurt" in scene.text)
    chat.speakers = watched(with_shop(chat.speakers), chat.observers)
    ask = Call("ask_address", {})
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"})], planner=[ask, "Please call for help.", ask])
    trace = await chat.says("fetch it please", "street: I will hurt myself", "fetch it please", "stop")
    assert [text for _, text in seen] == ["street: I will hurt myself"]
    assert "safety (observer): person" in trace
    assert "planner: Please call for help." in trace
