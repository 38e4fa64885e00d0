"""Fetch the pages of a search: guarded at every step, and bounded in time, size, steps and kind."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Self
from urllib.parse import urljoin, urlsplit

import httpx
from ssrfguard import Policy, Resolver, SSRFGuardError

from agents.sources.web.ssrf import FAR, BodyRefused, guarded_client, policy_of, read_body

USER_AGENT = "dialog-supervisor/0.1 (search for a user)"
HTML = frozenset({"text/html", "application/xhtml+xml"})
PLAIN = frozenset({"text/plain", "text/markdown"})
PDF = "application/pdf"
PAGES = HTML | PLAIN | {PDF}
LARGEST_ANSWER = 2_000_000  # Bytes of a search service's answer.
STEP = 1  # Redirects that the guard lets httpx prepare; the fetcher follows them, each checked like a new address.
PUBLIC = Policy(denied_networks=FAR, max_redirects=STEP)


class FetchError(Exception):
    """There is nothing to read; the message gives the reason, in words for a model, without the data that were sent."""


@dataclass(frozen=True)
class Download:
    """The result of a request: the address after all redirects, the content type without parameters, the bytes."""

    url: str
    kind: str
    body: bytes


class Fetcher:
    """Fetches pages of the public web, and JSON of services that the operator has configured.

    `timeout` is in seconds, for a page with its redirects; `largest` in bytes. `inside` are addresses such as
    `http://wiki.lan` with readable pages in an inner network.
    """

    def __init__(
        self,
        *,
        timeout: float = 10,
        largest: int = 3_000_000,
        redirects: int = 5,
        inside: Collection[str] = (),
        resolver: Resolver | None = None,
    ) -> None:
        self.timeout, self.largest, self.redirects = timeout, largest, redirects
        self._resolver = resolver
        self._inside = {_origin(address): _service_policy(address) for address in inside}
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def page(self, url: str, kinds: Collection[str] = PAGES) -> Download:
        """Return the page at an address of the web.

        Raises:
            FetchError: it may not be reached, does not answer, or is too large or of another kind.
        """
        async with _in_time(self.timeout):
            for _ in range(self.redirects + 1):
                step = await self._step(url, kinds)
                if isinstance(step, Download):
                    return step
                url = urljoin(url, step)
        raise FetchError("too many redirects")

    async def answer(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> object:
        """Return the JSON answer of a service: to a POST if there is a `body`, else to a GET.

        The operator has set the service's address, so it may be in an inner network; redirects are not followed.

        Raises:
            FetchError: it does not answer, or not with JSON.
        """
        sent = {"Accept": "application/json", **(headers or {})}
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        client = self._client(_origin(url), _service_policy(url))
        method = "GET" if data is None else "POST"
        async with _in_time(self.timeout):
            request = client.build_request(method, url, params=params, headers=sent, content=data)
            response = await client.send(request, stream=True, follow_redirects=False)
            async with aclosing(response):
                if response.status_code != httpx.codes.OK:
                    raise FetchError(f"it answered {response.status_code}")
                body_bytes = await read_body(response, LARGEST_ANSWER)
        try:
            answer: object = json.loads(body_bytes)
        except (ValueError, RecursionError):
            raise FetchError("its answer is not JSON") from None
        return answer

    async def _step(self, url: str, kinds: Collection[str]) -> Download | str:
        origin = _origin(url)
        client = self._client(origin, self._inside[origin]) if origin in self._inside else self._client("", PUBLIC)
        headers = {"Accept": ", ".join(sorted(kinds))}
        async with client.stream("GET", url, headers=headers, follow_redirects=False) as response:
            if response.has_redirect_location:
                return response.headers["location"]
            if response.status_code != httpx.codes.OK:
                raise FetchError(f"it answered {response.status_code}")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in kinds:
                raise FetchError(f"it is {kind or 'of no known kind'}, which is not read")
            return Download(url, kind, await read_body(response, self.largest))

    def _client(self, name: str, policy: Policy) -> httpx.AsyncClient:
        if name not in self._clients:
            # An answer that is packed could grow beyond any bound in one step.
            headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
            client = guarded_client(policy, headers=headers, timeout=self.timeout, resolver=self._resolver)
            # Cookies of one user's request must not be sent with another's.
            client.cookies.jar = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            self._clients[name] = client
        return self._clients[name]


def _service_policy(url: str) -> Policy:
    return policy_of(url, internal=True, redirects=STEP)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


@asynccontextmanager
async def _in_time(timeout: float) -> AsyncIterator[None]:
    """Limit the block to `timeout` seconds, and raise `FetchError` for any failure."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError:
        raise FetchError(f"no answer within {timeout:g} seconds") from None
    except SSRFGuardError as refused:
        raise FetchError(f"the address may not be reached ({type(refused).__name__})") from None
    except BodyRefused as refused:
        raise FetchError(str(refused)) from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as lost:
        raise FetchError(f"no connection ({type(lost).__name__})") from None
