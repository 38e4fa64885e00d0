"""Work that takes minutes, done beside the requests that ask for it: how far it is, and what came of it."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agents.errors import ConfigError, ContractError, UsageError
from app.process.tasks import cancel
from prompts import PromptError

MOST_KEPT = 50
"""Works that are remembered."""
Tell = Callable[[int, int], None]
FAULTS = (UsageError, ConfigError, ContractError, PromptError)
"""What whoever asked for the work can put right."""
Outcome = TypeVar("Outcome")


@dataclass
class Work(Generic[Outcome]):
    """One piece of work."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: int = 0
    steps: int = 0
    """How many there are; 0: that is not known yet."""
    task: asyncio.Task[Outcome] = field(init=False)

    def tell(self, done: int, steps: int) -> None:
        """Hear how far it is."""
        self.done, self.steps = done, steps


class Works(Generic[Outcome]):
    """The work of this process."""

    def __init__(self) -> None:
        self._works: dict[str, Work[Outcome]] = {}

    def of(self, id: str) -> Work[Outcome] | None:
        """Return a work that was begun here."""
        return self._works.get(id)

    def begin(self, do: Callable[[Tell], Coroutine[object, object, Outcome]]) -> Work[Outcome]:
        """Begin some work, which tells how far it is and returns its outcome."""
        work = Work[Outcome]()
        work.task = asyncio.create_task(do(work.tell))
        self._works[work.id] = work
        for old in [id for id, each in self._works.items() if each.task.done()][:-MOST_KEPT]:
            del self._works[old]
        return work

    async def close(self) -> None:
        """Break off what is not over."""
        await cancel(work.task for work in self._works.values())
