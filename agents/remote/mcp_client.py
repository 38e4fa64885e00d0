"""Connect to an MCP server: over the standard streams of a process, or over HTTP."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

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
