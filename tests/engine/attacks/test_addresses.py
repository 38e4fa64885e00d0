"""Addresses inside a network, spelled in every way: no service, page or server of a file is let there."""

import random
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from ssrfguard import DEFAULT_DENIED, Reach

from agents.sources.web.ssrf import FAR, NEAR, policy_of

INSIDE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("100.64.0.1", "100.127.255.254", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1"),
    *("::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::a00:1"),
    *("2002:7f00:1::", "2002:a00:1::", "2001:0:7f00:1::", "2001:0:808:808::80ff:fffe"),
    *("2001:db8::1", "3fff::1", "5f00::1", "100::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1"),
]
METADATA = [
    *("169.254.169.254", "169.254.170.2", "169.254.0.23", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    *("fd00:ec2::254", "fd20:ce::254", "fd00:42::42", "fd00:c1::a9fe:a9fe", "fe80::a9fe:a9fe"),
    *("::ffff:169.254.169.254", "::ffff:168.63.129.16", "64:ff9b::a9fe:a9fe", "64:ff9b::168.63.129.16"),
    *("2002:a9fe:a9fe::", "::169.254.169.254", "::ffff:0:169.254.169.254"),
]
"""Addresses of clouds' credentials and settings; `internal: true` does not open them."""


@pytest.mark.parametrize("address", [*INSIDE, *METADATA])
def test_a_service_is_not_inside(address: str) -> None:
    """No file may name it, and no name may resolve to it."""
    assert FAR.classify(address).blocked
    with pytest.raises(ValueError, match=r"\w"):
        policy_of(_url(address), internal=False)


@pytest.mark.parametrize("address", METADATA)
def test_metadata_stays_closed_on_the_inside(address: str) -> None:
    """`internal: true` opens private networks, and none of these."""
    assert NEAR.classify(address).blocked
    with pytest.raises(ValueError, match=r"\w"):
        policy_of(_url(address), internal=True)


def test_what_is_not_global_is_refused() -> None:
    """Of many addresses, each that Python does not call global is refused, but for anycast services of the internet."""
    chance = random.Random(7)
    numbers = [IPv4Address(chance.getrandbits(32)) for _ in range(3000)]
    edges = [block.network[place] for block in DEFAULT_DENIED.blocks for place in (0, -1)]
    six = [IPv6Address(chance.getrandbits(128)) for _ in range(1000)]
    served = [block.network for block in DEFAULT_DENIED.blocks if block.reach is Reach.PERMITTED]
    translated = [block.network for block in DEFAULT_DENIED.blocks if block.reach is Reach.TRANSLATED]
    for address in [*numbers, *six, *edges]:
        if not address.is_global and not any(address in network for network in [*served, *translated]):
            assert FAR.classify(address).blocked, address


def _url(address: str) -> str:
    return f"http://[{address}]/" if ip_address(address).version == 6 else f"http://{address}/"
