"""Workers of this version and of the next play beside each other while people talk."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.http_door import streamed
from tests.support.next_version import next_version
from tests.support.postgres_server import PostgresServer
from tests.support.worker_fleet import Fleet

THREADS = 4
BY_EACH = 8
"""Answers that each version gives at least while both play."""
PRESENT, NEXT = "Set", "Written down"
"""The beginning of an answer of each version."""
REMINDERS = 'SELECT number, text FROM reminders WHERE "user" = %s ORDER BY number'


class People:
    """Talk in several threads, by turns through each of the doors; a message follows the answer to the one before."""

    def __init__(self, *doors: httpx.AsyncClient) -> None:
        self.doors = [*doors]
        self.told = defaultdict[str, list[str]](list)
        """The texts for each thread, an entry for each message."""

    async def remind(self, until: Callable[[], bool]) -> None:
        """Let everybody set one reminder after the other until something is true."""
        while not until():
            await asyncio.gather(*(self._remind(f"t{number}") for number in range(THREADS)))

    async def _remind(self, thread: str) -> None:
        number = len(self.told[thread]) + 1
        await self.say(thread, f"remind me tomorrow at 9 to call number {number}")

    async def say(self, thread: str, text: str) -> dict[str, Any]:
        """Say something and note all that is said in answer; return what is known of the person's profile then."""
        number = len(self.told[thread]) + 1
        door = self.doors[number % len(self.doors)]
        events = await streamed(door, f"/threads/{thread}/turns", {"text": text, "id": f"m{number}"})
        self.told[thread].append(" | ".join(event["text"] for event in events if event["type"] == "message"))
        profile: dict[str, Any] = (await door.get(f"/threads/{thread}")).json()["talks"].get("profile", {})
        return profile

    def by(self, word: str) -> int:
        """Return the number of a version's answers."""
        return sum(answer.startswith(word) for answers in self.told.values() for answer in answers)


@asynccontextmanager
async def both_play(people: People, coming: Fleet) -> AsyncIterator[None]:
    """Start a worker of the next version beside the present one, and let both answer; it stops after the block."""
    async with coming.command("worker") as worker:
        goals = people.by(PRESENT) + BY_EACH, people.by(NEXT) + BY_EACH

        def have_answered() -> bool:
            assert worker.returncode is None, f"the worker of the next version has ended with {worker.returncode}"
            return people.by(PRESENT) >= goals[0] and people.by(NEXT) >= goals[1]

        await people.remind(have_answered)
        yield


@pytest.mark.needs("audit", "planner", "profile")
def test_each_change_of_the_next_version_fits_this_one(tmp_path: Path) -> None:
    """The text that a change replaces is there once."""
    next_version(tmp_path)


@pytest.mark.slow
async def test_two_versions_play_side_by_side(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """An update is begun, taken back, and made while people talk: every message is answered once, and in its order.

    Ann's form goes from this version to the next, back, and on again, and loses nothing.
    """
    next_version(tmp_path)
    url = postgres_server.fresh()
    present, coming = Fleet(url), Fleet(url, folder=tmp_path)
    async with AsyncExitStack() as doors:
        people = People(await doors.enter_async_context(present.door()))
        async with present.command("worker"):
            await people.say("ann", "Let's get acquainted")
            ann = await people.say("ann", "I have worked as a nurse for ten years")
            assert ann["version"] == 1
            async with both_play(people, coming):
                people.doors.append(await doors.enter_async_context(coming.door()))
                while ann["version"] == 1:
                    ann = await people.say("ann", "show my profile")
            answered = people.by(NEXT)
            ann = await people.say("ann", "I know first aid and swimming")
            assert (ann["version"], people.by(NEXT)) == (1, answered)
            still_open = both_play(people, coming)
            await doors.enter_async_context(still_open)
        answered = people.by(PRESENT)
        ann = await people.say("ann", "I like chess and hiking")
        await people.remind(lambda: people.by(NEXT) >= 3 * BY_EACH)
        assert (ann["version"], people.by(PRESENT)) == (2, answered)
    assert ann["form"] == {
        "experience": "nurse for ten years",
        "skills": ["first aid", "swimming"],
        "interests": ["chess", "hiking"],
    }
    with psycopg.connect(url) as connection:
        for thread in (name for name in people.told if name != "ann"):
            tasks = [(number, f"call number {number}") for number, _ in enumerate(people.told[thread], 1)]
            told = [f"{number}. {task}: tomorrow at 9 am." for number, task in tasks]
            assert [answer.partition(": ")[2] for answer in people.told[thread]] == told
            assert connection.execute(REMINDERS, (thread,)).fetchall() == tasks
        [(columns,)] = connection.execute("SELECT count(place) FROM audit").fetchall()
        assert columns == 0
