"""Callbacks: signed pushes of stopped threads' memory to the operator's server, repeated until it accepts them."""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import cast

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from agents.errors import DatabaseError
from agents.language.text.clean import safe_json
from agents.memory import Memory
from agents.memory.inbox import TranscriptLine, now_ms, storable
from agents.toolkit.services import MemoryReceiver
from app.assistant.short_term_memory import contents
from app.process.tasks import BackgroundTask, wait_for_event

LOG = logging.getLogger(__name__)
ADD = """
INSERT INTO callbacks (thread, turn, name, made_ms, due_ms)
VALUES (:thread, :turn, :name, :now, :now) ON CONFLICT DO NOTHING
"""
# Several processes push from one database: the process that moves the time of a push owns it until then.
CLAIM = """
UPDATE callbacks SET due_ms = :until, tries = tries + 1 WHERE due_ms <= :now AND id = (
    SELECT id FROM callbacks WHERE name IS NOT NULL AND due_ms <= :now ORDER BY id LIMIT 1)
RETURNING id, thread, name, turn, tries, made_ms
"""
NEXT = "SELECT min(due_ms) FROM callbacks WHERE name IS NOT NULL"
# The row stays, so that each end of a thread causes one push alone.
DONE = "UPDATE callbacks SET name = NULL WHERE id = ?"
LATER = "UPDATE callbacks SET due_ms = ? WHERE id = ?"
FIRST_WAIT, LONGEST_WAIT = 2.0, 600.0
"""Seconds until the next try of a refused callback: twice as many each time, up to a limit."""
LASTS_MS = 3 * 24 * 3600 * 1000
"""Milliseconds until the process gives a callback up."""
PATIENCE = 10.0
"""Deadline for the server's answer, in seconds."""
LEASE_MS = 30_000
"""Milliseconds after which another process may try the callback of a dead process."""
LOOK_EVERY = 60.0
"""Seconds between two looks for callbacks that another process has left behind."""


class Callbacks(BackgroundTask, MemoryReceiver):
    """A queue of callbacks in the database, and the task that pushes them."""

    def __init__(self, memory: Memory, url: str, secret: SecretStr | None) -> None:
        self._memory, self._url, self._secret = memory, url, secret
        self._changed = asyncio.Event()
        self._pushed, self._limit = "", cast(asyncio.Timeout | None, None)
        """The thread of the last push, and the deadline that can break off a running push."""
        memory.erasers.append(self._break_off)

    async def push(self, thread: str, name: str, lines: Sequence[TranscriptLine]) -> None:
        """Queue a push of a thread's memory, once for each last turn; `name` is the caller's name of the thread."""
        turn = lines[-1].turn if lines else 0
        values = {"thread": storable(thread), "turn": turn, "name": name, "now": now_ms()}
        await self._memory.database.execute(ADD, values)
        self._changed.set()

    async def run(self) -> None:
        """Push the due callbacks, until cancelled."""
        # A proxy of the environment would read the conversation.
        async with httpx.AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as client:
            while True:
                self._changed.clear()
                try:
                    wait = await self._push_due(client)
                except DatabaseError:
                    LOG.exception("callbacks could not be read")
                    wait = LOOK_EVERY
                await wait_for_event(self._changed, wait)

    async def _push_due(self, client: httpx.AsyncClient) -> float:
        """Push the due callbacks; return the seconds until the next look."""
        while claimed := await self._memory.database.execute(CLAIM, {"now": now_ms(), "until": now_ms() + LEASE_MS}):
            await self._deliver(client, *claimed[0])
        [(due_ms,)] = await self._memory.database.execute(NEXT)
        return min(LOOK_EVERY, max(0, due_ms - now_ms()) / 1000) if due_ms else LOOK_EVERY

    async def _deliver(
        self, client: httpx.AsyncClient, id: int, thread: str, name: str, turn: int, tries: int, made_ms: int
    ) -> None:
        """Push the transcript up to a turn, as far as it still exists; push nothing if it is empty."""
        self._pushed = thread
        try:
            async with asyncio.timeout(PATIENCE) as self._limit:
                lines = [line for line in await self._memory.transcript.lines(thread) if line.turn <= turn]
                content = safe_json({"thread": name, "contents": contents(lines)}).encode()
                outcome = await self._posted(client, id, content) if lines else ""
        except (httpx.HTTPError, TimeoutError) as failure:
            outcome = type(failure).__name__
        finally:
            self._limit = None
        if outcome and now_ms() - made_ms < LASTS_MS:
            wait = min(FIRST_WAIT * 2 ** (tries - 1), LONGEST_WAIT)
            LOG.warning("callback %s: MEMORY_CALLBACK_URL did not take it (%s); again in %d s", id, outcome, wait)
            await self._memory.database.execute(LATER, (now_ms() + round(wait * 1000), id))
            return
        if outcome:
            LOG.error("callback %s: MEMORY_CALLBACK_URL did not take it for three days (%s); dropped", id, outcome)
        await self._memory.database.execute(DONE, (id,))

    async def _posted(self, client: httpx.AsyncClient, id: int, content: bytes) -> str:
        """Send a push; return the reason of a refusal, empty after success. Raises httpx.HTTPError."""
        headers = {"Content-Type": "application/json", "X-Delivery-Id": str(id)}
        if self._secret:
            digest = hmac.new(self._secret.get_secret_value().encode(), content, hashlib.sha256).hexdigest()
            headers["X-Signature-256"] = f"sha256={digest}"
        answer = await client.post(self._url, content=content, headers=headers)
        return "" if answer.is_success else f"HTTP {answer.status_code}"

    async def _break_off(self, thread: str, users: Collection[str]) -> None:
        """End a running push of a forgotten thread."""
        if self._limit and self._pushed == storable(thread):
            self._limit.reschedule(0)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Push while the HTTP door serves, if there is a receiver."""
    pushes = app.state.assistant.services.find(Callbacks)
    async with pushes or nullcontext():
        yield
