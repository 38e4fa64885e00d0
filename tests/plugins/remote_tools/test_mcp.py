"""Sessions with MCP servers, in conversations with a real one: over its standard streams, and over HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import ClientSession

from app.plugins.remote_tools.answer import NoAnswer
from app.plugins.remote_tools.files import McpFile
from app.plugins.remote_tools.mcp_session import HeldServer
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase
from tests.plugins.remote_tools.remote_files import EMMA, library, library_at, opened
from tests.support.loopback import free_port
from tests.support.places import ROOT
from tests.support.until import until_answered

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("shelf")]


@asynccontextmanager
async def listening(port: int) -> AsyncIterator[None]:
    """Run the library on a port of loopback during the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.plugins.remote_tools.mcp_server", "http", str(port), cwd=ROOT
    )
    try:
        await until_answered(f"http://127.0.0.1:{port}/", process)
        yield
    finally:
        process.kill()
        await process.wait()


async def test_a_server_that_dies_comes_back(chat: Chat, tmp_path: Path) -> None:
    """A server that ends in a call fails that call; the next one opens it again."""
    chat.expects(supervisor=[Call("collapse"), Call("find_books", {"title": "emma"}), "Here it is."])
    async with opened(tmp_path, chat.speakers, servers=library()) as chat.speakers:
        failed = phrase("tool_failed", "en", tool="collapse")
        assert told(f"""
            user: Break it
            supervisor.collapse() ! {failed}
            supervisor.assistant_help(query='Break it') = {phrase("help_unknown", "en")}
            supervisor.find_books(title='emma') = {EMMA}
            supervisor: Here it is.
        """) == await chat.says("Break it")


async def test_a_slow_tool_is_given_up(chat: Chat, tmp_path: Path) -> None:
    """A call that takes too long fails; the session is kept, for it still answers."""
    chat.expects(supervisor=[Call("nap", {"seconds": 60}), Call("find_books", {"title": "emma"}), "Here it is."])
    async with opened(tmp_path, chat.speakers, servers=library(timeout=40)) as chat.speakers:
        trace = await chat.says("Take a nap")
    assert f"supervisor.nap(seconds=60) ! {phrase('tool_failed', 'en', tool='nap')}" in trace
    assert EMMA in trace


async def test_a_server_that_hangs_is_replaced(chat: Chat, tmp_path: Path) -> None:
    """A server that does not even answer a ping any more is ended; the next call opens it again."""
    chat.expects(supervisor=[Call("freeze"), Call("find_books", {"title": "emma"}), "Here it is."])
    async with opened(tmp_path, chat.speakers, servers=library(timeout=40)) as chat.speakers:
        trace = await chat.says("Freeze")
    assert f"supervisor.freeze() ! {phrase('write_unknown', 'en', tool='freeze')}" in trace
    assert EMMA in trace


async def test_a_late_call_waits_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waited for a call in vain is told at once; the next call waits until it is known whether the server lives."""
    known = asyncio.Event()

    async def ping(_: ClientSession) -> bool:
        return await known.wait()

    monkeypatch.setattr(ClientSession, "send_ping", ping)
    held = HeldServer("library", McpFile.model_validate(library()).servers["library"], {})
    try:
        await held.tools()
        held.timeout = 0.1
        with pytest.raises(NoAnswer, match="no answer in time"):
            await held.call("nap", {"seconds": 60}, again=True)
        held.timeout = 30
        next_call = asyncio.create_task(held.call("find_books", {"title": "emma"}, again=True))
        known.set()
        assert not (await next_call).isError
    finally:
        known.set()
        await held.close()


async def test_a_server_over_http_comes_back(chat: Chat, tmp_path: Path) -> None:
    """A server that was started anew knows no session: it is opened again, also for a write, which is done once."""
    port = free_port()
    chat.expects(supervisor=[Call("find_books", {"title": "emma"}), "One."])
    chat.expects(supervisor=[Call("find_books", {"title": "emma"}), "Gone."])
    chat.expects(supervisor=[Call("lend_book", {"book": 1}), "Yours."])
    async with listening(port):
        server = opened(tmp_path, chat.speakers, servers=library_at(port))
        chat.speakers = await server.__aenter__()
        assert EMMA in await chat.says("Emma, please")
    assert phrase("tool_failed", "en", tool="find_books") in await chat.says("Emma again")
    async with listening(port):
        assert "ann has it, as no. 1 of process ?" in await chat.says("Lend it to me")
        await server.__aexit__(None, None, None)
