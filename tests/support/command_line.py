"""Turns by the command line, in processes that may be killed."""

import asyncio
import json
import os
import signal

from app.process.exit_codes import WAITING
from tests.support.killable_process import Outcome, Request, events_of
from tests.support.warm_process import WarmProcess

ENDS = (0, 2, WAITING, -signal.SIGKILL)
"""The exit codes of a command that answered, had nothing to answer, asked a question, or was killed."""


async def ask(request: Request) -> Outcome:
    """Play a turn by the command line; with `kill`, kill it so many seconds after the first event of type `since`."""
    return await _run(request, "ask", request.text, "--message-id", request.id)


async def resume(request: Request) -> Outcome:
    """Answer a tool's question by the command line; the rest is as in `ask`."""
    return await _run(request, "resume", "--choose", request.text)


async def _run(request: Request, *command: str) -> Outcome:
    variables = {"LLM_MODEL": "local:rules", "DATABASE_URL": f"sqlite:///{request.database}"}
    arguments, environment = (*command, "--thread", request.thread, "--json"), {**os.environ, **variables}
    process = await WarmProcess.start(*arguments, environment=environment, is_read=True)
    output = b""
    async for line in process.stdout:
        output += line
        if request.kill is not None and json.loads(line)["type"] == request.since:
            await asyncio.sleep(request.kill)
            process.kill()
            break
    output += await process.stdout.read()
    code = await process.wait()
    assert code in ENDS
    return Outcome(events=events_of(output), killed=code == -signal.SIGKILL)
