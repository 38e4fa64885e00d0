"""Work that takes minutes, done beside the requests that ask for it: how far it is, and what came of it."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents.errors import ConfigError, ContractError, UsageError
from app.process.tasks import cancel
from prompts import PromptError

LOG = logging.getLogger(__name__)
MOST_KEPT = 50
"""Works that are remembered."""
Tell = Callable[[int, int], None]
FAULTS = (UsageError, ConfigError, ContractError, PromptError)
"""What whoever asked for the work can put right."""


Outcome = TypeVar("Outcome")


@dataclass
class Work(Generic[Outcome]):
    """One piece of work."""

    id: str
    done: int = 0
    steps: int = 0
    """How many there are; 0: that is not known yet."""
    outcome: Outcome | None = None
    """What came of it; None while it goes on."""
    fault: str = ""
    """Why there will be none."""


class Works(Generic[Outcome]):
    """The work of this process."""

    def __init__(self) -> None:
        self._works: dict[str, Work[Outcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, id: str) -> Work[Outcome] | None:
        """Return a work that was begun here."""
        return self._works.get(id)

    def begin(self, do: Callable[[Tell], Awaitable[Outcome]]) -> Work[Outcome]:
        """Begin some work, which tells how far it is and returns its outcome."""
        work = Work[Outcome](uuid.uuid4().hex)
        self._works = dict([*self._works.items()][-MOST_KEPT + 1 :]) | {work.id: work}
        task = asyncio.create_task(_done(work, do))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return work

    async def close(self) -> None:
        """Break off what is not over."""
        await cancel(self._tasks)


async def _done(work: Work[Outcome], do: Callable[[Tell], Awaitable[Outcome]]) -> None:
    def tell(done: int, steps: int) -> None:
        work.done, work.steps = done, steps

    try:
        work.outcome = await do(tell)
    except FAULTS as fault:
        work.fault = str(fault)
    except Exception:
        LOG.exception("work of the lab failed")
        work.fault = "Something went wrong here; the log tells more."
