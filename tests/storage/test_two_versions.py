"""Workers of this version and of the next play beside each other, while people talk."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.http_door import streamed
from tests.support.next_version import next_version
from tests.support.postgres_server import PostgresServer
from tests.support.worker_fleet import Fleet

pytestmark = pytest.mark.slow
THREADS, BY_EACH = 12, 12
"""Conversations, and the answers that each version gives at least while both play."""
PRESENT, NEXT = "Set", "Noted"


class People:
    """Talk in several threads at a time; every message is answered before the next."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.told = defaultdict[str, list[str]](list)
        """What each thread was told, one entry for each message."""

    async def say(self, until: Callable[[], bool]) -> None:
        """Let everybody set one reminder after the other until something is true."""
        while not until():
            await asyncio.gather(*(self._remind(f"t{number}") for number in range(THREADS)))

    async def _remind(self, thread: str) -> None:
        number = len(self.told[thread]) + 1
        text = f"remind me tomorrow at 9 to call number {number}"
        self.told[thread].append(" | ".join(await said(self._client, thread, text, f"m{number}")))

    def by(self, word: str) -> int:
        """Return how many answers a version has given."""
        return sum(answer.startswith(word) for answers in self.told.values() for answer in answers)


async def test_two_versions_play_side_by_side(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """A door of this version has its turns played by both; nobody is answered twice or out of order.

    A dialog that is under way goes from the one to the other and back, and keeps its form.
    """
    next_version(tmp_path)
    url = postgres_server.fresh()
    present, coming = Fleet(url), Fleet(url, folder=tmp_path)
    async with present.door() as client:
        people = People(client)
        async with coming_after(present, coming, people) as form:
            pass
        before = people.by(PRESENT)
        await people.say(lambda: people.by(NEXT) >= 2 * BY_EACH)
    assert form
    assert people.by(PRESENT) == before
    for thread, answers in people.told.items():
        numbers = range(1, len(answers) + 1)
        told = [f"{number}. call number {number}: tomorrow at 9 am." for number in numbers]
        assert [answer.partition(": ")[2] for answer in answers] == told, thread
        assert {answer.partition(": ")[0] for answer in answers} == {PRESENT, NEXT}, thread
        with psycopg.connect(url) as connection:
            sql = 'SELECT number, text FROM reminders WHERE "user" = %s ORDER BY number'
            rows = connection.execute(sql, (thread,)).fetchall()
        assert rows == [(number, f"call number {number}") for number in numbers]
