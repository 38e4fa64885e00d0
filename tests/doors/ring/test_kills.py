"""`ring` as a process: 200 reminders over restarts and kills, each shown once."""

import asyncio
import os
import random
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from pathlib import Path

import pytest

from agents.memory import open_memory
from tests.support.notification_server import notification_server
from tests.support.places import ROOT
from tests.support.ringing import remind, told

pytestmark = pytest.mark.slow
REMINDERS = 200
SPREAD = 16.0
"""Seconds over which they become due."""


async def start(path: Path, bus: str) -> Process:
    """Start the service as systemd does."""
    own = {"DATABASE_URL": f"sqlite:///{path}", "DBUS_SESSION_BUS_ADDRESS": bus}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app", "ring", cwd=ROOT, env={**os.environ, **own}, stderr=DEVNULL
    )


async def test_each_is_shown_once_over_kills(bus: str, tmp_path: Path) -> None:
    """Two services ring one database and are killed again and again: nothing is lost, nothing stands there twice.

    A kill between showing a notification and taking note of it repeats the call, in the place of the one before.
    """
    path, chance, kills = tmp_path / "dialogs.db", random.Random(5), 0
    for number in range(REMINDERS):
        await remind(path, f"thing {number}", ago=-4 - SPREAD * number / REMINDERS, thread=f"thread-{number % 4}")
    async with notification_server(bus) as server, open_memory(f"sqlite:///{path}") as memory:
        services = [await start(path, bus) for _ in range(2)]
        last = time.monotonic() + SPREAD + 8
        while time.monotonic() < last or await memory.notices.due(2**53, None, "*"):
            await asyncio.sleep(0.1)
            if server.calls and time.monotonic() < last and chance.random() < 0.08:
                victim = services.pop(0)
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
