"""A stop at any place keeps exactly the shown part of an answer."""

import asyncio
import time
from typing import Any, Literal

import pytest
from langchain_core.messages import ToolMessage

from agents.events import Error, Message, Observed, ToolEnd, ToolStart, TurnStart
from agents.events.views import Notice
from app.assistant import Assistant, Turn
from app.testing.script import Call, Script
from prompts import phrase
from tests.support.scripted_assistant import THREAD, Gate, open_calls, play, said, script_lines, values
from tests.support.simulated_time import rounds
from tests.support.stops import PLAN, messages, play_until, word
from tests.support.user_words import spoken, user_words

pytestmark = pytest.mark.needs("profile")


async def test_what_was_shown_is_what_is_kept(assistant: Assistant, script: Script) -> None:
    """A stopped answer ends with exactly the words that were shown, and the transcript marks it."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    before = time.time_ns() // 1_000_000
    events = await play_until(assistant, "count", word("two"))
    assert messages(events) == [("supervisor", "One two", True)]
    assert await script_lines(assistant) == ["user: count", "supervisor: One two ^C"]
    stopped = (await assistant.history(THREAD))[-1].metadata
    assert stopped["interrupted"] is True
    assert before <= stopped["interrupt_timestamp"] <= time.time_ns() // 1_000_000


async def test_a_stop_before_the_first_step_ends_the_turn(assistant: Assistant, script: Script) -> None:
    """A stop that comes when the graph has not begun yet leaves nobody waiting, and the next turn works."""
    script.add(supervisor=["Gladly."])
    async with asyncio.timeout(120):
        async for event in assistant.play(Turn(thread=THREAD, text="count", id="m")):
            if isinstance(event, TurnStart):
                # It runs as soon as the turn waits for the graph.
                stop = asyncio.create_task(assistant.stop(THREAD))
    assert await stop
    assert said(await play(assistant, "go on")) == ["Gladly."]
    lines = ["user: count", "supervisor:  ^C", "user: go on", "supervisor: Gladly."]
    assert await script_lines(assistant) == lines


async def test_a_stopped_message_sent_again_is_not_answered_again(assistant: Assistant, script: Script) -> None:
    """The outcome of a stopped message is what was shown; the same id repeats it and asks no model."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["One two"])
    await play_until(assistant, "count", word("One"), "m")
    assert messages(await play(assistant, "count", "m")) == [("supervisor", "One", True)]
    assert len(script.asked) == 1


@pytest.mark.needs("planner")
async def test_a_dialog_that_is_stopped_keeps_the_conversation(assistant: Assistant, script: Script) -> None:
    """A stop ends the answer, not the dialog: it hears the next message and sees what it had said."""
    script.gates["planner"] = Gate(1)
    script.add(supervisor=[PLAN], planner=["What shall I put down?", "Noted."])
    await play_until(assistant, "something for the week", word("shall"))
    assert await script_lines(assistant) == ["user: something for the week", "planner: What shall ^C"]
    assert (await values(assistant))["dialog"] == "planner"
    del script.gates["planner"]
    script.add(observer=["stay"])
    events = await play(assistant, "milk please")
    assert messages(events) == [("planner", "Noted.", False)]
    heard = spoken(script.asked[-1].messages)
    assert heard[-2:] == ["What shall", "milk please"]


@pytest.mark.needs("planner")
async def test_a_dialog_that_is_stopped_in_its_first_step_has_begun(assistant: Assistant, script: Script) -> None:
    """The handoff to it is kept as if its step had come to its end: the next message is the dialog's."""
    script.gates["planner"] = Gate(1)
    script.add(planner=["What shall I put down?", "Noted."], observer=["stay"])
    await play_until(assistant, "Start a to-do list", word("shall"))
    state = await values(assistant)
    assert (state["dialog"], state["is_active"], state["turn"]) == ("planner", False, 1)
    assert [message.text for message in state["talks"]["planner"]["messages"][1:]] == [
        "Start a to-do list",
        "What shall",
    ]
    assert await open_calls(assistant) == []
    del script.gates["planner"]
    assert messages(await play(assistant, "milk please")) == [("planner", "Noted.", False)]
    assert (await values(assistant))["turn"] == 2


@pytest.mark.needs("planner")
async def test_a_dialog_that_fails_in_its_first_step_has_begun(assistant: Assistant, script: Script) -> None:
    """The same message tries again from the dialog; the turn has its number, and nothing is decided anew."""
    events = await play(assistant, "Start a to-do list", "m")
    assert [event.code for event in events if isinstance(event, Error)] == ["internal"]
    state = await values(assistant)
    assert (state["dialog"], state["turn"]) == ("planner", 1)
    script.add(planner=["What shall I put down?"])
    events = await play(assistant, "Start a to-do list", "m")
    assert messages(events) == [("planner", "What shall I put down?", False)]
    assert [event for event in events if isinstance(event, Observed)] == []
    assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 1]


async def test_an_ordinary_turn_is_one_checkpoint(assistant: Assistant, script: Script) -> None:
    """A kill makes a turn again from the inbox until its first answer of a model, so nothing is stored before that."""
    script.add(supervisor=["Hello.", "Gladly."])
    for number, text in enumerate(("hello", "well, well"), 1):
        await play(assistant, text)
        stored = [checkpoint async for checkpoint in assistant.memory.saver.alist(None)]
        assert len(stored) == number


@pytest.mark.needs("planner")
async def test_a_dialog_stopped_before_its_first_word_still_knows_the_message(
    assistant: Assistant, script: Script
) -> None:
    """When the supervisor spoke before it handed over, a stop leaves the message with the dialog."""
    script.delays["planner"] = 30
    script.add(supervisor=[["Just a moment.", PLAN]], planner=["never heard", "Noted."])
    events = await play_until(assistant, "put down milk", lambda event: str(event) == "planner asks script:planner")
    assert messages(events) == [("supervisor", "Just a moment.", False), ("planner", "", True)]
    script.delays.clear()
    script.add(observer=["stay"])
    await play(assistant, "well?")
    heard = user_words(script.asked[-1].messages)
    assert heard == ["put down milk\n\nwell?"]


@pytest.mark.needs("planner")
async def test_a_tool_that_is_stopped_leaves_no_open_call(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop during a tool answers its call, so that no provider refuses the history."""

    async def never(*_: object) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr("dialogs.planner.tools.todos.Todos.stored", never)
    script.add(supervisor=[PLAN], planner=[["Let me look.", Call("list_todos")], "Go on."])
    events = await play_until(assistant, "what is there?", lambda event: isinstance(event, ToolStart))
    assert messages(events) == [("planner", "Let me look.", False), ("planner", "", True)]
    assert await open_calls(assistant) == []
    script.add(observer=["stay"])
    assert said(await play(assistant, "and now?")) == ["Go on."]
    answers = [message for message in script.asked[-1].messages if isinstance(message, ToolMessage)]
    assert [answer.status for answer in answers] == ["error"]


async def test_a_stop_at_the_very_beginning_asks_no_model(assistant: Assistant, script: Script) -> None:
    """A stop that comes before anything ran is heeded, in a new thread and in an old one."""
    script.add(supervisor=["Hello."])
    first = await play_until(assistant, "hi", lambda event: isinstance(event, TurnStart))
    assert messages(first) == [("supervisor", "", True)]
    second = await play_until(assistant, "hi again", lambda event: isinstance(event, TurnStart))
    assert messages(second) == [("supervisor", "", True)]
    assert script.asked == []
    assert said(await play(assistant, "now?")) == ["Hello."]
    heard = user_words(script.asked[-1].messages)
    assert heard == ["hi\n\nhi again\n\nnow?"]
    assert [event.turn for event in (first[-1], second[-1])] == [1, 2]


async def test_what_a_stop_left_unanswered_is_told(assistant: Assistant, script: Script) -> None:
    """The next turn begins with each message that was stopped before a word was said, once; none that is said again."""
    script.add(supervisor=["Hello.", "Fine."])
    for text in ("add milk", "add bread"):
        await play_until(assistant, text, lambda event: isinstance(event, TurnStart))
    events = await play(assistant, "add bread")
    notice = phrase("left_unanswered", "en", text="add milk")
    assert [event.message for event in events if isinstance(event, Notice)] == [notice]
    assert [event for event in await play(assistant, "and you?") if isinstance(event, Notice)] == []


@pytest.mark.needs("planner")
async def test_what_was_begun_is_not_offered_as_undone(assistant: Assistant, script: Script) -> None:
    """After an introduction nothing shows that the stop came first; a write by then does not count as open."""
    script.add(
        supervisor=[PLAN],
        planner=[["Let me see.", Call("list_todos")], Call("add_todos", {"items": ["milk"]}), "On it."],
    )
    script.add(observer=["stay", "stay"])
    for text in ("what is there", "add milk"):
        await play_until(assistant, text, lambda event: isinstance(event, ToolEnd) and "todo" in event.tool)
    remarks = [event.message for event in await play(assistant, "and now?") if isinstance(event, Notice)]
    keys = {"left_unanswered": "what is there", "left_half_told": "add milk"}
    assert remarks == [phrase(key, "en", text=text) for key, text in keys.items()]


async def test_a_stop_after_the_answer_takes_nothing_back(assistant: Assistant, script: Script) -> None:
    """A stop that comes too late does not mark a full answer as interrupted."""
    script.add(supervisor=["One two"])
    events = await play_until(assistant, "count", lambda event: isinstance(event, Message))
    assert messages(events) == [("supervisor", "One two", False)]
    assert await script_lines(assistant) == ["user: count", "supervisor: One two"]
    script.add(supervisor=["Three"])
    await play(assistant, "go on")
    heard = spoken(script.asked[-1].messages)
    assert heard == ["count", "One two", "go on"]


@pytest.mark.needs("planner")
async def test_a_draft_that_was_held_back_was_not_shown(assistant: Assistant, script: Script) -> None:
    """While the observers still vote nothing is on the screen: the draft is no answer, only the original of one."""
    script.add(supervisor=[PLAN], planner=["I listen.", "One two", "Fine."], observer=["stay", "stay"])
    await play(assistant, "something for the week")
    script.delays["observer"] = 30
    drafted = asyncio.Event()
    script.gates["planner"] = Drafted(drafted)
    playing = asyncio.ensure_future(play(assistant, "put down milk and bread", "m"))
    await drafted.wait()
    assert await assistant.stop(THREAD)
    assert messages(await playing) == [("planner", "", True)]
    line = (await assistant.history(THREAD))[-1]
    assert (line.text, line.metadata["original"]) == ("", "One")
    script.delays.clear()
    script.gates.clear()
    await play(assistant, "well?")
    heard = spoken(script.asked[-1].messages)
    assert heard[-2:] == ["I listen.", "put down milk and bread\n\nwell?"]


@pytest.mark.needs("planner")
async def test_a_draft_that_was_dropped_is_nobodys_original(assistant: Assistant, script: Script) -> None:
    """A switch drops the draft; the answer of whoever takes over has nothing of it."""
    script.add(supervisor=[PLAN], planner=["I listen.", "One two"], observer=["profile"], profile=["Gladly."])
    await play(assistant, "something for the week")
    script.gates["profile"] = Gate(0)
    await play_until(assistant, "write down what I do instead", word("Gladly."))
    line = (await assistant.history(THREAD))[-1]
    assert (line.speaker, line.text, line.metadata["original"].strip()) == ("profile", "Gladly.", "Gladly.")


class Drafted(Gate):
    """A gate that tells when a first piece came to it."""

    def __init__(self, drafted: asyncio.Event) -> None:
        super().__init__(0)
        self._drafted = drafted

    async def wait(self) -> Literal[True]:
        """Tell, and wait."""
        self._drafted.set()
        return await super().wait()


@pytest.mark.needs("planner")
async def test_what_is_shown_is_stored(assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is shown when its step is on disk: a model that is asked again after a kill says something else."""
    put = assistant.memory.saver.aput

    async def slow(*parts: Any) -> Any:
        await rounds(50)
        return await put(*parts)

    monkeypatch.setattr(assistant.memory.saver, "aput", slow)
    script.add(
        supervisor=["Hello.", ["Just a moment.", PLAN]], planner=[[Call("add_todos", {"items": ["milk"]})], "Noted."]
    )
    shown: list[str] = []
    for text in ("hello", "put down milk"):
        async for event in assistant.play(Turn(thread=THREAD, text=text)):
            if isinstance(event, Message):
                shown.append(event.text)
                assert event.text in [line["text"] for line in (await values(assistant))["said"]]
    assert shown == ["Hello.", "Just a moment.", "Noted."]
