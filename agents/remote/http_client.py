"""Send a request and read the answer: bounded in time, size, kind and number of tries."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from ssrfguard import SSRFGuardError

from agents.remote.http_file import Service
from agents.remote.http_request import Request

BUDGET = 50
"""Seconds for all the tries of a call, pauses included; a call as a whole is cut after `running.TIMEOUT`."""
LONGEST_PAUSE = 20
FIRST_PAUSE = 0.25
DEEPEST = 40
"""Levels of an answer; deeper ones are nobody's data."""


@dataclass(frozen=True)
class Reply:
    """What a service answered: the status, and the JSON of the body (None: an empty one)."""

    status: int
    body: Any


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
    begun = time.monotonic()
    for done in range(1, tries + 1):
        try:
            async with asyncio.timeout(service.timeout):
                return await _once(client, service, request)
        except NoAnswer as failed:
            trouble = failed
        except TimeoutError:
            trouble = NoAnswer("no answer in time", again=True)
        except SSRFGuardError as refused:
            trouble = NoAnswer(f"refused by the guard ({type(refused).__name__})")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as lost:
            trouble = NoAnswer(f"no connection ({type(lost).__name__})", again=isinstance(lost, httpx.TransportError))
        backoff = FIRST_PAUSE * 2 ** (done - 1) * random.uniform(0.5, 1)
        pause = backoff if trouble.pause is None else trouble.pause
        late = time.monotonic() - begun + pause + service.timeout > BUDGET
        if not trouble.again or done == tries or pause > LONGEST_PAUSE or late:
            break
        await asyncio.sleep(pause)
    raise trouble


async def _once(client: httpx.AsyncClient, service: Service, request: Request) -> Reply:
    # An answer that is packed could grow beyond any bound in one step.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **request.headers}
    async with client.stream(request.method, request.url, headers=headers, content=request.body) as response:
        status = response.status_code
        if status in (408, 429) or status >= 500:
            raise NoAnswer(f"it answered {status}", again=True, pause=retry_after(response.headers))
        if not (200 <= status < 300 or 400 <= status < 500):
            raise NoAnswer(f"it answered {status}, which leads elsewhere")
        try:
            return Reply(status, _read(response, await _bytes(response, service.max_bytes)))
        except NoAnswer:
            if status < 400:
                raise
            return Reply(status, None)


async def _bytes(response: httpx.Response, most: int) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise NoAnswer("its answer is packed, though it was told not to")
    whole = bytearray()
    async for piece in response.aiter_raw():
        whole += piece
        if len(whole) > most:
            raise NoAnswer(f"its answer is longer than {most} bytes")
    return bytes(whole)


def _read(response: httpx.Response, body: bytes) -> Any:
    if not body.strip():
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise NoAnswer("its answer is not JSON by its content type")
    try:
        found = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    if not is_shallow(found):
        raise NoAnswer("its answer is nested too deeply")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def is_shallow(data: Any, left: int = DEEPEST) -> bool:
    """Tell whether data has no more than so many levels."""
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    return left > 0 and all(is_shallow(one, left - 1) for one in inner)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a service asks to be left alone; None if it does not say."""
    asked = headers.get("retry-after", "").strip()
    if asked.isdecimal():
        return float(asked[:9])
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
