"""A remote tool reaches its own service alone, whatever a file, a model, a name server or a redirect says."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from ssrfguard import SSRFGuardError

from agents.sources.web.ssrf import guarded_client, policy_of
from tests.support.http_service import Answer, Service

TRICKS = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0x7f000001/",
    "http://127.0.0.1./",
    "http://①②⑦.⓪.⓪.①/",
    "http://ⓛocalhost/",
    "http://0x7f.1/",
    "http://%31%32%37.0.0.1/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://[fe80::1%25eth0]/",
    "http://shop.example@127.0.0.1/",
    "http://shop.example\\@127.0.0.1/",
    "http://user:word@shop.example/",
    "http://shop.example:0/",
    "http://shop.example:99999/",
    "http://shop.exa\nmple/",
    "http://shop%2eexample/",
    "http:///path",
    "//shop.example/",
    "ftp://shop.example/",
    "file:///etc/passwd",
    "gopher://shop.example/",
]


@pytest.mark.parametrize("url", TRICKS)
async def test_tricks_are_refused(url: str) -> None:
    """No service can have such an address; a name that leads to one is refused at its use."""

    async def use() -> None:
        async with guarded_client(policy_of(url, internal=False), headers={}, timeout=60) as client:
            await client.get(url)

    with pytest.raises((ValueError, SSRFGuardError, httpx.InvalidURL, httpx.ConnectError)) as refused:
        await use()
    if isinstance(refused.value, httpx.ConnectError):
        assert isinstance(refused.value.__context__.__context__, socket.gaierror)  # type: ignore[union-attr]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.7", "[::1]", "[fd12::1]"])
def test_internal_services_may_be_near(address: str) -> None:
    """`internal` opens this machine and private networks."""
    assert policy_of(f"http://{address}:8080/api", internal=True)


class NameServer:
    """Answers the addresses it is given, one a question; the last one stays."""

    def __init__(self, *addresses: str) -> None:
        self.left, self.asked = list(addresses), 0

    def __call__(self, host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        """Stand in for `socket.getaddrinfo`."""
        self.asked += 1
        address = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, int(port))) for one in address.split()]


@asynccontextmanager
async def client(
    names: NameServer, port: int, *, internal: bool, redirects: int = 0
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for a shop behind a name server."""
    policy = policy_of(f"http://shop.example:{port}", internal=internal, redirects=redirects)
    async with guarded_client(policy, headers={}, timeout=60, resolver=names) as opened:
        yield opened


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "93.184.216.34 127.0.0.1"])
async def test_a_name_may_not_stand_for_a_near_address(address: str) -> None:
    """A public name that resolves to a near address, be it one of several, is refused without a connection."""
    names = NameServer(address)
    async with Service.open(Answer({})) as service, client(names, service.port, internal=False) as shop:
        with pytest.raises(SSRFGuardError):
            await shop.get(f"http://shop.example:{service.port}/")
    assert service.asked == []


async def test_the_address_that_was_checked_is_used() -> None:
    """A name that moves after the check moves nothing: it is resolved once for a connection, and checked each time."""
    names = NameServer("127.0.0.1", "169.254.169.254")
    async with Service.open(Answer({})) as service, client(names, service.port, internal=True) as shop:
        assert (await shop.get(f"http://shop.example:{service.port}/")).status_code == 200
        assert names.asked == 1
        with pytest.raises(SSRFGuardError):
            await shop.get(f"http://shop.example:{service.port}/")
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{port}/", "http://shop.example:1/", "https://shop.example:{port}/", "//evil.example/"]
)
async def test_a_redirect_leads_nowhere_else(target: str) -> None:
    """A redirect, where one is followed at all, stays at the service."""
    names = NameServer("127.0.0.1")
    async with Service.open(Answer(status=302)) as service:
        answer = Answer(status=302, headers={"Location": target.format(port=service.port)})
        service.answers[:] = [answer]
        for redirects in (0, 1):
            async with client(names, service.port, internal=True, redirects=redirects) as shop:
                with pytest.raises(SSRFGuardError):
                    await shop.get(f"http://shop.example:{service.port}/a")
    assert {asked.target for asked in service.asked} <= {"/a"}


async def test_a_redirect_within_the_service_may_be_followed() -> None:
    """`redirects: 1` follows one to another path of the same service, and no second one."""
    moved = Answer(status=302, headers={"Location": "/b"})
    async with (
        Service.open(moved, Answer({"ok": 1})) as service,
        client(NameServer("127.0.0.1"), service.port, internal=True, redirects=1) as shop,
    ):
        assert (await shop.get(f"http://shop.example:{service.port}/a")).json() == {"ok": 1}
        service.answers[:] = [moved]
        with pytest.raises(SSRFGuardError):
            await shop.get(f"http://shop.example:{service.port}/a")


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would resolve names itself; none is taken from the environment."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with (
        Service.open(Answer({})) as service,
        client(NameServer("127.0.0.1"), service.port, internal=True) as shop,
    ):
        assert (await shop.get(f"http://shop.example:{service.port}/")).status_code == 200
