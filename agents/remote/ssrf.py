"""Restrict requests to the host of a service, whose address is checked and pinned when the connection is made.

ssrfguard resolves a name once, checks every answer and connects to what it has checked; userinfo, encoded
addresses and other schemes, hosts and ports are refused before that, on redirects too.
"""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
from ssrfguard import DEFAULT_DENIED, AddressTable, Policy, Reach, Resolver, SSRFGuardError
from ssrfguard.httpx import AsyncClient

INTERNAL = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "::1/128", "fc00::/7", "100.64.0.0/10"}
"""What `internal: true` opens; link-local addresses, and those where clouds keep their credentials, stay closed."""
NEAR = AddressTable(
    tuple(
        replace(block, reach=Reach.PERMITTED) if str(block.network) in INTERNAL else block
        for block in DEFAULT_DENIED.blocks
    )
)


def policy_of(url: str, *, internal: bool, redirects: int = 0) -> Policy:
    """Return the policy that allows requests to the service at this address alone.

    Raises:
        ValueError: the address is no plain http or https one, or in a network that is not allowed.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not the address of a service: write http://… or https://…")
    policy = Policy(
        allowed_schemes=frozenset({parts.scheme}),
        allowed_hosts=frozenset({parts.hostname}),
        allowed_ports=frozenset({parts.port or (443 if parts.scheme == "https" else 80)}),
        denied_networks=NEAR if internal else DEFAULT_DENIED,
        max_redirects=redirects,
    )
    try:
        policy.check_url(url)
    except SSRFGuardError as refused:
        raise ValueError(
            f"{getattr(refused, 'reason', refused)} (a service of one's own needs `internal: true`)"
        ) from None
    return policy


def guarded_client(
    policy: Policy,
    *,
    headers: Mapping[str, str],
    timeout: float | httpx.Timeout,
    resolver: Resolver | None = None,
    auth: httpx.Auth | None = None,
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
        auth=auth,
    )
