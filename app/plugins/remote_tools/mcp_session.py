"""Hold one session with an MCP server for the application's life; a lost one is opened again for the next call."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
import httpx
from mcp import ClientSession, McpError
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ClientRequest,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import Field, model_validator

from app.plugins.remote_tools.answer import NoAnswer
from app.plugins.remote_tools.files import ServerSpec
from app.plugins.remote_tools.mcp_answer import PROBLEMS, End, UnreadAnswer, cause
from app.plugins.remote_tools.mcp_http import http_session
from app.plugins.remote_tools.mcp_stdio import process_session
from app.process.tasks import TaskSet

MOST_PAGES = 100
PATIENCE = 5  # Seconds for a server's answer to a ping, or for its end.
LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError, httpx.HTTPError)
GONE = (CONNECTION_CLOSED, 32600)  # The library's errors for a session that has ended.
Asked = TypeVar("Asked")
Request = Callable[[ClientSession], Awaitable[Asked]]


class McpSession:
    """An open session, kept by a task of its own: it has to be left by the task that entered it."""

    def __init__(self, connect: Callable[[End], AbstractAsyncContextManager[ClientSession]]) -> None:
        self.ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self._over, self.cause, self.problem = asyncio.Event(), "it ended", 0
        self.task = asyncio.create_task(self._hold(connect))
        # A task that is cancelled before its first step runs no line of its own.
        self.task.add_done_callback(lambda _: self.ready.cancel())

    async def close(self) -> None:
        """Leave the session and wait until its server is gone."""
        self._over.set()
        if not self.ready.done():
            self.task.cancel()
        # The library kills a process that does not end within two seconds.
        _, late = await asyncio.wait([self.task], timeout=2 * PATIENCE)
        for task in late:
            task.cancel()
            # The task's own end may hang like its server; a caller that waits for an answer must not wait for it.
            await asyncio.wait([task], timeout=PATIENCE)

    def _end(self, problem: int) -> None:
        self.problem = problem

    async def _hold(self, connect: Callable[[End], AbstractAsyncContextManager[ClientSession]]) -> None:
        # The library would log a traceback for every line that is not a message; a server may write thousands.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        try:
            async with connect(self._end) as session:
                await session.initialize()
                self.ready.set_result(session)
                await self._over.wait()
        except Exception as lost:
            self.cause = PROBLEMS[self.problem][0] if self.problem else cause(lost)
            if not self.ready.done():
                self.ready.set_exception(NoAnswer(f"it cannot be reached ({self.cause})", again=True))


class ToolAnswer(CallToolResult):
    """The answer of a tool, also one without `content`, or with parts that the library does not know."""

    content: list[Any] = Field(default_factory=list)
    structuredContent: Any = None  # noqa: N815  # the protocol's own name

    @model_validator(mode="before")
    @classmethod
    def _as_sent(cls, sent: dict[str, Any]) -> dict[str, Any]:
        parts = {name: part for name, part in sent.items() if part is not None}
        content = parts.get("content", [])
        return {**parts, "content": content if isinstance(content, list) else [content]}


class ToolPage(ListToolsResult):
    """A page of a server's tools; a description that breaks the protocol stays as it is."""

    tools: list[Annotated[Tool | Any, Field(union_mode="left_to_right")]]


async def _called(session: ClientSession, tool: str, args: Mapping[str, object]) -> CallToolResult:
    """Return the answer of a tool as it is: one that breaks the server's own schema may tell what was written."""
    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(args)))
    try:
        return await session.send_request(ClientRequest(request), ToolAnswer)
    except McpError as wrong:
        if wrong.error.code != INVALID_PARAMS:
            raise
        # A model that reads the reason can write other arguments.
        return ToolAnswer(content=[wrong.error.message], isError=True)


class HeldServer:
    """A server whose session is opened again whenever it was lost."""

    def __init__(self, name: str, server: ServerSpec, secrets: Mapping[str, str]) -> None:
        self.name, self.timeout = name, server.timeout
        self._connect = partial(process_session if server.command else http_session, server, secrets)
        self._session: McpSession | None = None
        self._opening = asyncio.Lock()
        self._checks = TaskSet()

    async def tools(self) -> dict[str, Tool | None]:
        """Return every tool that the server offers by its name; None for one whose description breaks the protocol.

        Raises NoAnswer: it does not answer.
        """
        tools: dict[str, Tool | None] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            listed = ClientRequest(ListToolsRequest(params=PaginatedRequestParams(cursor=cursor)))
            ask = partial(ClientSession.send_request, request=listed, result_type=ToolPage)
            page = await self._ask(ask, limit=self.timeout)
            for tool in page.tools:
                if isinstance(tool, Tool):
                    tools[tool.name] = tool
                elif isinstance(tool, dict):
                    tools[str(tool.get("name"))] = None
            cursor = page.nextCursor
            if not cursor:
                break
        return tools

    async def call(self, tool: str, args: Mapping[str, object], *, again: bool) -> CallToolResult:
        """Return the answer of a tool. A call whose answer was lost is repeated only with `again`.

        Raises:
            NoAnswer: there was no answer.
        """
        request = partial(_called, tool=tool, args=args)
        if not again:
            # A session that died since the last call must be noticed before the only try.
            await self._ask(ClientSession.send_ping, limit=PATIENCE)
        return await self._ask(request, limit=self.timeout, again=again)

    async def close(self) -> None:
        """End the session, if there is one."""
        await self._checks.close()
        if self._session is not None:
            await self._session.close()

    async def _ask(self, request: Request[Asked], *, limit: float, again: bool = True) -> Asked:
        try:
            return await self._once(request, limit)
        except NoAnswer as lost:
            if not (again and lost.again):
                raise
            return await self._once(request, limit)

    async def _once(self, request: Request[Asked], limit: float) -> Asked:
        held = await self._open()
        answer = asyncio.ensure_future(request(held.ready.result()))
        try:
            done, _ = await asyncio.wait({answer, held.task}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if answer in done:
                return answer.result()
            broke = f"the connection broke ({held.cause})"
            lost = NoAnswer(broke, again=True) if done else NoAnswer("no answer in time")
        except McpError as wrong:
            code = held.problem if held.problem and wrong.error.code in GONE else wrong.error.code
            lost = UnreadAnswer(code) if code in PROBLEMS else NoAnswer(f"error {code}", again=code in GONE)
        except Exception as wrong:
            lost = NoAnswer(cause(wrong), again=isinstance(wrong, LOST))
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
        if lost.again:
            await self._drop(held)
        else:
            # The caller has waited long enough; the next call waits until this is known.
            self._checks.start(self._drop_dead(held))
        raise lost

    async def _drop_dead(self, held: McpSession) -> None:
        """End the session of a server that does not even answer a ping any more."""
        async with self._opening:
            try:
                async with asyncio.timeout(PATIENCE):
                    await held.ready.result().send_ping()
            except Exception:
                await self._drop(held)

    async def _open(self) -> McpSession:
        async with self._opening:
            if self._session is None or self._session.task.done():
                self._session = McpSession(self._connect)
            held = self._session
            await asyncio.wait([held.ready], timeout=self.timeout)
            if not held.ready.done():
                await self._drop(held)
                raise NoAnswer("it does not start in time", again=True)
            if held.ready.cancelled():
                raise NoAnswer("the connection broke", again=True)
            held.ready.result()
            return held

    async def _drop(self, held: McpSession) -> None:
        if self._session is held:
            self._session = None
        await held.close()
