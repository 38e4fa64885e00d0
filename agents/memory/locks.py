"""One turn at a time per thread, inside this process and across all processes of the machine."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from tenacity import RetryCallState, retry, retry_if_exception_type, wait_exponential

FIRST_WAIT = 0.002
LONGEST_WAIT = 0.05
"""Seconds between two tries to lock a thread that another process holds."""
REFUSED_AFTER = 5.0
"""Seconds after which a lock that the system does not permit is an error."""


class _LockFile:
    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        if descriptor is not None:
            finalize(self, os.close, descriptor)
        # Weak: a lock lives as long as somebody holds it or waits for it.
        self.locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


# A process loses its POSIX locks on a file when it closes *any* descriptor of it, and does not exclude
# itself. Hence one descriptor per process and file, with its local locks beside it, closed with its last user.
_open: WeakValueDictionary[tuple[int, int], _LockFile] = WeakValueDictionary()


class ThreadLocks:
    """Let one turn of a thread run at a time; the kernel frees the locks of a killed process.

    `path` is the database file, beside which `<name>.lock` is kept. With None only this object's own
    users exclude each other.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = _LockFile(None) if path is None else _opened(path.with_name(f"{path.name}.lock"))

    @asynccontextmanager
    async def hold(self, thread: str) -> AsyncIterator[None]:
        """Wait for the thread and keep it for the block, first come first served within this process.

        A task that already holds the thread must not ask again: it would wait for itself.
        """
        lock = self._file.locks.get(thread)
        if lock is None:
            lock = self._file.locks[thread] = asyncio.Lock()
        async with lock:
            if self._file.descriptor is None:
                yield
                return
            descriptor, offset = self._file.descriptor, number_of(thread)
            try:
                # Another process hardly ever has it, and a retry is costly even without a second try.
                _lock(descriptor, offset)
            except (BlockingIOError, PermissionError):
                await _acquire(descriptor, offset)
            try:
                yield
            finally:
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)


def _is_refused(attempts: RetryCallState) -> bool:
    refusal = attempts.outcome.exception() if attempts.outcome else None
    return isinstance(refusal, PermissionError) and (attempts.seconds_since_start or 0) > REFUSED_AFTER


# Systems report a taken lock in different ways; one that reports "not permitted" may mean just that.
@retry(
    retry=retry_if_exception_type((BlockingIOError, PermissionError)),
    wait=wait_exponential(FIRST_WAIT, max=LONGEST_WAIT),
    stop=_is_refused,
    reraise=True,
)
async def _acquire(descriptor: int, offset: int) -> None:
    _lock(descriptor, offset)


def _lock(descriptor: int, offset: int) -> None:
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)


def number_of(name: str) -> int:
    """Return the number that stands for a name: 62 bits, so that it fits a signed file offset."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def _opened(path: Path) -> _LockFile:
    # By inode, not by name: a look at the file through a second descriptor would drop our locks.
    if path.exists() and (lock_file := _open.get(_identity(path.stat()))):
        return lock_file
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    return _open.setdefault(_identity(os.fstat(descriptor)), _LockFile(descriptor))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
