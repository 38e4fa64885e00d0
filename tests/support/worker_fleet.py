"""A door over HTTP and workers, each the real command in a process of its own, on one PostgreSQL database."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.loopback import free_port
from tests.support.places import ROOT
from tests.support.until import until_answered
from tests.support.warm_process import WarmProcess

PATIENCE = 120.0


@dataclass
class Fleet:
    """Start commands on a database; `settings` are variables of their environment."""

    url: str
    settings: dict[str, str] = field(default_factory=dict)
    folder: Path = ROOT
    """The folder of the application."""

    @asynccontextmanager
    async def command(
        self, *arguments: str, ends_by: signal.Signals | None = signal.SIGTERM
    ) -> AsyncIterator[Process | WarmProcess]:
        """Run a command during the block; then it must end well by a signal, or have ended before."""
        variables = {"LLM_MODEL": "local:rules", "APP_LANG": "en", "WORKERS": "yes", "DATABASE_URL": self.url}
        environment = {**os.environ, **variables, **self.settings}
        process = await self._started(*arguments, environment=environment)
        try:
            yield process
            if ends_by is not None:
                process.send_signal(ends_by)
                async with asyncio.timeout(PATIENCE):
                    # A command still in its start leaves no work behind.
                    assert await process.wait() in (0, -ends_by)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _started(self, *arguments: str, environment: Mapping[str, str]) -> Process | WarmProcess:
        if self.folder == ROOT:
            return await WarmProcess.start(*arguments, environment=environment)
        command, nothing = (sys.executable, "-m", "app", *arguments), asyncio.subprocess.DEVNULL
        return await asyncio.create_subprocess_exec(*command, cwd=self.folder, env=environment, stderr=nothing)

    @asynccontextmanager
    async def door(self) -> AsyncIterator[httpx.AsyncClient]:
        """Serve over HTTP during the block."""
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        async with (
            self.command("serve", "--port", str(port)) as process,
            httpx.AsyncClient(base_url=base, timeout=60) as client,
        ):
            await until_answered(f"{base}/readyz", process, is_well=True)
            yield client
