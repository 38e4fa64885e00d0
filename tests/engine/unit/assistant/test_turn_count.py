"""How many turns a user may begin in an hour."""

import time

import pytest

from app.assistant import turn as turn_module
from app.assistant.turn import HOUR, TurnCount


def test_an_hour_later_turns_may_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that was admitted is admitted again and counts once; those of the last hour count, and no others."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    count = TurnCount(2)
    assert [count.admits("ann", key) for key in ("a", "b", "a", "c")] == [True, True, True, False]
    assert count.admits("ben", "a")
    now[0] += HOUR + 1
    assert count.admits("ann", "c")


def test_users_who_have_gone_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the turns of the last hour are kept when many have been here."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(turn_module, "MOST_USERS", 2)
    count = TurnCount(1)
    for user in ("ann", "ben"):
        assert count.admits(user, "a")
    now[0] += HOUR + 1
    assert count.admits("cem", "a")
    assert set(count._turns) == {"cem"}
    assert not count.admits("cem", "b")
