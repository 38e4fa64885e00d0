"""Send a request and read the answer: bounded in time, size, kind and number of tries."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import NoReturn

import httpx
from ssrfguard import SSRFGuardError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

from agents.remote.http_file import Service
from agents.remote.http_request import Request
from agents.sources.web.body import BodyRefused, read_body

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
