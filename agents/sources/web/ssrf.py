"""Restrict requests to the host of a service; its address is checked and pinned when the connection is made.

ssrfguard resolves a name once, checks every answer and connects to a checked address; userinfo, encoded addresses
and other schemes, hosts and ports are refused before that, on redirects too.
"""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, ip_network
from socket import inet_aton
from urllib.parse import urlsplit

import httpx
from ssrfguard import DEFAULT_DENIED, AddressTable, Block, Policy, Reach, Resolver, SSRFGuardError
from ssrfguard.httpx import AsyncClient

INTERNAL = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "::1/128", "fc00::/7", "100.64.0.0/10"}
"""The networks that `internal: true` opens. Link-local addresses and those of cloud credentials stay closed."""
ALSO_DENIED = {
    "168.63.129.16/32": "Azure's platform, at a public address",
    "fd20:ce::254/128": "Cloud metadata (Google Cloud over IPv6)",
    "fd00:42::42/128": "Cloud metadata (Scaleway over IPv6)",
    "fd00:c1::a9fe:a9fe/128": "Cloud metadata (Oracle Cloud over IPv6)",
    "::ffff:0:0:0/96": "IPv4-translated address, which carries any IPv4 address",
}
"""Addresses that the guard's own table allows, with or without `internal: true`, and the reason for its messages."""
FAR = AddressTable(
    (*DEFAULT_DENIED.blocks, *(Block(ip_network(at), why, "", Reach.DENIED) for at, why in ALSO_DENIED.items()))
)
NEAR = AddressTable(
    tuple(replace(block, reach=Reach.PERMITTED) if str(block.network) in INTERNAL else block for block in FAR.blocks)
)


def policy_of(url: str, *, internal: bool, redirects: int = 0) -> Policy:
    """Return the policy that allows requests to the service at this address alone.

    Raises:
        ValueError: the address is not a plain http or https one, or its network is not allowed.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not the address of a service: write http://… or https://…")
    if _is_disguised(parts.hostname):
        raise ValueError("is a number in another form: write it as four numbers with dots")
    policy = Policy(
        allowed_schemes=frozenset({parts.scheme}),
        allowed_hosts=frozenset({parts.hostname}),
        allowed_ports=frozenset({parts.port or (443 if parts.scheme == "https" else 80)}),
        denied_networks=NEAR if internal else FAR,
        max_redirects=redirects,
    )
    try:
        policy.check_url(url)
    except SSRFGuardError as refused:
        raise ValueError(
            f"{getattr(refused, 'reason', refused)} (a service of one's own needs `internal: true`)"
        ) from None
    return policy


def _is_disguised(host: str) -> bool:
    # Resolvers read 0x7f.1 as an address, too.
    try:
        return str(IPv4Address(inet_aton(host))) != host
    except OSError:
        return False


def guarded_client(
    policy: Policy, *, headers: Mapping[str, str], timeout: float | httpx.Timeout, resolver: Resolver | None = None
) -> AsyncClient:
    """Return a client that is bound to the policy; it takes no proxy and no password from the environment."""
    return AsyncClient(
        policy=policy,
        resolver=resolver,
        headers=dict(headers),
        timeout=timeout,
        follow_redirects=policy.max_redirects > 0,
        trust_env=False,
        verify=ssl.create_default_context(),
    )


class BodyRefused(Exception):
    """A body is too long, or packed; the message says which."""


class BodyTooLong(BodyRefused):
    """A body is too long."""


async def read_body(response: httpx.Response, most: int) -> bytes:
    """Return the body of an answer that is at most `most` bytes long and not packed.

    Raises:
        BodyRefused: it is packed, since it could grow beyond any bound in one step, or too long (BodyTooLong).
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise BodyRefused("its answer is packed, though it was told not to")
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            raise BodyTooLong(f"its answer is longer than {most} bytes")
    return bytes(body)
