"""The calls of one reply: in their order if any of them writes, side by side if all of them read."""

import asyncio
from collections.abc import Sequence

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from agents.events import ToolEnd
from agents.state.history import dangling
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, Option, choice
from agents.toolkit.traits import traits
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")
BEGIN: list[Line] = [Call("plan_things", {"brief": "see below"})]
BOOK: list[str] = []
"""The writes; tests empty the list."""
MEETING = asyncio.Barrier(2)


@traits(effect="write")
@tool
async def write(line: str) -> str:
    """Write a line."""
    BOOK.append(line)
    return f"{len(BOOK)} written"


@traits(effect="write", confirm="always")
@tool
async def sign(line: str) -> str:
    """Sign a line, once the user has agreed."""
    BOOK.append(line)
    return f"{line} is signed"


SEALED = {"Ann", "Bob"}
"""Whose letters nobody was asked about yet."""


async def _break_seal(args: Json, runtime: Runtime) -> str | None:
    """Ask about each seal once: by the next time there is nothing to be careful of."""
    was_sealed = args["name"] in SEALED
    SEALED.discard(args["name"])
    return f"break the seal of {args['name']}" if was_sealed else None


@traits(confirm="always", question=_break_seal)
@tool
async def open_letter(name: str) -> str:
    """Open a letter, once the user has agreed."""
    BOOK.append(name)
    return f"{name} is open"


@tool
async def read() -> str:
    """Read all lines."""
    return ", ".join(BOOK) or "nothing"


@tool
async def meet(name: str) -> str:
    """Come only when another one comes."""
    async with asyncio.timeout(120):
        await MEETING.wait()
    return f"{name} came"


@traits(kind="selector")
@tool(response_format="content_and_artifact")
async def choose_line(runtime: Runtime) -> Answer:
    """Let the user choose a line."""
    return choice("Which line?", [Option("first", "one"), Option("second", "two")])


TOOLS: Sequence[BaseTool] = [write, sign, open_letter, read, meet, choose_line]


@pytest.fixture(autouse=True)
def tools(chat: Chat) -> None:
    """Give the planner a few tools."""
    BOOK.clear()
    chat.speakers = changed(chat.speakers, "planner", tools=TOOLS)


def ended(chat: Chat) -> list[str]:
    """Return the results of the planner's calls, in the order in which they came."""
    return [event.object for event in chat.events if isinstance(event, ToolEnd) and event.speaker == "planner"]


async def test_a_read_behind_a_write_sees_it(chat: Chat) -> None:
    """A list that is asked for beside an entry has the entry."""
    calls = [Call("write", {"line": "milk"}), Call("read"), Call("write", {"line": "bread"}), Call("read")]
    chat.expects(supervisor=BEGIN, planner=[calls, "Both are there."])

    assert told("""
        user: milk and bread
        supervisor -> planner
        planner.write(line='milk') = 1 written
        planner.read() = milk
        planner.write(line='bread') = 2 written
        planner.read() = milk, bread
        planner: Both are there.
    """) == await chat.says("milk and bread")


@pytest.mark.needs("profile")
async def test_the_own_tools_see_each_other(chat: Chat) -> None:
    """A tool shows the form's values of the same reply."""
    fill, show = Call("fill_form", {"experience": "13 years of Go"}), Call("show_profile")
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "-"})], profile=[[fill, show], "Noted."])
    trace = await chat.says("13 years of Go; what do you have?")
    assert "13 years of Go" in next(line for line in trace.splitlines() if "show_profile" in line)


async def test_reads_alone_run_side_by_side(chat: Chat) -> None:
    """Each of two waits for the other."""
    chat.expects(supervisor=BEGIN, planner=[[Call("meet", {"name": "Ann"}), Call("meet", {"name": "Bob"})], "Both."])
    await chat.says("who comes?")
    assert sorted(ended(chat)) == ["Ann came", "Bob came"]


async def test_calls_behind_a_question_wait_for_a_yes(chat: Chat) -> None:
    """Nothing behind a question runs before its answer, and then all of it, once, in its order."""
    calls = [Call("write", {"line": "a"}), Call("sign", {"line": "b"}), Call("write", {"line": "c"}), Call("read")]
    chat.expects(supervisor=BEGIN, planner=[calls, "All done."])
    await chat.says("do it")
    assert (BOOK, ended(chat)) == (["a"], ["1 written"])

    assert told("""
        user: yes
        planner.sign(line='b') = b is signed
        planner.write(line='c') = 3 written
        planner.read() = a, b, c
        planner: All done.
    """) == await chat.says("yes")
    assert dangling(await chat.messages("planner")) == []


async def test_two_questions_are_asked_one_after_the_other(chat: Chat) -> None:
    """The second is put when what the first was about is done."""
    chat.expects(supervisor=BEGIN, planner=[[Call("sign", {"line": "a"}), Call("sign", {"line": "b"})], "Signed."])
    trace = await chat.says("sign both", "yes", "yes")
    assert BOOK == ["a", "b"]
    assert trace.index("a is signed") < trace.index("confirm: sign (line: “b”)?")


async def test_a_yes_covers_no_other_question_that_waits(chat: Chat) -> None:
    """Two reads ask side by side; the second question stays as it was put, whatever has changed meanwhile."""
    calls = [Call("open_letter", {"name": "Ann"}), Call("open_letter", {"name": "Bob"})]
    chat.expects(supervisor=BEGIN, planner=[calls, "Both are open."])
    trace = await chat.says("open both letters", "yes")
    assert (BOOK, trace.count("confirm: ")) == (["Ann"], 2)
    assert "Bob is open" in await chat.says("yes")


async def test_the_same_call_twice_in_a_reply_is_done_once(chat: Chat) -> None:
    """Also where the first one had to be asked for: the second is no other wish."""
    chat.expects(supervisor=BEGIN, planner=[[Call("sign", {"line": "a"}), Call("sign", {"line": "a"})], "Signed."])
    await chat.says("sign it", "yes")
    assert BOOK == ["a"]
    assert ended(chat)[1:] == [phrase("tool_repeated", "en", tool="sign")]


async def test_calls_behind_a_no_are_not_run(chat: Chat) -> None:
    """The later calls may rest on the refused one: the model reads that, and asks or calls again."""
    chat.expects(supervisor=BEGIN, planner=[[Call("sign", {"line": "a"}), Call("write", {"line": "b"})], "I left it."])
    await chat.says("do it", "no")
    assert BOOK == []
    results = [message.text for message in await chat.messages("planner") if isinstance(message, ToolMessage)]
    assert sorted(results) == sorted([phrase("confirm_refused", "en", tool="sign"), phrase("call_behind", "en")])


async def test_calls_behind_a_question_that_is_left_are_not_run(chat: Chat) -> None:
    """A change of subject is no agreement, and no call stays without a result."""
    chat.expects(supervisor=BEGIN, planner=[[Call("sign", {"line": "a"}), Call("write", {"line": "b"})], "It is far."])
    chat.expects(observer=["stay"])
    await chat.says("do it", "how far is the station from where we are now?")
    assert BOOK == []
    assert dangling(await chat.messages("planner")) == []
    assert (await chat.state())["pending"] == []


async def test_calls_behind_a_choice_run_once_it_is_made(chat: Chat) -> None:
    """A write beside a choice is not done before the user has chosen, and then without another reply of the model."""
    chat.expects(supervisor=BEGIN, planner=[[Call("choose_line"), Call("write", {"line": "b"})], "Written."])
    await chat.says("one of them")
    assert BOOK == []
    assert told("""
        user: 2
        planner.choose_line() = two
        planner.write(line='b') = 1 written
        planner: Written.
    """) == await chat.says("2")


async def test_a_failed_call_stops_none_behind_it(chat: Chat) -> None:
    """Each call has its own result."""
    calls = [Call("write", {"lines": "a"}), Call("write", {"line": "b"}), Call("read")]
    chat.expects(supervisor=BEGIN, planner=[calls, "Only b."])
    await chat.says("do it")
    assert BOOK == ["b"]
    assert ended(chat)[-1] == "b"
