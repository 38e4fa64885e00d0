"""Make tools of a file of HTTP tools, and keep the connections to their services."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import httpx
from langchain_core.tools import BaseTool
from ssrfguard import Resolver

from agents.remote.answer import answer_of, masks
from agents.remote.factory import made, notice, refusal
from agents.remote.http_client import NoAnswer, Request, exchange, header_value, request_of, trusted_values
from agents.remote.http_file import FromContext, HttpFile, HttpTool
from agents.remote.tool_spec import arguments
from agents.remote.yaml_file import Offer, text_in
from agents.sources.web.ssrf import guarded_client, policy_of
from agents.toolkit.result import Answer, Failed
from agents.toolkit.runtime import Runtime
from prompts import FALLBACK

LOG = logging.getLogger(__name__)


@dataclass
class Connections:
    """The open connections of the services of one file, by name, and the headers of every request to each."""

    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict)


def http_tools(file: HttpFile, connections: Connections) -> list[Offer]:
    """Return the tools of a file; they work while the connections are open."""
    return [Offer(tool.speaker, _tool(tool, file, connections), f"tools.{tool.name}") for tool in file.tools]


@asynccontextmanager
async def open_connections(
    file: HttpFile, secrets: Mapping[str, Mapping[str, str]], resolver: Resolver | None = None
) -> AsyncIterator[Connections]:
    """Keep connections to the services of a file during the block."""
    async with AsyncExitStack() as stack:
        connections = Connections(headers=dict(secrets))
        for name, service in file.services.items():
            policy = policy_of(service.url, internal=service.internal, redirects=service.redirects)
            client = guarded_client(policy, headers=secrets[name], timeout=service.timeout, resolver=resolver)
            connections.clients[name] = await stack.enter_async_context(client)
        yield connections


def _tool(tool: HttpTool, file: HttpFile, connections: Connections) -> BaseTool:
    name = file.service_of(tool)
    service = file.services[name]
    unsecret, unseen = masks(tool, service.headers, connections.headers[name])

    async def call(runtime: Runtime, **args: object) -> Answer:
        request = request_of(tool, service, args, runtime)
        from_context = {header: value for header, value in service.headers.items() if isinstance(value, FromContext)}
        trusted = trusted_values(runtime)
        headers = {header: header_value(trusted[value.trusted]) for header, value in from_context.items()}
        full_request = Request(request.method, request.url, {**request.headers, **headers}, request.body)
        lang = runtime.state["lang"]
        try:
            reply = await exchange(connections.clients[name], service, full_request, tool.tries)
            if reply.status < 400:
                return answer_of(tool, unsecret(reply.body), lang)
        except NoAnswer as failed:
            LOG.warning("tool %s: %s: %s", tool.name, name, failed)
            raise Failed(notice(tool, lang)) from None
        LOG.warning("tool %s: %s answered %d", tool.name, name, reply.status)
        raise refusal(tool, tool.name, unseen(reply.body), str(reply.status), lang)

    return made(
        tool,
        call,
        name=tool.name,
        description=text_in(tool.description, FALLBACK),
        arguments=arguments(tool.name, tool.parameters),
        result=tool.result.schema_,
        foreign=service.foreign,
    )
