"""The ledger of done writes, by itself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.errors import ContractError
from agents.memory import Memory, open_memory
from agents.memory.entries import Write
from agents.memory.ledger import Doubtful

WRITE = Write(key="k", thread="ann", user="ann", message="m", reply="m 1")
AGAIN = Write(key="k", thread="ann", user="ann", message="m", reply="m 1", how="again")
TOGETHER = Write(key="k", thread="ann", user="ann", message="m", reply="m 1", how="transaction")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    """Open a new database."""
    async with open_memory(f"sqlite:///{tmp_path / 'x.db'}") as opened:
        yield opened


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
    async with open_memory(f"sqlite:///{tmp_path / 'x.db'}") as other:
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


async def test_a_write_that_was_cut_off_is_in_doubt(memory: Memory) -> None:
    """What was cancelled between claim and outcome is not done again for the same reply."""
    with pytest.raises(asyncio.CancelledError):
        await memory.ledger.once(WRITE, Work(failure=asyncio.CancelledError()), ready=at_once)
    work = Work()
    for _ in "ab":
        with pytest.raises(Doubtful):
            await memory.ledger.once(WRITE, work, ready=at_once)
    assert work.times == 0


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
            return str(await connection.execute_fetchall("SELECT name FROM sqlite_master WHERE name = 't'"))

    assert await memory.ledger.once(TOGETHER, look, ready=at_once) == "[]"
