"""`ring` as a process: 48 reminders over restarts and kills, each shown once."""

import os
import random
import re
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from agents.memory import Memory
from agents.memory.sqlite_file import SqliteBackend
from tests.support.notification_server import Notifications, notification_server
from tests.support.ringing import all_rang, remind, told
from tests.support.until import moment, until
from tests.support.warm_process import WarmProcess

pytestmark = pytest.mark.slow
REMINDERS = 48
KILL_EVERY = 8
"""After so many of them were shown a service is killed."""


async def start(path: Path, bus: str) -> WarmProcess:
    """Start the service as systemd does."""
    own = {"DATABASE_URL": f"sqlite:///{path}", "DBUS_SESSION_BUS_ADDRESS": bus}
    return await WarmProcess.start("ring", environment={**os.environ, **own})


async def has_gone_on(server: Notifications, memory: Memory, calls: int) -> bool:
    """Tell whether so much was shown, or all."""
    return len(server.calls) >= calls or await all_rang(memory)


async def test_each_is_shown_once_over_kills(bus: str, tmp_path: Path) -> None:
    """Two services ring one database and are killed again and again: nothing is lost, nothing stands there twice.

    A kill between showing a notification and taking note of it repeats the call, in the place of the one before.
    """
    path, chance, kills = tmp_path / "dialogs.db", random.Random(5), 0
    for number in range(REMINDERS):
        await remind(path, f"thing {number}", ago=0, thread=f"thread-{number % 4}")
    async with notification_server(bus) as server, SqliteBackend(f"sqlite:///{path}").open() as memory:
        services = [await start(path, bus) for _ in range(2)]
        while not await all_rang(memory):
            server.most = len(server.calls) + KILL_EVERY
            await until(partial(has_gone_on, server, memory, server.most))
            await moment(0.05, chance=chance)
            victim = services.pop(chance.randrange(2))
            victim.send_signal(chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
            await victim.wait()
            kills += 1
            services.append(await start(path, bus))
        for service in services:
            service.kill()
            await service.wait()
    assert kills >= 5
    shown = Counter(re.sub(r" \(missed.*", "", text) for text in server.shown.values())
    assert shown == {f"⏰ thing {number}": 1 for number in range(REMINDERS)}
    assert len(server.calls) - REMINDERS <= kills
    lines = [line for thread in range(4) for line in await told(path, f"thread-{thread}")]
    assert len(lines) == REMINDERS
