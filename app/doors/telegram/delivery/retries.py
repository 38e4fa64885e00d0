"""Requests to Telegram that are made again: after the time it asks for, else after longer and longer waits."""

from collections.abc import Callable
from datetime import timedelta
from math import inf

from telegram.error import BadRequest, NetworkError, RetryAfter
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

FIRST_WAIT = 1.0
"""Seconds until a request is made again for the first time."""
LONGEST_WAIT = 30.0
"""Seconds until it is made again at most."""


def retrying(before_sleep: Callable[[BaseException], None], patience: float = inf) -> AsyncRetrying:
    """Return what makes a request until it succeeds, or Telegram was out of reach for `patience` seconds.

    The time that Telegram asks for is always waited for. `before_sleep` is given the failure. The last failure is
    raised, and at once any failure that another try cannot mend.
    """
    longer = wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)

    def wait(state: RetryCallState) -> float:
        failure = _failure(state)
        return seconds(failure) if isinstance(failure, RetryAfter) else longer(state)

    def is_over(state: RetryCallState) -> bool:
        return not isinstance(_failure(state), RetryAfter) and (state.seconds_since_start or 0) > patience

    return AsyncRetrying(
        retry=retry_if_exception(_passes),
        wait=wait,
        stop=is_over,
        before_sleep=lambda state: before_sleep(_failure(state)),
        reraise=True,
    )


def seconds(limit: RetryAfter) -> float:
    """Return how long Telegram asks to be left alone."""
    after = limit.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else after


def _passes(failure: BaseException) -> bool:
    # The library makes a refused request a kind of network error.
    return isinstance(failure, RetryAfter | NetworkError) and not isinstance(failure, BadRequest)


def _failure(state: RetryCallState) -> BaseException:
    failure = state.outcome.exception() if state.outcome else None
    assert failure is not None  # only failures are waited for
    return failure
