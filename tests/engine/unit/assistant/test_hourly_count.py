"""The limit of an hour under a name."""

import time

import pytest

from app.security import rates
from app.security.rates import HOUR, HourlyCount, network_of


def test_an_hour_later_turns_may_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that was admitted is admitted again and counts once; those of the last hour count, and no others."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    count = HourlyCount(2)
    assert [count.admits("ann", key) for key in ("a", "b", "a", "c")] == [True, True, True, False]
    assert count.admits("ben", "a")
    now[0] += HOUR + 1
    assert count.admits("ann", "c")


def test_only_the_latest_names_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many names the one that was counted longest ago is dropped; one that is refused changes nothing."""
    monkeypatch.setattr(rates, "MOST_NAMES", 2)
    count = HourlyCount(1)
    assert [count.admits(name) for name in ("ann", "ben", "ann", "cem")] == [True, True, False, True]
    assert [count.is_reached(name) for name in ("ann", "ben", "cem")] == [False, True, True]


@pytest.mark.parametrize(
    ("address", "network"), [("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "2001:db8::/64"), ("", ""), ("unix", "unix")]
)
def test_whose_an_address_is(address: str, network: str) -> None:
    """Of IPv6 one customer has a whole network to choose from."""
    assert network_of(address) == network
