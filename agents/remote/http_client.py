"""Make the request of a call, send it, and read the answer.

Values can change the path, query, headers and body of a request, never where it goes. The exchange is bounded in time,
size, kind and number of tries.
"""

import asyncio
import hashlib
import json
import random
import re
import string
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import NoReturn
from urllib.parse import quote, urlencode

import httpx
from ssrfguard import SSRFGuardError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

from agents.remote.http_file import PLACEHOLDER, HttpTool, Service
from agents.remote.yaml_file import Trusted
from agents.sources.web.ssrf import BodyRefused, read_body
from agents.state.talk import Json
from agents.toolkit.result import Failed, Misused
from agents.toolkit.runtime import Runtime
from prompts import phrase

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "


@dataclass(frozen=True)
class Request:
    """One request; repeated, it is the same."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def trusted_values(runtime: Runtime) -> dict[Trusted, str]:
    """Return what the system says of the turn."""
    context = runtime.context
    return {"user": context.user, "thread": context.thread, "device": context.device, "lang": runtime.state["lang"]}


def request_of(tool: HttpTool, service: Service, args: Mapping[str, object], runtime: Runtime) -> Request:
    """Return the request of a call with these arguments.

    Raises:
        Misused: a value of the model's would lead to another path.
        Failed: one of the system's would.
    """
    values = {**args, **tool.set_values(trusted_values(runtime))}
    places: dict[str, dict[str, object]] = {"path": {}, "query": {}, "header": {}, "body": {}}
    # What the system sets comes last, and stands wherever a value of the model's would have the same place.
    for key, parameter in sorted(tool.parameters.items(), key=lambda item: not item[1].is_the_models):
        if (value := values.get(key)) is not None:
            places[parameter.in_][key if parameter.in_ == "path" else parameter.name or key] = value
    filled = PLACEHOLDER.sub(lambda slot: _segment(slot[1], places["path"][slot[1]], tool, runtime), tool.path)
    query = urlencode({name: _listed(value) for name, value in places["query"].items()}, doseq=True)
    separator = "&" if "?" in filled else "?"
    headers = {name: header_value(value) for name, value in places["header"].items()}
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
    """Return what tells a service that a write is the same one: the values of its key, else the call itself."""
    context = runtime.context
    # A service that never forgets a key would answer next month's write with this one's outcome.
    mark = context.ledger.mark() if context.ledger else ""
    same: list[object] = [[args.get(name) for name in key], mark] if key else [context.thread, runtime.tool_call_id]
    text = json.dumps([context.user, tool, same], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _segment(name: str, value: object, tool: HttpTool, runtime: Runtime) -> str:
    """Write a value into the path: as one part of it, or as several where the file allows slashes."""
    text = _plain(value)
    # Many servers decode a path before they read it, so that an escaped slash would lead elsewhere after all.
    bare = re.sub("%(?:25)+", "%", text).lower()
    parts = re.split(r"[/\\]|%2f|%5c", bare)
    leads_away = any(part.replace("%2e", ".") in ("", ".", "..") for part in parts)
    if leads_away or (len(parts) > 1 and not tool.parameters[name].slashes) or not text.isprintable():
        if not tool.parameters[name].is_the_models:
            # No model can mend it, and none may see it.
            raise Failed
        lang = runtime.state["lang"]
        raise Misused(phrase("tool_arguments", lang, tool=tool.name, problem=f"{text!r} cannot stand in an address"))
    return quote(text, safe="/" if tool.parameters[name].slashes else "")


def header_value(value: object) -> str:
    """Return a value as a header may have it: what is no plain character is escaped."""
    return quote(_plain(value), safe=PRINTABLE)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


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


BUDGET = 50
"""Seconds for all the tries of a call, pauses included; a call as a whole is cut after `tool_node.TIMEOUT`."""
LONGEST_PAUSE = 20
"""Seconds; a service that asks for a longer pause is not asked again."""
_BACKOFF = wait_exponential(multiplier=0.25)
DEEPEST = 40
"""Levels of an answer; one that is nested deeper is refused."""


@dataclass(frozen=True)
class Reply:
    """What a service answered: the status, and the JSON of the body (None: an empty one)."""

    status: int
    body: object


class NoAnswer(Exception):
    """Tells the operator why there is no answer; `again` if another try may have one, after `pause` seconds."""

    def __init__(self, reason: str, *, again: bool = False, pause: float | None = None) -> None:
        super().__init__(reason)
        self.again, self.pause = again, pause


async def exchange(client: httpx.AsyncClient, service: Service, request: Request, tries: int) -> Reply:
    """Return the answer to a request: a good one, or one that says what is wrong with the request (4xx).

    Raises:
        NoAnswer: there was none that can be used.
    """

    def gives_up(state: RetryCallState) -> bool:
        pause = state.upcoming_sleep
        is_late = (state.seconds_since_start or 0) + pause + service.timeout > BUDGET
        return state.attempt_number >= tries or pause > LONGEST_PAUSE or is_late

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, NoAnswer) and error.again),
        wait=_pause,
        stop=gives_up,
        reraise=True,
    )
    return await retrying(_try_once, client, service, request)


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next try: what the service asked for, else twice as many each time."""
    error = state.outcome and state.outcome.exception()
    if isinstance(error, NoAnswer) and error.pause is not None:
        return error.pause
    return _BACKOFF(state) * random.uniform(0.5, 1)


async def _try_once(client: httpx.AsyncClient, service: Service, request: Request) -> Reply:
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


async def _sent(client: httpx.AsyncClient, service: Service, request: Request) -> Reply:
    # An answer that is packed could grow beyond any bound in one step.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **request.headers}
    async with client.stream(request.method, request.url, headers=headers, content=request.body) as response:
        status = response.status_code
        if status in (408, 429) or status >= 500:
            raise NoAnswer(f"it answered {status}", again=True, pause=retry_after(response.headers))
        if not (200 <= status < 300 or 400 <= status < 500):
            raise NoAnswer(f"it answered {status}, which leads elsewhere")
        try:
            return Reply(status, _read(response, await read_body(response, service.max_bytes)))
        except (NoAnswer, BodyRefused) as refused:
            if status < 400:
                raise NoAnswer(str(refused)) from None
            return Reply(status, None)


def _read(response: httpx.Response, body: bytes) -> object:
    if not body.strip():
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise NoAnswer("its answer is not JSON by its content type")
    try:
        data: object = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    if not is_shallow(data):
        raise NoAnswer("its answer is nested too deeply")
    return data


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def is_shallow(data: object, left: int = DEEPEST) -> bool:
    """Tell whether data has no more than so many levels."""
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    return left > 0 and all(is_shallow(value, left - 1) for value in inner)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a service asks to be left alone; None if it does not say."""
    header = headers.get("retry-after", "").strip()
    if header.isdecimal():
        return float(header[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
