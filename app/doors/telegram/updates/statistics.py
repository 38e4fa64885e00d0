"""How the bot is doing, for its administrators: what waits, for how long, and what went wrong."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from agents.memory.inbox import now_ms
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place, chat_of
from app.doors.telegram.updates.answers import Answer
from app.doors.telegram.updates.reactions import BAD, GOOD
from prompts import sentence

NAME = "stats"
WEEK_MS = 7 * 24 * 3600 * 1000


class Faults(logging.Handler):
    """Counts the errors and warnings that are logged; nothing of them is kept."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.began = time.monotonic()
        self.errors = self.warnings = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        if record.levelno >= logging.ERROR:
            self.errors += 1
        else:
            self.warnings += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count during the block."""
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)


def may_see(door: TelegramDoor, place: Place) -> bool:
    """Tell whether somebody is told how the bot is doing: an administrator, in a private chat."""
    user = chat_of(place.owner)
    return user is not None and not place.is_group and door.access.is_admin(user)


async def statistics(door: TelegramDoor, faults: Faults, place: Place) -> Answer:
    """Return how the bot is doing."""
    waiting = await door.assistant.memory.updates.open(door.name)
    # The first one may be this command's own.
    oldest = min((update.received_ms for update in waiting), default=now_ms())
    signs = await door.assistant.memory.feedback.counts(now_ms() - WEEK_MS)
    facts = {
        "hours": round((time.monotonic() - faults.began) / 3600, 1),
        "waiting": len(waiting),
        "lag": round((now_ms() - oldest) / 1000, 1),
        "answers": len(door.answers),
        "queues": door.chats.busy,
        "errors": faults.errors,
        "warnings": faults.warnings,
        "good": sum(count for sign, count in signs.items() if sign in GOOD),
        "bad": sum(count for sign, count in signs.items() if sign in BAD),
    }
    return Answer(sentence("telegram", NAME, await door.lang(place), **facts))
