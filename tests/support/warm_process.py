"""Commands in forks of a process that has loaded the application: a cold start spends seconds on imports.

A fork becomes the command: it has an environment, streams, signals and an exit code of its own.
"""

import asyncio
import atexit
import fcntl
import json
import multiprocessing
import os
import random
import runpy
import signal
import sys
import termios
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from app.extensions import shipped
from tests.support.places import ROOT
from tests.support.until import until


def _loaded() -> list[str]:
    """Return the modules of the commands, loaded once: each command would import them anew."""
    files = [*(ROOT / "app" / "cli").glob("[!_]*.py"), *(ROOT / "app" / "doors").rglob("[!_]*.py")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    names += [f"app.plugins.{name}" for name in shipped("plugins")]
    return [__name__, *names, *(f"{kind}.{name}" for kind in ("dialogs", "observers") for name in shipped(kind))]


FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(_loaded())
Streams = Sequence[Connection] | str
"""The streams of a command: pipes of its output and its errors, or the path of its terminal."""


class Fork:
    """A running command, with the tests' part of the interface of `subprocess.Popen`."""

    def __init__(self, *arguments: str, environment: Mapping[str, str], streams: Streams = ()) -> None:
        target = FORK.Process(target=_become, args=(arguments, {**environment}, streams), daemon=True)
        target.start()
        self.process = target

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the signal that has killed it as a negative number; None while it runs."""
        return self.process.exitcode

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the command."""
        self.send_signal(signal.SIGKILL)


class WarmProcess(Fork):
    """A running command, with the tests' part of the interface of `asyncio.subprocess.Process`."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    @classmethod
    async def start(cls, *arguments: str, environment: Mapping[str, str], is_read: bool = False) -> "WarmProcess":
        """Start `python -m app ARGUMENTS` without input; its output is lost unless `is_read`."""
        pipes = [FORK.Pipe(duplex=False) for _ in range(2 * is_read)]
        theirs = [pipe for _, pipe in pipes]
        process = cls(*arguments, environment=environment, streams=theirs)
        for pipe in theirs:
            pipe.close()
        readers = [await _reader(ours) for ours, _ in pipes] or [asyncio.StreamReader()] * 2
        process.stdout, process.stderr = readers
        return process

    async def wait(self) -> int:
        """Wait until it ends; return its exit code."""
        await until(lambda: self.returncode is not None)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait until the command ends; return the rest of its two streams."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err


class WarmModule:
    """`python -m MODULE` in a fork; it takes and gives lines of JSON."""

    def __init__(self, module: str) -> None:
        (reading, ours_in), (ours_out, writing) = FORK.Pipe(duplex=False), FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_serve, args=(module, {**os.environ}, reading, writing), daemon=True)
        self._process.start()
        self._in, self._out = os.fdopen(os.dup(ours_in.fileno()), "w"), os.fdopen(os.dup(ours_out.fileno()))
        for pipe in (reading, writing, ours_in, ours_out):
            pipe.close()
        for file in (self._in, self._out):
            atexit.register(file.close)

    def tell(self, what: object) -> None:
        """Write a line."""
        self._in.write(f"{json.dumps(what)}\n")
        self._in.flush()

    async def line(self) -> Any:
        """Wait for a line."""
        async with asyncio.timeout(120):
            return json.loads(await asyncio.to_thread(self._out.readline))

    def end(self) -> None:
        """End its input, and wait until it ends."""
        self._in.close()
        self._process.join()
        self._out.close()


async def _reader(pipe: Connection) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    file = os.fdopen(os.dup(pipe.fileno()), "rb", buffering=0)
    pipe.close()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


def _become(arguments: Sequence[str], environment: Mapping[str, str], streams: Streams) -> None:
    """Turn a new fork into the command."""
    if isinstance(streams, str):
        # Ctrl-C becomes a signal only on the terminal that controls the process.
        os.setsid()
        numbers = [os.open(streams, os.O_RDWR)] * 3
        fcntl.ioctl(numbers[0], termios.TIOCSCTTY, 0)
    else:
        nothing = os.open(os.devnull, os.O_RDWR)
        numbers = [nothing, *(pipe.fileno() for pipe in streams)] if streams else [nothing] * 3
    for number, stream in enumerate(numbers):
        os.dup2(stream, number)
    for pipe in streams if not isinstance(streams, str) else ():
        pipe.close()
    _settle(environment)
    sys.argv = ["app", *arguments]
    code: object = 1
    try:
        if arguments[0] == "-c":
            sys.argv[:] = ["-c", *arguments[2:]]
            exec(arguments[1], {"__name__": "__main__"})
            code = 0
        else:
            runpy.run_module("app", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _serve(module: str, environment: Mapping[str, str], reading: Connection, writing: Connection) -> None:
    """Turn a new fork into a module that takes and gives lines."""
    for number, pipe in enumerate((reading, writing)):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    _settle(environment)
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _settle(environment: Mapping[str, str]) -> None:
    """Take up the three streams and an environment."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    random.seed()
    os.chdir(ROOT)
