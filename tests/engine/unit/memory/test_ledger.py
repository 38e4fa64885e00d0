"""The ledger of done writes, by itself."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from agents.errors import ContractError
from agents.memory import Memory
from agents.memory.ledger import Doubtful, How, Perform, Write
from agents.memory.sqlite_file import SqliteBackend

DAY = 24 * 3600.0
WRITE = Write(key="k", thread="ann", user="ann", message="m", reply="m 1")
AGAIN = Write(key="k", thread="ann", user="ann", message="m", reply="m 1", how="again")
TOGETHER = Write(key="k", thread="ann", user="ann", message="m", reply="m 1", how="transaction")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    """Open a new database."""
    async with SqliteBackend(f"sqlite:///{tmp_path / 'x.db'}").open() as opened:
        yield opened


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        """Return the Unix time in seconds."""
        return self.time


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture
async def timed(tmp_path: Path, clock: Clock) -> AsyncIterator[Memory]:
    """Open a new database that goes by the clock."""
    async with SqliteBackend(f"sqlite:///{tmp_path / 'timed.db'}").open(clock) as opened:
        yield opened


def pay(message: str, thread: str = "ann", how: How = "once") -> Write:
    """Return a write that is the same for a day, asked for by a message."""
    return Write(key="pay", thread=thread, user="ann", message=message, reply=f"{message} 1", how=how, lasts=DAY)


def entries(memory: Memory) -> int:
    """Return the number of entries."""
    with closing(sqlite3.connect(memory.storage.path)) as connection:
        return int(connection.execute("SELECT count(*) FROM ledger").fetchone()[0])


async def at_once() -> None:
    """Be ready."""


class Work:
    """A write that counts how often it is done; it may ask the user first, or be cut off."""

    def __init__(self, outcome: str | None = "done", failure: BaseException | None = None) -> None:
        self.outcome, self.failure, self.times = outcome, failure, 0

    async def __call__(self) -> str | None:
        """Do it."""
        self.times += 1
        if self.failure:
            raise self.failure
        return self.outcome


async def test_two_openings_of_a_file_do_a_write_once(memory: Memory, tmp_path: Path) -> None:
    """However many are at the same write over connections of their own, one does it and all have its outcome."""
    work = Work()
    async with SqliteBackend(f"sqlite:///{tmp_path / 'x.db'}").open() as other:
        ledgers = [memory.ledger, other.ledger] * 5
        outcomes = await asyncio.gather(*(one.once(WRITE, work, ready=at_once) for one in ledgers))
    assert (set(outcomes), work.times) == ({"done"}, 1)


async def test_a_repeatable_write_that_was_cut_off_is_done_again(memory: Memory) -> None:
    """A tool that recognises its calls itself is never in doubt; a done one is not run again all the same."""
    for cut in (Work(failure=asyncio.CancelledError()), Work(failure=OSError())):
        with pytest.raises(type(cut.failure or OSError())):
            await memory.ledger.once(AGAIN, cut, ready=at_once)
    work = Work()
    assert [await memory.ledger.once(AGAIN, work, ready=at_once) for _ in "ab"] == ["done", "done"]
    assert work.times == 1


@pytest.mark.parametrize("write", [WRITE, AGAIN, TOGETHER])
async def test_without_an_outcome_nothing_is_remembered(memory: Memory, write: Write) -> None:
    """A tool that has asked the user instead of writing may be called again."""
    assert await memory.ledger.once(write, Work(outcome=None), ready=at_once) is None
    assert await memory.ledger.once(write, Work(), ready=at_once) == "done"


async def test_a_transaction_is_for_tools_that_say_so(memory: Memory) -> None:
    """A tool that is no transaction has none, and one that is has one."""

    async def twice() -> str:
        async with memory.ledger.transaction() as connection:
            await connection.execute("CREATE TABLE t (x)")
        async with memory.ledger.transaction():
            return "done"

    for write in (WRITE, TOGETHER):
        with pytest.raises(ContractError, match="one transaction"):
            await memory.ledger.once(write, twice, ready=at_once)


async def test_a_failed_transaction_whose_tool_goes_on_has_written_nothing(memory: Memory) -> None:
    """An error within the block undoes what was written, even if the tool answers it itself."""

    async def forgiving() -> str:
        try:
            async with memory.ledger.transaction() as connection:
                await connection.execute("CREATE TABLE t (x)")
                raise ValueError
        except ValueError:
            return "it failed"

    assert await memory.ledger.once(TOGETHER, forgiving, ready=at_once) is None

    async def look() -> str:
        async with memory.ledger.transaction() as connection:
            return str(await connection.execute("SELECT name FROM sqlite_master WHERE name = 't'"))

    assert await memory.ledger.once(TOGETHER, look, ready=at_once) == "[]"


@pytest.mark.parametrize("how", ["once", "again", "transaction"])
async def test_the_same_write_counts_as_a_new_one_in_time(timed: Memory, clock: Clock, how: How) -> None:
    """Until then every message has the outcome of the first time; from then on it is done again."""
    work = Work()
    await timed.ledger.once(pay("m", how=how), work, ready=at_once)
    clock.time += DAY - 1
    await timed.ledger.once(pay("n", how=how), work, ready=at_once)
    assert work.times == 1
    clock.time += 1
    await timed.ledger.once(pay("o", how=how), work, ready=at_once)
    assert work.times == 2
    clock.time += DAY - 1
    await timed.ledger.once(pay("p", thread="bob", how=how), work, ready=at_once)
    assert work.times == 2


async def test_a_turn_that_is_taken_up_late_does_nothing_twice(timed: Memory, clock: Clock) -> None:
    """For the message that asked for it a write stays done, or in doubt, however long the process was away."""
    work = Work()
    await timed.ledger.once(pay("m"), work, ready=at_once)
    clock.time += 20 * DAY
    await timed.ledger.once(Write(key="other", thread="bob", user="bob", message="m", reply="m 1"), work, ready=at_once)
    assert await timed.ledger.once(pay("m"), Work("new"), ready=at_once) == "done"
    with pytest.raises(OSError, match="cut"):
        await timed.ledger.once(pay("n"), Work(failure=OSError("cut")), ready=at_once)
    clock.time += 20 * DAY
    with pytest.raises(Doubtful):
        await timed.ledger.once(pay("n"), work, ready=at_once)
    assert await timed.ledger.once(pay("o"), Work("new"), ready=at_once) == "new"


async def test_old_entries_go(timed: Memory, clock: Clock) -> None:
    """A thread's next write drops what the thread has no use for; after a month any write drops it."""
    for number in range(3):
        one = Write(key=f"k{number}", thread="ann", user="ann", message=f"m{number}", reply="r", lasts=DAY)
        await timed.ledger.once(one, Work(), ready=at_once)
        await timed.ledger.once(pay("m", thread="bob"), Work(), ready=at_once)
        assert entries(timed) == 2
        clock.time += DAY
    clock.time += 30 * DAY
    await timed.ledger.once(Write(key="x", thread="eve", user="eve", message="m", reply="r"), Work(), ready=at_once)
    assert entries(timed) == 1


async def test_each_try_of_a_write_has_the_same_mark(timed: Memory, clock: Clock) -> None:
    """A service gets the same key of a write until it counts as a new one, also after a doubtful try."""
    marks: list[str] = []

    def trying(failure: Exception | None = None) -> Perform:
        async def work() -> str:
            marks.append(timed.ledger.mark())
            if failure:
                raise failure
            return "done"

        return work

    async def attempt(message: str, failure: Exception | None = None) -> None:
        with suppress(OSError, ValueError):
            await timed.ledger.once(pay(message, how="again"), trying(failure), ready=at_once, harmless=(ValueError,))
        clock.time += 1

    await attempt("m", OSError())
    await attempt("n", ValueError())
    await attempt("o")
    await attempt("p")
    assert len(marks) == 3
    assert len(set(marks)) == 1
    clock.time += DAY
    await attempt("q", ValueError())
    await attempt("r")
    assert len(set(marks)) == 3
    assert timed.ledger.mark() == ""


async def test_a_check_begins_the_transaction_that_its_tool_writes_in(memory: Memory) -> None:
    """The facts of a check hold until the tool has written; a refusal leaves nothing behind."""
    results: list[bool] = []

    async def ready() -> None:
        async with memory.ledger.transaction() as connection:
            await connection.execute("CREATE TABLE t (x)")
            results.append(await connection.read(lambda database: database.in_transaction))
        if len(results) == 1:
            raise Doubtful

    async def perform() -> str:
        async with memory.ledger.transaction() as connection:
            return str(await connection.execute("SELECT name FROM sqlite_master WHERE name = 't'"))

    with pytest.raises(Doubtful):
        await memory.ledger.once(TOGETHER, perform, ready=ready)
    assert await memory.ledger.once(TOGETHER, perform, ready=ready) == "[('t',)]"
    assert results == [True, True]
