"""HTTP tools: make the request of a call, send it, and read the answer.

Values can change the path, query, headers and body of a request, never its host. The exchange is limited in time, size,
kind and number of tries.
"""

import asyncio
import hashlib
import json
import logging
import re
import string
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, urlencode

import httpx
from langchain_core.tools import BaseTool
from ssrfguard import SSRFGuardError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from agents.language.text.clean import is_shallow
from agents.models.refusal import sentences_in
from agents.retry_after import asked_pause
from agents.sources.web.ssrf import BodyRefused, BodyTooLong, guarded_client, policy_of, read_body
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, Failed, Misused
from app.plugins.remote_tools.answer import NoAnswer, answer_of, failure, refusal, tool_of
from app.plugins.remote_tools.files import PLACEHOLDER, FromContext, HttpFile, HttpTool, RemoteService
from app.plugins.remote_tools.secret import masks
from app.plugins.remote_tools.tool_spec import OfferedTool, arguments, trusted_values
from app.yaml_file import text_in
from prompts import FALLBACK, phrase

LOG = logging.getLogger(__name__)
PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
BUDGET = 50  # Seconds for all the tries of a call, pauses included; a call as a whole is cut after `tool_node.TIMEOUT`.
LONGEST_PAUSE = 20  # Seconds; a service that asks for a longer pause is not asked again.
_BACKOFF = wait_random_exponential(multiplier=0.25)
Secrets = Mapping[str, Mapping[str, str]]


@asynccontextmanager
async def http_tools(file: HttpFile, secrets: Secrets) -> AsyncIterator[list[OfferedTool]]:
    """Keep connections to the services of a file during the block; yield the tools, which work in it.

    `secrets` are the headers of every request to a service, by its name.
    """
    async with AsyncExitStack() as stack:
        clients: dict[str, httpx.AsyncClient] = {}
        for name, service in file.services.items():
            policy = policy_of(service.url, internal=service.internal, redirects=service.redirects)
            client = guarded_client(policy, headers=secrets[name], timeout=service.timeout)
            clients[name] = await stack.enter_async_context(client)
        yield [
            OfferedTool(tool.speaker, _tool(tool, file, secrets, clients), f"tools.{tool.name}") for tool in file.tools
        ]


def _tool(tool: HttpTool, file: HttpFile, secrets: Secrets, clients: Mapping[str, httpx.AsyncClient]) -> BaseTool:
    name = file.service_of(tool)
    service = file.services[name]
    unsecret, unseen = masks(tool, service.headers, secrets[name])

    async def call(runtime: Runtime, **args: object) -> Answer:
        request, lang = request_of(tool, service, args, runtime), runtime.state["lang"]
        try:
            status, body = await exchange(clients[name], service, request, tool.tries)
            if status < 400:
                return answer_of(tool, unsecret(body), lang)
        except NoAnswer as lost:
            LOG.warning("tool %s: %s: %s", tool.name, name, lost)
            raise failure(tool, tool.name, lost, lang) from None
        LOG.warning("tool %s: %s answered %d", tool.name, name, status)
        own_words = "" if "message" in tool.errors.model_fields_set else "; ".join(sentences_in(unseen(body)))
        raise refusal(tool, tool.name, unseen(body), own_words or str(status), lang)

    return tool_of(
        tool,
        call,
        name=tool.name,
        description=text_in(tool.description, FALLBACK),
        arguments=arguments(tool.name, tool.parameters),
        schema=tool.result.schema_,
        foreign=service.foreign,
    )


@dataclass(frozen=True)
class Request:
    """One request; repeated, it is the same."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def request_of(tool: HttpTool, service: RemoteService, args: Mapping[str, object], runtime: Runtime) -> Request:
    """Return the request of a call with these arguments.

    Raises:
        Misused: a value of the model would lead to another path.
        Failed: a value of the system would.
    """
    values = {**args, **tool.set_values(runtime)}
    places: dict[str, dict[str, object]] = {"path": {}, "query": {}, "header": {}, "body": {}}
    # The system's values come last, and replace a value of the model's in the same place.
    for key, parameter in sorted(tool.parameters.items(), key=lambda item: not item[1].is_the_models):
        if (value := values.get(key)) is not None:
            places[parameter.in_][key if parameter.in_ == "path" else parameter.name or key] = value
    filled = PLACEHOLDER.sub(lambda slot: _segment(slot[1], places["path"][slot[1]], tool, runtime), tool.path)
    query = urlencode({name: _listed(value) for name, value in places["query"].items()}, doseq=True)
    separator = "&" if "?" in filled else "?"
    trusted = trusted_values(runtime)
    of_turn = {name: trusted[part.trusted] for name, part in service.headers.items() if isinstance(part, FromContext)}
    headers = {name: _header_value(value) for name, value in {**places["header"], **of_turn}.items()}
    if tool.writes:
        headers["Idempotency-Key"] = write_key(tool.name, tool.key, args, runtime)
    body = _nested(places["body"]) if any(parameter.in_ == "body" for parameter in tool.parameters.values()) else None
    if body is not None:
        headers["Content-Type"] = "application/json"
    return Request(
        tool.method,
        f"{service.url.rstrip('/')}{filled}{separator if query else ''}{query}",
        headers,
        None if body is None else json.dumps(body, ensure_ascii=False).encode(),
    )


def write_key(tool: str, key: tuple[str, ...], args: Mapping[str, object], runtime: Runtime) -> str:
    """Return the idempotency key of a write: a digest of the values of its key, or of the call itself."""
    context = runtime.context
    # A service that never forgets a key would answer next month's write with this one's outcome.
    mark = context.ledger.mark() if context.ledger else ""
    same: list[object] = [[args.get(name) for name in key], mark] if key else [context.thread, runtime.tool_call_id]
    text = json.dumps([context.user, tool, same], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _segment(name: str, value: object, tool: HttpTool, runtime: Runtime) -> str:
    """Return a value for the path: as one part, or as several where the file allows slashes."""
    text = _plain(value)
    # Many servers decode a path before they read it, so even an escaped slash would lead elsewhere.
    bare = re.sub("%(?:25)+", "%", text).lower()
    parts = re.split(r"[/\\]|%2f|%5c", bare)
    leads_away = any(part.replace("%2e", ".") in ("", ".", "..") for part in parts)
    if leads_away or (len(parts) > 1 and not tool.parameters[name].slashes) or not text.isprintable():
        if not tool.parameters[name].is_the_models:
            # A model can neither mend this value nor may it see it.
            raise Failed
        lang = runtime.state["lang"]
        raise Misused(phrase("tool_arguments", lang, tool=tool.name, problem=f"{text!r} cannot stand in an address"))
    return quote(text, safe="/" if tool.parameters[name].slashes else "")


def _header_value(value: object) -> str:
    """Return a value in the form of a header; other than plain characters are escaped."""
    return quote(_plain(value), safe=PRINTABLE)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(value: object) -> str | list[str]:
    return [_plain(entry) for entry in value] if isinstance(value, list) else _plain(value)


def _nested(values: Mapping[str, object]) -> Json:
    body: Json = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        place = body
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return body


Reply = tuple[int, object]
"""A service's answer: the status, and the JSON of the body (None: an empty one), or the plain text of a refusal."""


async def exchange(client: httpx.AsyncClient, service: RemoteService, request: Request, tries: int) -> Reply:
    """Return the answer to a request: a good one, or one about a fault of the request (4xx).

    Raises:
        NoAnswer: there was no usable answer.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, NoAnswer) and error.again),
        wait=_pause,
        stop=stop_after_attempt(tries) | stop_before_delay(BUDGET - service.timeout),
        reraise=True,
    )
    return await retrying(_try_once, client, service, request)


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next try: the service's own number, else twice as many each time."""
    error = state.outcome and state.outcome.exception()
    if isinstance(error, NoAnswer) and error.pause is not None:
        return error.pause
    return _BACKOFF(state)


async def _try_once(client: httpx.AsyncClient, service: RemoteService, request: Request) -> Reply:
    try:
        async with asyncio.timeout(service.timeout):
            return await _sent(client, service, request)
    except TimeoutError:
        raise NoAnswer("no answer in time", again=True) from None
    except SSRFGuardError as refused:
        raise NoAnswer(f"refused by the guard ({type(refused).__name__})") from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as lost:
        again = isinstance(lost, httpx.TransportError)
        raise NoAnswer(f"no connection ({type(lost).__name__})", again=again) from None


async def _sent(client: httpx.AsyncClient, service: RemoteService, request: Request) -> Reply:
    # A packed answer could grow beyond any bound in one step.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **request.headers}
    async with client.stream(request.method, request.url, headers=headers, content=request.body) as response:
        status = response.status_code
        if status in (408, 429) or status >= 500:
            pause = asked_pause(response.headers)
            raise NoAnswer(f"it answered {status}", again=(pause or 0) <= LONGEST_PAUSE, pause=pause)
        if not (200 <= status < 300 or 400 <= status < 500):
            raise NoAnswer(f"it answered {status}, which leads elsewhere")
        body = b""
        try:
            body = await read_body(response, service.max_bytes)
            return status, _read(body)
        except (NoAnswer, BodyRefused) as refused:
            if status < 400:
                remedy = "answer_long" if isinstance(refused, BodyTooLong) else ""
                raise NoAnswer(str(refused), remedy=remedy) from None
            is_text = response.headers.get("content-type", "").lower().startswith("text/plain")
            return status, body.decode(errors="replace") if is_text else None


def _read(body: bytes) -> object:
    if not body.strip():
        return None
    try:
        data: object = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    if not is_shallow(data):
        raise NoAnswer("its answer is nested too deeply")
    return data


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
