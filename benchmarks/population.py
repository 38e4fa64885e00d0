"""Measure whether one person's actions cost more with more people in the same SQLite file.

`python -m benchmarks.population`: 25 people talk in 100 threads of three turns. A copy of the file gets 200 times their
rows, with other names: 20,000 threads of 5,000 people. Then each turn, act and page is done in both files in turn, and
the table has the CPU time of each, and the bytes that a thread takes.
"""

import asyncio
import shutil
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.doors.http.service import make_app, serving
from app.settings import Settings
from benchmarks.report import Row, arguments, show

SAYS = ("add milk and bread to my list", "remind me tomorrow at 9 to call mom", "what is on my list?")
THREADS, PEOPLE, COPIES, ROUNDS = 100, 25, 200, 9
MARK = "of-"
"""The prefix of every name; the names of a copy have its number before it."""
NUMBERS = ("line", "letter")
"""Columns with the number of a row of another table."""
STRIDE = 1_000_000
MOST = 1.1
"""The most that an act may cost, divided by its cost with few people."""


@dataclass(frozen=True)
class Town:
    """A file with people in it, and its doors."""

    assistant: Assistant
    client: httpx.AsyncClient

    async def get(self, path: str, **query: str) -> None:
        """Open a page."""
        (await self.client.get(path, params=query)).raise_for_status()

    async def say(self, thread: str, text: str) -> None:
        """Play a turn in a thread of one of the people."""
        body = {"text": text, "user": _writer(int(thread.rpartition("-")[2]))}
        (await self.client.post(f"/threads/{thread}/turns", json=body)).raise_for_status()

    async def delete(self, path: str) -> None:
        """Send DELETE to a path."""
        (await self.client.delete(path)).raise_for_status()


Act = Callable[[Town, int], Awaitable[None]]
"""An act in a town; the number is that of the round."""
ACTS: dict[str, Act] = {
    "a turn that writes": lambda town, it: town.say(_thread(it), "add tea to my list"),
    "a turn that reads": lambda town, it: town.say(_thread(it), "what is on my list?"),
    "a turn that takes back": lambda town, it: town.say(_thread(it), "undo"),
    "a reminder": lambda town, it: town.say(_thread(it), "remind me on Friday at 9 to call the bank"),
    "a handoff": lambda town, it: town.say(_thread(it), "get acquainted"),
    "the first turn of a thread": lambda town, it: town.say(_thread(1000 + it), "hello"),
    "GET /threads": lambda town, it: town.get("/threads"),
    "GET /threads?query=": lambda town, it: town.get("/threads", query="bread"),
    "GET /threads?user=": lambda town, it: town.get("/threads", user=_writer(it)),
    "GET /threads/{t}": lambda town, it: town.get(f"/threads/{_thread(it)}"),
    "GET /threads/{t}/memory": lambda town, it: town.get(f"/threads/{_thread(it)}/memory"),
    "GET /threads/{t}/export": lambda town, it: town.get(f"/threads/{_thread(it)}/export"),
    "GET /users/{u}/memory": lambda town, it: town.get(f"/users/{_writer(it)}/memory"),
    "the page": lambda town, it: town.get("/talk/mine"),
    "the page's list": lambda town, it: town.get("/talk/mine/list"),
    "a search on the page": lambda town, it: town.get("/talk/mine/list", query="bread"),
    "the seat": lambda town, it: town.get("/seat"),
    "the lab's list": lambda town, it: town.get("/lab/threads"),
    "a search in the lab": lambda town, it: town.get("/lab/threads", words="bread"),
    "a thread in the lab": lambda town, it: town.get("/lab/thread", name=_thread(it)),
    "/metrics": lambda town, it: town.get("/metrics"),
    "DELETE /threads/{t}": lambda town, it: town.delete(f"/threads/{_thread(it)}"),
    "DELETE /users/{u}/memory": lambda town, it: town.delete(f"/users/{_writer(it)}/memory"),
    "forgetting a person": lambda town, it: town.assistant.forgetting.person(_writer(it)),
}


def _thread(number: int) -> str:
    return f"{MARK}thread-{number}"


def _writer(number: int) -> str:
    return f"{MARK}user-{number % PEOPLE}"


def settings_of(path: Path) -> Settings:
    """Return the settings of a file, without keys and without limits of turns."""
    url = f"sqlite:///{path}"
    return Settings(_env_file=None, database_url=url, turns_per_hour=0, key_turns_per_hour=0, app_lang="en")


async def settle(path: Path) -> None:
    """Make a file with some people's conversations, and one of the page."""
    async with open_assistant(settings_of(path)) as assistant:
        visits = [(_thread(number), _writer(number)) for number in range(THREADS)]
        for thread, user in [*visits, ("mine", "local")]:
            for text in SAYS:
                async for _ in assistant.play(Turn(thread=thread, user=user, text=text, lang="en")):
                    pass


def multiply(path: Path, copies: int) -> None:
    """Add so many copies of every row of these people, with names and numbers of their own."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA synchronous=OFF; CREATE TEMP TABLE copy (at INTEGER); {_numbers(copies)}")
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (table,) in names.fetchall():
            columns = database.execute(f"PRAGMA table_info({table})").fetchall()
            values = ", ".join(_copied(name, kind, is_key=bool(key)) for _, name, kind, _, _, key in columns)
            # The user of the page exists only once.
            theirs = [f"WHERE {name} LIKE '%{MARK}%'" for _, name, *_ in columns if name in ("thread", "thread_id")]
            database.execute(f"INSERT OR IGNORE INTO {table} SELECT {values} FROM {table}, copy {' '.join(theirs)}")
        database.commit()


def _numbers(copies: int) -> str:
    return f"""
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {copies})
    INSERT INTO copy SELECT number FROM numbers;
    """


def _copied(name: str, kind: str, *, is_key: bool) -> str:
    if kind == "INTEGER" and (is_key or name in NUMBERS):
        return f"{name} + at * {STRIDE}"
    return f"replace({name}, '{MARK}', at || '{MARK}')" if kind == "TEXT" else name


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Town]:
    """Open the doors of a file during the block."""
    settings = settings_of(path)
    async with AsyncExitStack() as stack:
        assistant = await stack.enter_async_context(open_assistant(settings))
        app = make_app(assistant, (), settings=settings)
        await stack.enter_async_context(serving(app))
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=120)
        yield Town(assistant, await stack.enter_async_context(client))


async def timed(towns: Sequence[Town], act: Act) -> list[list[float]]:
    """Return the milliseconds of CPU that an act takes in each town, round by round."""
    taken = defaultdict[int, list[float]](list)
    for number in range(ROUNDS + 1):
        for place, town in enumerate(towns):
            begun = time.process_time()
            await act(town, number)
            taken[place].append((time.process_time() - begun) * 1000)
    # The first round is not warm.
    return [of[1:] for of in taken.values()]


async def measure() -> list[Row]:
    """Return a row for each act, and one for the bytes of a thread."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few.db", Path(folder) / "many.db"
        await settle(few)
        shutil.copyfile(few, many)
        multiply(many, COPIES - 1)
        sizes = [few.stat().st_size / THREADS, many.stat().st_size / (COPIES * THREADS)]
        rows: list[Row] = [_row("bytes of a thread", *sizes)]
        async with opened(few) as small, opened(many) as large:
            for name, act in ACTS.items():
                rows.append(_row(f"{name}, CPU ms", *map(median, await timed([small, large], act))))
        return rows


def _row(measure: str, few: float, many: float) -> Row:
    return {"what": measure, "100 threads": few, "20,000 threads": many, "ratio": many / few, "at most": MOST}


def main() -> None:
    """Measure."""
    chosen = arguments(__doc__).parse_args()
    show(asyncio.run(measure()), as_json=chosen.json)


if __name__ == "__main__":
    main()
