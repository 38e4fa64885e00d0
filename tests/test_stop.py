"""An answer that is stopped: what was shown is what is kept, and the conversation goes on."""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal

import pytest
from langchain_core.messages import ToolMessage

from agents.events import DialogChanged, Event, Message, ModelStart, Token, ToolEnd, ToolStart, TurnEnd, TurnStart
from agents.models.script import Call, Script
from agents.tools.todos import list_todos
from app.assistant import Assistant, Turn
from tests.driver import ROOT
from tests.provider import Provider, words
from tests.staging import ROLES, THREAD, Gate, Planner, open_calls, play, said, script_lines, stage, todos, values

MANY = " ".join(f"word{number}" for number in range(300))
PLAN = Call("plan_things", {"brief": "to-dos"})


@pytest.fixture
def script() -> Script:
    """Lay out what the models say."""
    return Script()


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models."""
    async with stage(tmp_path / "stop.db", script.models(ROLES)) as opened:
        yield opened


async def play_until(
    assistant: Assistant, text: str, when: Callable[[Event], bool], message_id: str | None = None
) -> list[Event]:
    """Play a message and stop it at the first event that `when` is true of; return all that happened."""
    events: list[Event] = []
    named = {"id": message_id} if message_id else {}
    async for event in assistant.play(Turn(thread=THREAD, text=text, **named)):
        if not any(map(when, events)) and when(event):
            assert await assistant.stop(THREAD)
        events.append(event)
    assert any(map(when, events))
    assert isinstance(events[-1], TurnEnd)
    return events


def messages(events: list[Event]) -> list[tuple[str, str, bool]]:
    """Return who said what to the user, and whether it was interrupted."""
    return [(event.speaker, event.text, event.interrupted) for event in events if isinstance(event, Message)]


def word(text: str) -> Callable[[Event], bool]:
    """Recognise a piece of an answer."""
    return lambda event: isinstance(event, Token) and event.text.strip() == text


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


async def test_the_model_sees_its_partial_answer(assistant: Assistant, script: Script) -> None:
    """After a stop the next turn works, and the model reads what it had said so far."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four", "Gladly."])
    await play_until(assistant, "count", word("two"))
    del script.gates["supervisor"]
    assert said(await play(assistant, "go on")) == ["Gladly."]
    heard = [message.text for message in script.asked[-1].messages if message.type != "system"]
    assert heard == ["count", "One two", "go on"]
    assert (await values(assistant))["turn"] == 2


async def test_a_stopped_message_sent_again_is_not_answered_again(assistant: Assistant, script: Script) -> None:
    """The outcome of a stopped message is what was shown; the same id repeats it and asks no model."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["One two"])
    await play_until(assistant, "count", word("One"), "m")
    assert messages(await play(assistant, "count", "m")) == [("supervisor", "One", True)]
    assert len(script.asked) == 1


async def test_a_dialog_that_is_stopped_keeps_the_conversation(assistant: Assistant, script: Script) -> None:
    """A stop ends the answer, not the dialog: it hears the next message and sees what it had said."""
    script.gates["planner"] = Gate(1)
    script.add(supervisor=[PLAN], planner=["What shall I put down?", "Noted."])
    await play_until(assistant, "my to-dos", word("shall"))
    assert await script_lines(assistant) == ["user: my to-dos", "planner: What shall ^C"]
    assert (await values(assistant))["dialog"] == "planner"
    del script.gates["planner"]
    script.add(observer=["stay"])
    events = await play(assistant, "milk please")
    assert messages(events) == [("planner", "Noted.", False)]
    heard = [message.text for message in script.asked[-1].messages if message.type != "system"]
    assert heard[-2:] == ["What shall", "milk please"]


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
    heard = [message.text for message in script.asked[-1].messages if message.type == "human"]
    assert heard == ["put down milk", "well?"]


async def test_a_tool_that_is_stopped_leaves_no_open_call(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop during a tool answers its call, so that no provider refuses the history."""

    async def never(**_: object) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(list_todos, "coroutine", never)
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
    heard = [message.text for message in script.asked[-1].messages if message.type == "human"]
    assert heard == ["hi", "hi again", "now?"]
    assert [event.turn for event in (first[-1], second[-1])] == [1, 2]


async def test_a_stop_after_the_answer_takes_nothing_back(assistant: Assistant, script: Script) -> None:
    """What was answered in full is not marked as interrupted by a stop that comes too late."""
    script.add(supervisor=["One two"])
    events = await play_until(assistant, "count", lambda event: isinstance(event, Message))
    assert messages(events) == [("supervisor", "One two", False)]
    assert await script_lines(assistant) == ["user: count", "supervisor: One two"]
    script.add(supervisor=["Three"])
    await play(assistant, "go on")
    heard = [message.text for message in script.asked[-1].messages if message.type != "system"]
    assert heard == ["count", "One two", "go on"]


async def test_there_is_nothing_to_stop_between_turns(assistant: Assistant, script: Script) -> None:
    """A stop without a running answer says so and does nothing to the next one."""
    assert not await assistant.stop(THREAD)
    script.add(supervisor=["One two"])
    assert said(await play(assistant, "count")) == ["One two"]
    assert not await assistant.stop(THREAD)


async def test_a_draft_that_was_held_back_was_not_shown(assistant: Assistant, script: Script) -> None:
    """While the observers still vote nothing is on the screen, so a stop keeps nothing of the draft."""
    script.add(supervisor=[PLAN], planner=["I listen.", "One two", "Fine."], observer=["stay", "stay"])
    await play(assistant, "my to-dos")
    script.delays["observer"] = 30
    drafted = asyncio.Event()
    script.gates["planner"] = Drafted(drafted)
    playing = asyncio.ensure_future(play(assistant, "put down milk and bread", "m"))
    await drafted.wait()
    assert await assistant.stop(THREAD)
    assert messages(await playing) == [("planner", "", True)]
    script.delays.clear()
    script.gates.clear()
    await play(assistant, "well?")
    heard = [message.text for message in script.asked[-1].messages if message.type in ("human", "ai")]
    assert heard[-3:] == ["I listen.", "put down milk and bread", "well?"]


class Drafted(Gate):
    """A gate that tells when a first piece came to it."""

    def __init__(self, told: asyncio.Event) -> None:
        super().__init__(0)
        self._told = told

    async def wait(self) -> Literal[True]:
        """Tell, and wait."""
        self._told.set()
        return await super().wait()


async def test_whoever_stops_reading_is_answered_by_the_next_turn(assistant: Assistant, script: Script) -> None:
    """A consumer that abandons the turn ends it; the next play of the thread answers its message first."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two", "Three four", "Five six"])
    async for event in assistant.play(Turn(thread=THREAD, text="count", id="lost")):
        if word("two")(event):
            break
    del script.gates["supervisor"]
    events = await play(assistant, "go on", "next")
    assert [event.text for event in events if isinstance(event, TurnStart)] == ["count", "go on"]
    assert await script_lines(assistant) == [
        "user: count",
        "supervisor: Three four",
        "user: go on",
        "supervisor: Five six",
    ]
    assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 2, 2]


@pytest.mark.parametrize("when", [TurnStart, ModelStart, Token, ToolStart, ToolEnd, Message, DialogChanged, TurnEnd])
async def test_a_closed_turn_can_be_played_again_at_once(tmp_path: Path, when: type[Event]) -> None:
    """Wherever a turn is closed, the same message finds the thread free, and its to-do is written once."""
    turn = Turn(thread=THREAD, text="put down milk", id="m")
    async with stage(tmp_path / "closed.db", Planner().models(ROLES)) as assistant:
        playing = assistant.play(turn)
        async for event in playing:
            if isinstance(event, when):
                break
        await playing.aclose()
        events = [event async for event in assistant.play(turn)]
        assert said(events) == ["Well.", "Noted."]
        assert await todos(assistant) == ["put down milk"]
        assert await open_calls(assistant) == []
        lines = await script_lines(assistant)
        assert lines == ["user: put down milk", "planner: Well.", "planner: Noted."]
        assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 1]
        assert not await assistant.stop(THREAD)


async def test_a_closed_turn_is_over_before_the_thread_is_free(assistant: Assistant, script: Script) -> None:
    """When closing a turn returns, nothing of it runs any more that could meet the next one."""
    script.gates["supervisor"] = reluctant = Reluctant(1)
    script.add(supervisor=["One two"])
    playing = assistant.play(Turn(thread=THREAD, text="count"))
    async for event in playing:
        if word("two")(event):
            break
    await playing.aclose()
    assert reluctant.over


class Reluctant(Gate):
    """A gate that takes its time to end when it is cancelled."""

    over = False

    async def wait(self) -> Literal[True]:
        """Wait; end slowly."""
        try:
            return await super().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            self.over = True
            raise


async def ask(server: Provider, folder: Path, *command: str) -> Process:
    """Start `python -m app ask` with the model behind `server`."""
    known = {
        "LLM_MODEL": "openai:m",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "key",
        "DATABASE_URL": f"sqlite:///{folder}/talk.db",
        "APP_LANG": "en",
    }
    arguments = ["-m", "app", "ask", *command, "--thread", THREAD]
    env = {**os.environ, **known}
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, env=env, stdout=PIPE, stderr=PIPE)


async def ended(process: Process) -> tuple[int | None, str, str]:
    """Wait for a process; return its exit code and what it said on stdout and stderr."""
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.slow
async def test_ctrl_c_in_mid_answer(tmp_path: Path, script: Script) -> None:
    """Ctrl-C of `ask` prints and stores what had come of the answer; the next `ask` goes on from there."""
    async with Provider.open(words(MANY), words("Gladly."), pace=0.02) as server:
        process = await ask(server, tmp_path, "count")
        await server.has_sent(40)
        process.send_signal(signal.SIGINT)
        code, out, err = await ended(process)
        assert (code, err) == (130, "⏹ stopped\n")
        partial = out.removesuffix("\n")
        assert partial.startswith("word0 word1 ")
        assert MANY.startswith(partial)
        assert len(partial) < len(MANY)
        async with stage(tmp_path / "talk.db", script.models(ROLES)) as assistant:
            assert await script_lines(assistant) == ["user: count", f"supervisor: {partial} ^C"]
            assert (await assistant.history(THREAD))[-1].metadata["interrupted"] is True
        assert await ended(await ask(server, tmp_path, "go on")) == (0, "Gladly.\n", "")
        heard = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] != "system"]
        assert heard == ["count", partial, "go on"]


@pytest.mark.slow
async def test_ctrl_c_in_mid_answer_as_json(tmp_path: Path) -> None:
    """With --json the message that ends a stopped answer holds exactly the tokens told before it."""
    async with Provider.open(words(MANY), pace=0.02) as server:
        process = await ask(server, tmp_path, "count", "--json")
        assert process.stdout is not None
        told = ""
        while '"token"' not in told:
            told += (await process.stdout.readline()).decode()
        process.send_signal(signal.SIGINT)
        code, out, err = await ended(process)
    events = [json.loads(line) for line in (told + out).splitlines()]
    assert (code, err) == (130, "")
    assert [event["type"] for event in events[-2:]] == ["message", "turn.end"]
    assert events[-2]["interrupted"] is True
    assert events[-2]["text"] == "".join(event["text"] for event in events if event["type"] == "token")


@pytest.mark.slow
async def test_ctrl_c_before_the_first_word(tmp_path: Path, script: Script) -> None:
    """Ctrl-C while the model still thinks leaves an empty answer and a thread that goes on."""
    async with Provider.open(words(MANY), words("Gladly."), pace=1) as server:
        process = await ask(server, tmp_path, "count")
        await server.has_sent(1)
        process.send_signal(signal.SIGINT)
        assert await ended(process) == (130, "", "⏹ stopped\n")
        async with stage(tmp_path / "talk.db", script.models(ROLES)) as assistant:
            assert await script_lines(assistant) == ["user: count", "supervisor:  ^C"]
        server.pace = 0
        assert await ended(await ask(server, tmp_path, "go on")) == (0, "Gladly.\n", "")
