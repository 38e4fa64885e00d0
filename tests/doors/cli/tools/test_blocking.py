"""Tools that block: they hold up neither the conversation nor the end of the process."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest
from langchain_core.tools import tool

from agents.toolkit.tool_code import beside
from agents.toolkit.tool_node import TIMEOUT
from app.testing import Chat
from app.testing.script import Call
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.places import ROOT
from tests.support.simulated_time import advance
from tests.support.until import until

pytestmark = pytest.mark.needs("planner")

LATE = """
import asyncio, time
from agents.toolkit.tool_code import beside

async def main():
    try:
        async with asyncio.timeout(0.1):
            await beside(lambda: time.sleep(3600))()
    except TimeoutError:
        print("given up")

asyncio.run(main())
"""
LANG = contextvars.ContextVar("lang", default="none")
ASKED, RELEASED = threading.Event(), threading.Event()


@tool
def wait(word: str) -> str:
    """Wait, and block."""
    ASKED.set()
    RELEASED.wait()
    return word


@pytest.fixture(autouse=True)
def waiting(chat: Chat) -> Any:
    """Give the planner this tool alone; release all waiting ones in the end."""
    ASKED.clear()
    RELEASED.clear()
    chat.speakers = changed(chat.speakers, "planner", tools=[wait])
    yield
    RELEASED.set()


async def test_a_blocking_tool_is_given_up(chat: Chat) -> None:
    """After its time the model is told, and the turn ends though the function still runs."""
    chat.expects(supervisor=[Call("plan_things", {"brief": "x"})], planner=[Call("wait", {"word": "a"}), "No."])
    saying = asyncio.create_task(chat.says("Wait for me"))
    await until(ASKED.is_set)
    advance(TIMEOUT)
    trace = await saying

    assert phrase("tool_failed", "en", tool="wait") in trace
    assert trace.endswith("planner: No.")
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "tool wait"] == [True]


async def test_a_blocking_tool_knows_its_turn() -> None:
    """The tool's own thread, not the loop's, knows the turn's context."""
    LANG.set("ru")
    assert await beside(lambda: (LANG.get(), threading.current_thread() is threading.main_thread()))() == ("ru", False)


@pytest.mark.slow
def test_the_process_ends_without_waiting_for_it() -> None:
    """A function that sleeps for an hour keeps no process alive once its call was given up."""
    done = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("given up\n", "")
