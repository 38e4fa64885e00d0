"""One turn at a time per thread, whoever asks."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.memory.locks import ThreadLocks

HOLDER = """
import asyncio, sys
from pathlib import Path
from agents.memory.locks import ThreadLocks

async def main():
    async with ThreadLocks(Path(sys.argv[1])).hold(sys.argv[2]):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@asynccontextmanager
async def another_process(path: Path, thread: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a process that holds `thread` until it reads a line or is killed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(path), thread, stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"held\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def is_free(holder: ThreadLocks, thread: str, seconds: float = 60) -> bool:
    """Say whether the thread can be had; one that is held is told after `seconds`."""
    try:
        async with asyncio.timeout(seconds), holder.hold(thread):
            return True
    except TimeoutError:
        return False


async def test_two_openings_of_one_file_share_the_locks(tmp_path: Path) -> None:
    """A file opened twice in one process, also by another name, still lets one turn run at a time."""
    (tmp_path / "link").symlink_to(tmp_path)
    first, second = ThreadLocks(tmp_path / "x.db"), ThreadLocks(tmp_path / "link" / "x.db")
    async with first.hold("t"):
        assert not await is_free(second, "t", 0.2)
    assert await is_free(second, "t")


async def test_a_file_is_closed_with_its_last_user(tmp_path: Path) -> None:
    """A process that opens many databases one after the other does not run out of descriptors."""
    gc.collect(1)
    before = set(os.listdir("/dev/fd"))
    first, second = ThreadLocks(tmp_path / "x.db"), ThreadLocks(tmp_path / "x.db")
    async with first.hold("t"):
        del second
        gc.collect(1)
        assert len(set(os.listdir("/dev/fd")) - before) == 1
    del first
    gc.collect(1)
    assert set(os.listdir("/dev/fd")) <= before


async def test_without_a_path_there_is_still_one_turn_at_a_time() -> None:
    """Locks without a file exclude the tasks that share them."""
    holder = ThreadLocks(None)
    async with holder.hold("t"):
        assert not await is_free(holder, "t", 0.2)
    assert await is_free(holder, "t")


async def test_an_error_or_cancellation_frees_the_thread(tmp_path: Path) -> None:
    """A turn that fails, or gives up waiting, leaves nothing locked."""
    holder = ThreadLocks(tmp_path / "x.db")
    with pytest.raises(ZeroDivisionError):
        async with holder.hold("t"):
            raise ZeroDivisionError
    async with holder.hold("t"):
        assert not await is_free(holder, "t", 0.2)
    assert await is_free(holder, "t")


async def test_unused_locks_are_forgotten(tmp_path: Path) -> None:
    """A thousand threads leave nothing behind in memory."""
    holder = ThreadLocks(tmp_path / "x.db")
    for number in range(1000):
        async with holder.hold(f"thread {number} \udcff"):
            pass
    gc.collect(1)
    assert len(holder._file.locks) == 0
    assert (tmp_path / "x.db.lock").stat().st_size == 0


@pytest.mark.slow
async def test_another_process_excludes_us_until_it_is_done(tmp_path: Path) -> None:
    """A thread held by another process is free as soon as that process lets go; other threads always are."""
    holder = ThreadLocks(tmp_path / "x.db")
    async with another_process(tmp_path / "x.db", "t") as process:
        ThreadLocks(tmp_path / "x.db")
        assert not await is_free(holder, "t", 0.2)
        assert await is_free(holder, "other")
        await process.communicate(b"go\n")
        assert await is_free(holder, "t")


@pytest.mark.slow
async def test_we_exclude_another_process(tmp_path: Path) -> None:
    """A process waits for a thread held here, also after the file was opened here once more."""
    holder = ThreadLocks(tmp_path / "x.db")
    async with holder.hold("t"):
        async with ThreadLocks(tmp_path / "x.db").hold("other"):
            pass
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5), another_process(tmp_path / "x.db", "t"):
                pass
    async with another_process(tmp_path / "x.db", "t"):
        assert not await is_free(holder, "t", 0.2)


@pytest.mark.slow
async def test_the_kernel_frees_what_a_killed_process_held(tmp_path: Path) -> None:
    """A killed process leaves no thread locked."""
    holder = ThreadLocks(tmp_path / "x.db")
    async with another_process(tmp_path / "x.db", "t") as process:
        process.send_signal(signal.SIGKILL)
        await process.wait()
        assert await is_free(holder, "t")
