"""Fetching pages: where it may reach, and how much it takes."""

import socket
from typing import Any

import pytest

from agents.sources.web.fetcher import Fetcher, FetchError
from tests.engine.attacks.test_addresses import INSIDE, METADATA
from tests.engine.search.test_guard import TRICKS
from tests.support.http_service import Answer, Service

HTML = "text/html; charset=utf-8"


def resolver_of(*addresses: str) -> Any:
    """Return a name server that gives these answers, one after the other; the last one stays."""
    answers = list(addresses)

    def resolve(host: str, port: int, *more: Any) -> list[Any]:
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve


@pytest.mark.parametrize("url", [*TRICKS, "http://x.example:22/", "", "no address"])
async def test_no_spelling_leads_inside(url: str) -> None:
    """Addresses of this machine and its networks, in any spelling, are refused before anything is sent."""
    async with Fetcher(resolver=resolver_of("127.0.0.1")) as fetcher:
        with pytest.raises(FetchError):
            await fetcher.page(url)


@pytest.mark.parametrize("address", [INSIDE[0], INSIDE[3], INSIDE[6], *METADATA[:2]])
async def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    """The check uses the address of the name, and the connection goes to the same address."""
    async with Fetcher(resolver=resolver_of(address)) as fetcher:
        with pytest.raises(FetchError, match="may not be reached"):
            await fetcher.page("http://page.example/")


LEADS_INSIDE = ["http://169.254.169.254/latest", "http://127.0.0.1:1/", "file:///etc/passwd", "//10.0.0.1"]


@pytest.mark.parametrize("target", LEADS_INSIDE)
async def test_a_redirect_is_checked_like_the_first_address(target: str) -> None:
    """A page that may be read cannot lead to one that may not."""
    redirect = Answer(status=302, headers={"Location": target})
    async with Service.open(redirect) as service, Fetcher(inside=[service.url]) as fetcher:
        with pytest.raises(FetchError):
            await fetcher.page(service.url)

    assert len(service.asked) == 1


async def test_redirects_are_followed_so_far() -> None:
    """The address of a page is the one after its redirects; a loop ends."""
    moved, page = Answer(status=301, headers={"Location": "/b"}), Answer(b"Plain.", kind="text/plain")
    async with Service.open(moved, page) as near, Fetcher(inside=[near.url]) as fetcher:
        download = await fetcher.page(f"{near.url}/a")
    async with Service.open(moved) as loop, Fetcher(inside=[loop.url], redirects=3) as fetcher:
        with pytest.raises(FetchError, match="too many redirects"):
            await fetcher.page(loop.url)

    assert (download.url, download.body) == (f"{near.url}/b", b"Plain.")
    assert len(loop.asked) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"x" * 2_000, kind=HTML), "longer than"),
        (Answer(b"\x1f\x8b", kind=HTML, headers={"Content-Encoding": "gzip"}), "packed"),
        (Answer(b"MZ", kind="application/octet-stream"), "is not read"),
        (Answer(b"GIF", kind="image/gif"), "is not read"),
        (Answer(b"no", status=404, kind=HTML), "it answered 404"),
        (Answer(b"late", kind=HTML, comes_after=60), "no answer within"),
    ],
)
async def test_what_is_too_much_is_not_read(answer: Answer, reason: str) -> None:
    """Size, packing, kind, status and time are bounded."""
    async with Service.open(answer) as service, Fetcher(inside=[service.url], largest=1_000, timeout=60) as fetcher:
        with pytest.raises(FetchError, match=reason):
            await fetcher.page(service.url)


async def test_no_cookie_goes_from_one_request_to_the_next() -> None:
    """A site cannot tell that two users' searches come from the same machine by its cookie."""
    answer = Answer(b"text", kind="text/plain", headers={"Set-Cookie": "who=ann; Path=/"})
    async with Service.open(answer) as service, Fetcher(inside=[service.url]) as fetcher:
        await fetcher.page(service.url)
        await fetcher.page(service.url)

    assert "cookie" not in service.asked[1].headers
