"""Hold one session with an MCP server for the application's life; a lost one is opened again when it is needed.

A server is a process that speaks over its standard streams, or an address (streamable HTTP).
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio
import httpx
from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CONNECTION_CLOSED, CallToolResult, Tool

from agents.remote.mcp_file import ServerSpec
from agents.sources.web.ssrf import guarded_client, policy_of


@asynccontextmanager
async def connected(server: ServerSpec, secrets: Mapping[str, str]) -> AsyncIterator[ClientSession]:
    """Connect to a server, with what it is told in `secrets`: its environment, or the headers of every request."""
    if server.command:
        parameters = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(secrets), cwd=server.cwd
        )
        # What a server writes of itself would garble the terminal, and may quote the user.
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230  # the null device never waits
            async with stdio_client(parameters, nowhere) as (read, write), ClientSession(read, write) as session:
                yield session
        return
    policy = policy_of(server.url, internal=server.internal)

    def client(
        headers: dict[str, str] | None = None, timeout: httpx.Timeout | None = None, auth: httpx.Auth | None = None
    ) -> httpx.AsyncClient:
        return guarded_client(policy, headers=headers or {}, timeout=timeout or server.timeout, auth=auth)

    connection: StreamableHttpConnection = {
        "transport": "streamable_http",
        "url": server.url,
        "headers": dict(secrets),
        "timeout": server.timeout,
        "httpx_client_factory": client,
    }
    async with create_session(connection) as session:
        yield session


def cause(error: BaseException) -> str:
    """Name what went wrong, without the words of a server."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__


LOG = logging.getLogger(__name__)
MOST_PAGES = 100
PATIENCE = 5
"""Seconds for a server to answer a ping, or to go."""
GONE = (CONNECTION_CLOSED, 32600)
"""Errors by which the library tells that a session is no more."""
Connect = Callable[[], AbstractAsyncContextManager[ClientSession]]
Asked = TypeVar("Asked")
Request = Callable[[ClientSession], Awaitable[Asked]]


class ServerLost(Exception):
    """Tells the operator why a server did not answer; `again` if another session may get an answer."""

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Session:
    """An open session, kept by a task of its own: it has to be left by the task that entered it."""

    def __init__(self, connect: Connect) -> None:
        self.ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self._over = asyncio.Event()
        self.task = asyncio.create_task(self._hold(connect))

    async def close(self) -> None:
        """Leave the session and wait until its server is gone."""
        self._over.set()
        if not self.ready.done():
            self.task.cancel()
        # A process that does not go is ended after two seconds by the library.
        _, late = await asyncio.wait([self.task], timeout=2 * PATIENCE)
        for task in late:
            task.cancel()
            # Its own end may hang as its server does; whoever waits for an answer shall not wait for that.
            await asyncio.wait([task], timeout=PATIENCE)

    async def _hold(self, connect: Connect) -> None:
        try:
            async with connect() as session:
                await session.initialize()
                self.ready.set_result(session)
                await self._over.wait()
        except Exception as lost:
            if not self.ready.done():
                self.ready.set_exception(ServerLost(f"it cannot be reached ({cause(lost)})"))
        finally:
            self.ready.cancel()


class HeldServer:
    """A server that is there whenever it can be reached."""

    def __init__(self, name: str, server: ServerSpec, secrets: Mapping[str, str]) -> None:
        self.name, self.timeout = name, server.timeout
        self._connect: Connect = lambda: connected(server, secrets)
        self._session: Session | None = None
        self._opening = asyncio.Lock()

    async def tools(self) -> list[Tool]:
        """Return every tool that the server offers.

        Raises:
            ServerLost: it does not answer.
        """
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._ask(partial(ClientSession.list_tools, cursor=cursor), limit=self.timeout)
            tools += page.tools
            cursor = page.nextCursor
            if not cursor:
                break
        return tools

    async def call(self, tool: str, args: Mapping[str, object], *, again: bool) -> CallToolResult:
        """Return what a tool answers; only if `again` is a call repeated whose answer was lost.

        Raises:
            ServerLost: there was no answer.
        """

        async def request(session: ClientSession) -> CallToolResult:
            return await session.call_tool(tool, dict(args))

        if not again:
            # A session that died since the last call shall be found out before the one try there is.
            await self._ask(ClientSession.send_ping, limit=PATIENCE)
        try:
            return await (self._ask if again else self._once)(request, limit=self.timeout)
        except ServerLost as lost:
            LOG.warning("MCP server %s: %s", self.name, lost)
            raise

    async def close(self) -> None:
        """End the session, if there is one."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, request: Request[Asked], *, limit: float) -> Asked:
        """Ask what may be asked twice."""
        try:
            return await self._once(request, limit)
        except ServerLost as lost:
            if not lost.again:
                raise
            return await self._once(request, limit)

    async def _once(self, request: Request[Asked], limit: float) -> Asked:
        held = await self._open()
        answer = asyncio.ensure_future(request(held.ready.result()))
        try:
            done, _ = await asyncio.wait({answer, held.task}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if answer in done:
                return answer.result()
            lost = ServerLost("the connection broke") if done else ServerLost("no answer in time", again=False)
        except McpError as wrong:
            lost = ServerLost(f"error {wrong.error.code}", again=wrong.error.code in GONE)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError, httpx.HTTPError) as broken:
            lost = ServerLost(cause(broken))
        except Exception as wrong:
            lost = ServerLost(cause(wrong), again=False)
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
        if lost.again or not await _is_there(held):
            await self._drop(held)
        raise lost

    async def _open(self) -> Session:
        async with self._opening:
            if self._session is None or self._session.task.done():
                self._session = Session(self._connect)
            held = self._session
            await asyncio.wait([held.ready], timeout=self.timeout)
            if not held.ready.done():
                await self._drop(held)
                raise ServerLost("it does not start in time")
            if held.ready.cancelled():
                raise ServerLost("the connection broke")
            held.ready.result()
            return held

    async def _drop(self, held: Session) -> None:
        if self._session is held:
            self._session = None
        await held.close()


async def _is_there(held: Session) -> bool:
    """Tell whether a server that left a call unanswered still answers at all."""
    try:
        async with asyncio.timeout(PATIENCE):
            await held.ready.result().send_ping()
    except Exception:
        return False
    return True
