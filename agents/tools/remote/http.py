"""Make tools of a file of HTTP tools, and keep the connections to their services."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from ssrfguard import Resolver

from agents.state import Context
from agents.tools.outcome import Answer, Failed, Refused
from agents.tools.recorded import OUTSIDE
from agents.tools.remote.description import FromContext, HttpFile, HttpTool
from agents.tools.remote.guard import guarded_client, policy_of
from agents.tools.remote.mapping import answer_of, find
from agents.tools.remote.parameters import arguments, form_of
from agents.tools.remote.parts import Offer, text_in
from agents.tools.remote.request import Request, request_of, trusted_values
from agents.tools.remote.sending import NoAnswer, Reply, exchange
from agents.tools.texts import Texts, with_texts
from agents.tools.traits import Traits, with_traits
from agents.views import Notice
from prompts import FALLBACK, phrase

LOG = logging.getLogger(__name__)
LONGEST_REASON = 500
Runtime = ToolRuntime[Context, Any]


@dataclass
class Lines:
    """The open connections of the services of one file, by name."""

    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)


def http_tools(file: HttpFile, lines: Lines) -> list[Offer]:
    """Return the tools of a file; they work while the lines are open."""
    return [Offer(tool.speaker, _tool(tool, file, lines), f"tools.{tool.name}") for tool in file.tools]


@asynccontextmanager
async def open_lines(
    file: HttpFile, secrets: Mapping[str, Mapping[str, str]], resolver: Resolver | None = None
) -> AsyncIterator[Lines]:
    """Keep connections to the services of a file during the block."""
    async with AsyncExitStack() as stack:
        lines = Lines()
        for name, service in file.services.items():
            policy = policy_of(service.url, internal=service.internal, redirects=service.redirects)
            client = guarded_client(policy, headers=secrets[name], timeout=service.timeout, resolver=resolver)
            lines.clients[name] = await stack.enter_async_context(client)
        yield lines


def _tool(tool: HttpTool, file: HttpFile, lines: Lines) -> BaseTool:
    name = file.service_of(tool)
    service = file.services[name]

    async def call(runtime: Runtime, **args: Any) -> Answer:
        request = request_of(tool, service, args, runtime)
        wanted = {header: value for header, value in service.headers.items() if isinstance(value, FromContext)}
        trusted = trusted_values(runtime)
        headers = {header: trusted[value.trusted] for header, value in wanted.items()}
        asked = Request(request.method, request.url, {**headers, **request.headers}, request.body)
        try:
            reply = await exchange(lines.clients[name], service, asked, tool.tries)
            if reply.status < 400:
                return answer_of(tool, reply.body, runtime.state["lang"])
        except NoAnswer as failed:
            LOG.warning("tool %s: %s: %s", tool.name, name, failed)
            raise Failed(_notice(tool, runtime)) from None
        LOG.warning("tool %s: %s answered %d", tool.name, name, reply.status)
        raise Refused(_reason(tool, reply, runtime.state["lang"]), _notice(tool, runtime))

    made = StructuredTool.from_function(
        coroutine=call,
        name=tool.name,
        description=text_in(tool.description, FALLBACK),
        args_schema=arguments(tool.name, tool.parameters),
        infer_schema=False,
        response_format="content_and_artifact",
        tags=[OUTSIDE],
    )
    with_texts(made, Texts(descriptions=tool.description, examples=tool.examples))
    return with_traits(made, _traits(tool))


def _traits(tool: HttpTool) -> Traits:
    return Traits(
        kind=tool.kind,
        effect="write" if tool.writes else "read",
        key=tool.key,
        repeatable=bool(tool.key),
        result=tool.result.schema_,
        form=form_of(f"{tool.name}_form", tool.form) if tool.form else None,
        view=tool.view.kind if tool.view else "",
        permission=tool.permission,
    )


def _reason(tool: HttpTool, reply: Reply, lang: str) -> str:
    """Return what the service has against the request, in its own words if it has any."""
    try:
        said = find(tool.errors.message, reply.body)
    except NoAnswer:
        said = None
    words: Sequence[str] = said.split() if isinstance(said, str) else []
    reason = " ".join(words)[:LONGEST_REASON] or str(reply.status)
    return phrase("tool_rejected", lang, tool=tool.name, reason=reason)


def _notice(tool: HttpTool, runtime: Runtime) -> Notice | None:
    notice = text_in(tool.errors.notice, runtime.state["lang"])
    return Notice(message=notice, level="error") if notice else None
