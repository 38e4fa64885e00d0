"""Work of which the input may be built to take long, in a process of its own.

The process bounds its time of the processor by RLIMIT_CPU, which a busy machine does not shorten.
"""

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ENDED = (-signal.SIGXCPU, -signal.SIGKILL)
"""The exit statuses of a process that has used up its time."""
BUSY = 12
"""A process that waits, and so uses no time, may last this many times as long."""
ENVIRONMENT: Mapping[str, str] = {"PYTHONUTF8": "1"}
"""No keys are in it."""


async def output_of(*command: str, body: bytes, seconds: float, cwd: Path | None = None) -> tuple[int, bytes]:
    """Return the exit status and the output of a process that gets `body` on its stdin.

    Raises:
        TimeoutError: the process used more than its `seconds`; it is ended.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=cwd,
        env=ENVIRONMENT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(body), seconds * BUSY)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        status = await process.wait()
    if status in ENDED:
        raise TimeoutError
    return status, output
