"""Processes beside a benchmark, and the CPU time and memory of each (Linux alone)."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.support.places import ROOT

TICKS = os.sysconf("SC_CLK_TCK")
TIMES = slice(11, 15)
"""The places of the CPU times after the name in `/proc/PID/stat`: its own, and those of ended children."""


@asynccontextmanager
async def command(*arguments: str, settings: Mapping[str, str] | None = None) -> AsyncIterator[Process]:
    """Run a module during the block, with `settings` in its environment; it ends by SIGTERM."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *arguments), cwd=ROOT, env={**os.environ, **(settings or {})}, stdout=PIPE
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


@asynccontextmanager
async def slow_model(seconds: float) -> AsyncIterator[tuple[str, int]]:
    """Run a model that takes so long for an answer; yield its address and its process."""
    async with command("benchmarks.slow_model", str(seconds)) as process:
        if process.stdout is None:
            raise RuntimeError("a process without pipes")
        yield (await process.stdout.readline()).decode().strip(), process.pid


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and all its children."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[TIMES]
        threads = [file.read_text("utf-8").split() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        # The process has ended meanwhile, and its parent has its time.
        return 0
    return sum(map(int, times)) / TICKS + sum(cpu_seconds(int(child)) for children in threads for child in children)


def megabytes(pid: int) -> float:
    """Return the memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    (resident,) = (line for line in lines if line.startswith("VmRSS"))
    return int(resident.split()[1]) / 1024
