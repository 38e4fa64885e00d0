"""`python -m app` in forks of a process that has loaded the application: a cold start spends seconds on imports.

A fork becomes the command: it has an environment, streams, signals and an exit code of its own.
"""

import asyncio
import multiprocessing
import os
import random
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from app.extensions import shipped
from tests.support.places import ROOT
from tests.support.until import until


def _loaded() -> list[str]:
    """Return the modules that commands import: each of them would do it anew."""
    files = [*(ROOT / "app" / "cli").glob("[!_]*.py"), *(ROOT / "app" / "doors").rglob("[!_]*.py")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    names += [f"app.plugins.{name}" for name in shipped("plugins")]
    return [__name__, *names, *(f"{kind}.{name}" for kind in ("dialogs", "observers") for name in shipped(kind))]


FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(_loaded())


@dataclass(frozen=True)
class WarmProcess:
    """A command that runs; it has what tests need of `asyncio.subprocess.Process`."""

    process: BaseProcess
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    @classmethod
    async def start(cls, *arguments: str, environment: Mapping[str, str], is_read: bool = False) -> "WarmProcess":
        """Start `python -m app ARGUMENTS` with nothing to read; what it prints is lost unless it `is_read`."""
        pipes = [FORK.Pipe(duplex=False) for _ in range(2 * is_read)]
        theirs = [pipe for _, pipe in pipes]
        process = FORK.Process(target=_become, args=(arguments, {**environment}, theirs), daemon=True)
        process.start()
        for pipe in theirs:
            pipe.close()
        readers = [await _reader(ours) for ours, _ in pipes] or [asyncio.StreamReader()] * 2
        return cls(process, *readers)

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the signal that has killed it as a negative number; None while it runs."""
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it where it stands."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it ends; return its exit code."""
        await until(lambda: self.returncode is not None)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait until it ends; return what is still to be read of its two streams."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err


async def _reader(pipe: Connection) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    file = os.fdopen(os.dup(pipe.fileno()), "rb", buffering=0)
    pipe.close()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


def _become(arguments: Sequence[str], environment: Mapping[str, str], pipes: Sequence[Connection]) -> None:
    """Be the command, in a fork that has just begun."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, stream in enumerate([nothing, *(pipe.fileno() for pipe in pipes)] if pipes else [nothing] * 3):
        os.dup2(stream, number)
    for pipe in pipes:
        pipe.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    random.seed()
    os.chdir(ROOT)
    sys.argv = ["app", *arguments]
    code: object = 1
    try:
        runpy.run_module("app", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)
