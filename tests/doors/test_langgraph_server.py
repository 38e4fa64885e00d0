"""LangGraph's development server, and its SDK as the client: `langgraph dev` from the command line.

The server (`langgraph-cli[inmem]`) has no permissive licence, so the project does not depend on it: the test runs
where the command `langgraph` is on the path, in an environment that has our requirements as well.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support import pages
from tests.support.loopback import free_port
from tests.support.until import until_answered

COMMAND = shutil.which("langgraph")
GRAPH = "dialog-supervisor"
KEY = "a1" * 32
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMMAND is None, reason='no command `langgraph`: pip install "langgraph-cli[inmem]"'),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the application with a dialog that waits for the user; the server writes beside it."""
    files = pages.files(pages.page("docs/langgraph-agents.md"))
    return pages.copy(tmp_path, {**files, "langgraph.json": pages.page("langgraph.json")})


@asynccontextmanager
async def serving(copy: Path) -> AsyncIterator[LangGraphClient]:
    """Run the server in a copy of the application, and yield a client."""
    settings = {
        "LLM_MODEL": "local:rules",
        "APP_LANG": "en",
        "DATABASE_URL": f"sqlite:///{copy}/dialogs.db",
        "DATABASE_KEY": KEY,
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    }
    # Our modules set it for this process; where it is set the server's own wrapper of a saver cannot be copied.
    inherited = {name: value for name, value in os.environ.items() if name != "LANGGRAPH_STRICT_MSGPACK"}
    port, log = free_port(), copy / "server.log"
    options = ["--no-browser", "--no-reload", "--allow-blocking", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            COMMAND or "", "dev", *options, cwd=copy, env={**inherited, **settings}, stdout=output, stderr=output
        )
    try:
        url = f"http://127.0.0.1:{port}"
        await until_answered(f"{url}/ok", process)
        async with get_client(url=url) as client:
            yield client
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()


class Talk:
    """A thread on the server."""

    def __init__(self, client: LangGraphClient, thread: str) -> None:
        self.client, self.thread = client, thread

    async def says(self, text: str) -> Mapping[str, Any]:
        """Say something in a run of its own; return what the run came to."""
        message = {"role": "user", "content": text}
        return await self._run(input={"messages": [message]})

    async def resumes(self, answer: str) -> Mapping[str, Any]:
        """Answer the question that the last run waits with."""
        return await self._run(command={"resume": answer})

    async def _run(self, **what: Any) -> Mapping[str, Any]:
        outcome: Any = await self.client.runs.wait(self.thread, GRAPH, **what)
        assert isinstance(outcome, dict)
        return outcome


def asked(outcome: Mapping[str, Any]) -> str:
    """Return the question with which a run waits."""
    [waiting] = outcome["__interrupt__"]
    return str(waiting["value"]["prompt"])


def answered(outcome: Mapping[str, Any]) -> tuple[str, str]:
    """Return the speaker of a run's last message, and its text."""
    assert "__interrupt__" not in outcome
    last = outcome["messages"][-1]
    return last["name"], last["content"]


def has_word(copy: Path, word: str) -> bool:
    """Tell whether a word stands in the files of the database as it is."""
    return any(word.encode() in file.read_bytes() for file in copy.glob("dialogs.db*"))


async def test_a_conversation_with_a_question_over_the_sdk(copy: Path) -> None:
    """A graph's questions are interrupts of the thread: resumed by a command, also by a new server, or by a message.

    What the saver keeps is encrypted, and the next server reads it.
    """
    async with serving(copy) as client:
        talk = Talk(client, (await client.threads.create())["thread_id"])
        assert asked(await talk.says("I want to book a journey")) == "Where would you like to go?"
        state = await client.threads.get_state(talk.thread)
        assert [waiting["value"]["prompt"] for waiting in state["interrupts"]] == ["Where would you like to go?"]
        assert asked(await talk.resumes("Oslo")) == "Shall I book Oslo?"
    async with serving(copy) as client:
        talk = Talk(client, talk.thread)
        assert answered(await talk.resumes("yes")) == ("journey", "Booked so far: Oslo.")
        assert asked(await talk.says("and another journey")) == "Where would you like to go?"
        assert asked(await talk.says("Rome")) == "Shall I book Rome?"
        assert answered(await talk.says("no")) == ("journey", "Nothing is booked.")
        assert answered(await talk.says("add milk to my list")) == ("planner", "Done. Your list:\n1. milk")
        assert not has_word(copy, "Oslo")


async def test_a_thread_is_a_value_over_the_sdk(copy: Path) -> None:
    """Words stream under the id of the message; the assistant knows a client's values in a thread; a copy is whole."""
    async with serving(copy) as client:
        talk = Talk(client, (await client.threads.create())["thread_id"])
        streamed, final = set[str](), dict[str, Any]()
        lines: Any = {"messages": [{"role": "user", "content": "let's get acquainted"}]}
        async for part in client.runs.stream(talk.thread, GRAPH, input=lines, stream_mode=["messages-tuple", "values"]):
            if part.event == "messages":
                streamed.add(part.data[0]["id"])
            elif part.event == "values":
                final = part.data
        assert {*final} == {"messages", "lang"}
        assert streamed == {final["messages"][-1]["id"]}

        twin = Talk(client, (await client.http.post(f"/threads/{talk.thread}/copy", json=None))["thread_id"])
        assert answered(await twin.says("I am a pilot"))[1].startswith("Noted: experience – pilot")
        assert answered(await talk.says("I am a nurse"))[1].startswith("Noted: experience – nurse")

        unheard: Any = {"messages": [{"role": "user", "content": "add milk to my list"}]}
        await client.threads.update_state(talk.thread, unheard, as_node="__start__")
        heard = await talk._run(input=None)
        assert answered(heard) == ("planner", "Done. Your list:\n1. milk")
        assert (await talk._run(input=None))["messages"] == heard["messages"]
        assert (await talk.resumes("yes"))["messages"] == heard["messages"]
        lines = [{"role": "user", "content": f"add {thing} to my list"} for thing in ("tea", "rice")]
        both = await talk._run(input={"messages": lines})
        assert answered(both) == ("planner", "Done. Your list:\n1. milk\n2. tea\n3. rice")
    assert "Slow graph load" not in (copy / "server.log").read_text()
