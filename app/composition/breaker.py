"""A circuit breaker for each address of a model: after failures in a row calls fail at once, until a try succeeds.

Only a server without an answer counts as failed: the first piece of a reply, or a refusal, is an answer.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial

from langchain_core.exceptions import ModelError
from langchain_core.messages import AIMessage, AnyMessage

from agents.models import Model, Models, Stream, ToolSchema
from agents.models.failures import diagnose, is_failure, status

LOG = logging.getLogger(__name__)
OUTAGES = ("busy", "unavailable")
"""The troubles of a server that does not answer."""
REFUSED = (400, 422)
"""The statuses of a server that answers and finds the request wrong: the next request may be right."""
SILENT = 0.9
"""The share of a model's patience after which a cancelled call counts as failed."""


class Resting(ModelError):
    """A model is not asked, because it has failed so often; the user reads the same text as after a failure."""

    def __init__(self, place: str, *, is_busy: bool) -> None:
        super().__init__(f"{place} rests after its failures")
        self.is_retryable = is_busy


@dataclass
class Breaker:
    """Lets calls pass; `most` failures in a row stop all calls for `rest` seconds, then one passes at a time."""

    place: str
    most: int
    rest: float
    now: Callable[[], float] = time.monotonic
    _failures: int = 0
    _until: float = 0
    _is_busy: bool = False
    _is_tried: bool = False

    def begin(self) -> None:
        """Let a call begin. Raises Resting if none may."""
        if self._failures >= self.most:
            if self._is_tried or self.now() < self._until:
                raise Resting(self.place, is_busy=self._is_busy)
            self._is_tried = True

    def end(self, failure: BaseException | None, *, is_silent: bool = False) -> None:
        """Take the outcome of a call; a call that was cancelled early, or failed by our own fault, does not count."""
        self._is_tried = False
        trouble = diagnose(failure) if isinstance(failure, Exception) and is_failure(failure) else None
        if is_silent or (trouble in OUTAGES and failure and status(failure) not in REFUSED):
            self._failures += 1
            self._until, self._is_busy = self.now() + self.rest, trouble != OUTAGES[1]
            if self._failures >= self.most:
                LOG.warning(
                    "%s: %d failures in a row; it is tried again in %g s", self.place, self._failures, self.rest
                )
        elif failure is None or trouble:
            self._failures = 0


async def _guarded(
    stream: Stream, breaker: Breaker, patience: float, prompt: list[AnyMessage]
) -> AsyncIterator[AIMessage]:
    """Stream a reply behind a breaker. Raises Resting."""
    breaker.begin()
    begun, has_begun = breaker.now(), False
    try:
        async for piece in stream(prompt):
            if not has_begun:
                has_begun = True
                breaker.end(None)
            yield piece
    except (Exception, asyncio.CancelledError, GeneratorExit) as failure:
        if not has_begun:
            breaker.end(failure, is_silent=breaker.now() - begun >= SILENT * patience)
        raise


@dataclass(frozen=True)
class GuardedModel(Model):
    """A model behind a breaker."""

    breaker: Breaker = field(default_factory=lambda: Breaker("", 1, 0), compare=False)

    def bound(self, tools: Sequence[ToolSchema], key: str) -> Stream:
        """See `Model`."""
        return partial(_guarded, super().bound(tools, key), self.breaker, self.patience)


def guarded(models: Models, most: int, rest: float, now: Callable[[], float] = time.monotonic) -> Models:
    """Return the models behind breakers, one for each address; without breakers if `most` is 0."""
    if not most:
        return models
    breakers = {model.place: Breaker(model.place, most, rest, now) for model in models}

    def behind(model: Model) -> Model:
        own = {part.name: getattr(model, part.name) for part in fields(model)}
        return GuardedModel(**own, breaker=breakers[model.place])

    return models.each(behind)
