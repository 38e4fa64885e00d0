"""The server is killed on its way to a branch: the same message sent again finds all that stands, once, in its talk."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugins.openai_api.open_webui import FRONT_ENDS, Account
from tests.support.http_door import KEYS
from tests.support.loopback import free_port
from tests.support.until import until
from tests.support.warm_process import WarmProcess

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner")]
CHANGES = (3, 30)
"""After so many changes of the database a process is killed: on the way to the branches, or in the turns behind."""
NAMED = (True, False, True, False)
"""Whether a client names its chat."""


@dataclass
class Service:
    """`python -m app serve` on a database, which is killed and started again."""

    path: Path
    port: int
    process: WarmProcess | None = field(default=None, init=False)

    async def start(self, client: httpx.AsyncClient) -> None:
        """Start the process, and wait until it answers."""
        own = {
            "LLM_MODEL": "local:rules",
            "DATABASE_URL": f"sqlite:///{self.path}",
            "API_KEYS": KEYS,
            "FRONT_ENDS": FRONT_ENDS,
            "TURNS_PER_HOUR": "0",
        }
        environment = {**os.environ, **own}
        self.process = await WarmProcess.start("serve", "--port", str(self.port), environment=environment)

        async def is_ready() -> bool:
            with suppress(httpx.TransportError):
                return (await client.get("/readyz")).status_code == 200
            return False

        await until(is_ready)

    async def kill(self) -> None:
        """End the process where it stands."""
        if self.process and self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()

    async def cut(self, branches: Mapping[str, Account], changes: int) -> int:
        """Kill the process while it answers these messages, after so many changes of the database.

        Returns how many it had not answered.
        """
        with closing(sqlite3.connect(self.path, check_same_thread=False)) as database:

            def version() -> Any:
                return database.execute("PRAGMA data_version").fetchone()[0]

            last = version()
            sending = [asyncio.create_task(account.send(text)) for text, account in branches.items()]

            def wait(last: Any) -> None:
                seen = 0
                while seen < changes and not all(task.done() for task in sending):
                    now = version()
                    seen, last = seen + (now != last), now
                    # The server needs the processor more.
                    time.sleep(0.001)

            await asyncio.to_thread(wait, last)
            await self.kill()
        answers = await asyncio.gather(*sending, return_exceptions=True)
        return sum(isinstance(answer, httpx.TransportError) for answer in answers)


async def test_a_server_that_is_killed_on_its_way_to_branches(tmp_path: Path) -> None:
    """Named chats go to a branch, and talks of nobody go on in a copy: nothing is lost, doubled or mixed up."""
    port = free_port()
    service, cut = Service(tmp_path / "branch.db", port), 0
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
        await service.start(client)
        try:
            for changes in CHANGES:
                branches, old = dict[str, Account](), dict[str, list[dict[str, Any]]]()
                for number, is_named in enumerate(NAMED):
                    name = f"ann{changes}-{number}" if is_named else ""
                    account, own = Account.of(client, name, name), f"{changes}-{number}"
                    # Those of nobody have equal beginnings.
                    for words in ("hello", f"add milk{own} to my list"):
                        await account.says(words)
                    old[own] = [*account.messages]
                    account.back()
                    branches[f"add bread{own} to my list"] = account
                cut += await service.cut(branches, changes)
                await service.start(client)
                for (text, account), (own, left) in zip(branches.items(), old.items(), strict=True):
                    await account.says(text)
                    assert things(await account.says("show my list")) == [f"bread{own}"]
                    account.messages = left
                    assert things(await account.says("show my list")) == [f"milk{own}"]
        finally:
            await service.kill()
    sys.stdout.write(f"{cut} of {len(CHANGES) * len(NAMED)} answers were cut\n")
    assert cut >= len(CHANGES)


def things(shown: str) -> list[str]:
    """Return the entries of a list."""
    return [word.strip(".,") for word in shown.split() if word.startswith(("milk", "bread", "gift"))]
