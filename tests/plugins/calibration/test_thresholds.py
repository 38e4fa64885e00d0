"""Thresholds fitted to a log: they follow the verdicts, within limits, and only when there are enough of them."""

import pytest

from agents.conversation.gate import Thresholds
from agents.errors import UsageError
from agents.memory.gate_log import Logged
from app.plugins.calibration.thresholds import FARTHEST, LEAST_STAYS, LEAST_SWITCHES, SPREAD, fitted

SHIPPED = Thresholds(low=-2.0, high=2.0)


def stays(*scores: float) -> list[Logged]:
    """Return messages that an observer found to stay."""
    return [Logged(score, watched=True, leaves=False) for score in scores]


def leaves(*scores: float, watched: bool = True) -> list[Logged]:
    """Return changes of subject; those that nobody watched were given back by the dialog."""
    return [Logged(score, watched, leaves=True) for score in scores]


ENOUGH = [*stays(*[-1.5] * LEAST_STAYS), *leaves(*[3.0] * LEAST_SWITCHES)]


def test_low_rises_where_observers_find_nothing() -> None:
    """All changes of subject score high, so doubtful messages below need no observer any more."""
    chosen = fitted(ENOUGH, SHIPPED, SHIPPED)
    assert chosen.thresholds.low == SHIPPED.low + FARTHEST
    assert (chosen.turns, chosen.switches) == (LEAST_STAYS + LEAST_SWITCHES, LEAST_SWITCHES)
    assert chosen.spared_before == 0
    assert chosen.spared == pytest.approx(LEAST_STAYS / (LEAST_STAYS + LEAST_SWITCHES))


def test_low_falls_where_dialogs_give_back() -> None:
    """A message that the gate let pass and the dialog gave back moves the threshold below its score."""
    log = [*ENOUGH, *leaves(*[-4.0] * 5, watched=False)]
    assert fitted(log, SHIPPED, SHIPPED).thresholds.low == -4.0


def test_thresholds_move_only_so_far() -> None:
    """A few odd messages do not take the gate away, and the thresholds do not meet."""
    log = [*ENOUGH, *leaves(*[-40.0] * 5, watched=False)]
    assert fitted(log, SHIPPED, SHIPPED).thresholds.low == SHIPPED.low - FARTHEST
    close = fitted(ENOUGH, SHIPPED, SHIPPED).thresholds
    assert close.high >= close.low + SPREAD


def test_high_is_where_messages_surely_leave() -> None:
    """From there on a draft would be thrown away nearly always."""
    log = [*stays(*[-1.5] * LEAST_STAYS), *leaves(*[1.6] * LEAST_SWITCHES)]
    assert fitted(log, SHIPPED, SHIPPED).thresholds.high == pytest.approx(1.6)


@pytest.mark.parametrize(
    "log",
    [
        [],
        [*stays(*[-1.0] * LEAST_STAYS), *leaves(*[3.0] * (LEAST_SWITCHES - 1))],
        [*stays(*[-1.0] * (LEAST_STAYS - 1)), *leaves(*[3.0] * LEAST_SWITCHES)],
        [*[Logged(-5.0, watched=False, leaves=False)] * 1000, *leaves(*[3.0] * LEAST_SWITCHES)],
    ],
)
def test_too_short_a_log_is_refused(log: list[Logged]) -> None:
    """It says what there is and what is needed; messages that nobody looked at prove nothing."""
    with pytest.raises(UsageError, match="left as they are"):
        fitted(log, SHIPPED, SHIPPED)
