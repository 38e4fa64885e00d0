"""A database that fails in the middle of a turn: one line for the operator, a sentence for the user."""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import wraps
from typing import Any

from agents.events import Error, Event, TurnEnd
from app.assistant.run import Stamp
from prompts import phrase

LOG = logging.getLogger(__name__)
STORAGE = "storage"
"""The code of the error that ends such a turn."""

Play = Callable[..., AsyncGenerator[Event, None]]


def apologises(play: Play) -> Play:
    """Let a `play` end with an apology when the database fails; it says whether the message was stored before."""

    @wraps(play)
    async def guarded(self: Any, turn: Any) -> AsyncGenerator[Event, None]:
        try:
            self.memory.check_file()
            async with aclosing(play(self, turn)) as events:
                async for event in events:
                    yield event
        except (sqlite3.Error, OSError) as fault:
            LOG.error("thread %s: the database cannot be used: %s", turn.thread, fault)
            key = "sorry_storage" if await _is_stored(self, turn) else "sorry_not_stored"
            stamp = Stamp(turn.thread)
            yield stamp(Error(code=STORAGE, text=phrase(key, turn.lang or self._player.languages.default)), 0)
            yield stamp(TurnEnd(is_active=True, dialog=None, waiting=False), 0)

    return guarded


async def _is_stored(assistant: Any, turn: Any) -> bool:
    try:
        assistant.memory.check_file()
        return await assistant.memory.transcript.entry(turn.thread, turn.id) is not None
    except (sqlite3.Error, OSError):
        return False
