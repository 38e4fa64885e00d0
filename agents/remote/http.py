"""Make tools of a file of HTTP tools, and keep the connections to their services."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from langchain_core.tools import BaseTool
from ssrfguard import Resolver

from agents.remote.answer import answer_of
from agents.remote.factory import Signature, made, notice, refusal
from agents.remote.http_client import NoAnswer, exchange
from agents.remote.http_file import FromContext, HttpFile, HttpTool
from agents.remote.http_request import Request, header_value, request_of, trusted_values
from agents.remote.parameter_spec import arguments
from agents.remote.secrets import masks
from agents.remote.ssrf import guarded_client, policy_of
from agents.remote.yaml_file import Offer, text_in
from agents.toolkit.result import Answer, Failed
from agents.toolkit.runtime import Runtime
from prompts import FALLBACK

LOG = logging.getLogger(__name__)


@dataclass
class Lines:
    """The open connections of the services of one file, by name, and what each is told in every request."""

    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)
    told: dict[str, Mapping[str, str]] = field(default_factory=dict)


def http_tools(file: HttpFile, lines: Lines) -> list[Offer]:
    """Return the tools of a file; they work while the lines are open."""
    return [Offer(tool.speaker, _tool(tool, file, lines), f"tools.{tool.name}") for tool in file.tools]


@asynccontextmanager
async def open_lines(
    file: HttpFile, secrets: Mapping[str, Mapping[str, str]], resolver: Resolver | None = None
) -> AsyncIterator[Lines]:
    """Keep connections to the services of a file during the block."""
    async with AsyncExitStack() as stack:
        lines = Lines(told=dict(secrets))
        for name, service in file.services.items():
            policy = policy_of(service.url, internal=service.internal, redirects=service.redirects)
            client = guarded_client(policy, headers=secrets[name], timeout=service.timeout, resolver=resolver)
            lines.clients[name] = await stack.enter_async_context(client)
        yield lines


def _tool(tool: HttpTool, file: HttpFile, lines: Lines) -> BaseTool:
    name = file.service_of(tool)
    service = file.services[name]
    unsecret, unseen = masks(tool, service.headers, lines.told[name])

    async def call(runtime: Runtime, **args: Any) -> Answer:
        request = request_of(tool, service, args, runtime)
        wanted = {header: value for header, value in service.headers.items() if isinstance(value, FromContext)}
        trusted = trusted_values(runtime)
        headers = {header: header_value(trusted[value.trusted]) for header, value in wanted.items()}
        asked = Request(request.method, request.url, {**headers, **request.headers}, request.body)
        lang = runtime.state["lang"]
        try:
            reply = await exchange(lines.clients[name], service, asked, tool.tries)
            if reply.status < 400:
                return answer_of(tool, unsecret(reply.body), lang)
        except NoAnswer as failed:
            LOG.warning("tool %s: %s: %s", tool.name, name, failed)
            raise Failed(notice(tool, lang)) from None
        LOG.warning("tool %s: %s answered %d", tool.name, name, reply.status)
        raise refusal(tool, tool.name, unseen(reply.body), str(reply.status), lang)

    signature = Signature(
        name=tool.name,
        description=text_in(tool.description, FALLBACK),
        arguments=arguments(tool.name, tool.parameters),
        result=tool.result.schema_,
    )
    return made(tool, signature, call)
