"""Pushes the memory of threads that were stopped to the operator's server: signed, and again until it is taken."""

import asyncio
import hashlib
import hmac
import logging
import sqlite3
from collections.abc import Collection
from contextlib import suppress

import httpx
from pydantic import SecretStr

from agents.language.text.clean import safe_json
from agents.memory import Memory
from agents.memory.connection import Tables, migrate
from agents.memory.inbox import TranscriptLine, clean, now_ms
from app.short_term_memory import contents
from app.tasks import Beside, cancel

LOG = logging.getLogger(__name__)
TABLES = Tables(
    "http",
    (
        """CREATE TABLE callbacks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, turn INTEGER NOT NULL, body TEXT,
        made_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, UNIQUE (thread, turn));
        CREATE INDEX callbacks_due ON callbacks (due_ms) WHERE body IS NOT NULL""",
    ),
)
ADD = "INSERT OR IGNORE INTO callbacks (thread, turn, body, made_ms, due_ms) VALUES (?, ?, ?, ?, ?)"
DUE = "SELECT id, thread, tries, made_ms FROM callbacks WHERE body IS NOT NULL AND due_ms <= ? ORDER BY id LIMIT 20"
BODY = "SELECT body FROM callbacks WHERE id = ?"
NEXT = "SELECT min(due_ms) FROM callbacks WHERE body IS NOT NULL"
# The row stays, so that the same end of a thread is pushed once.
DONE = "UPDATE callbacks SET body = NULL WHERE id = ?"
LATER = "UPDATE callbacks SET tries = tries + 1, due_ms = ? WHERE id = ?"
FIRST_WAIT, LONGEST_WAIT = 2.0, 600.0
"""Seconds until a callback that was not taken is tried again: twice as many each time, up to a limit."""
LASTS_MS = 3 * 24 * 3600 * 1000
"""How long a callback is tried, in milliseconds."""
PATIENCE = 10.0
"""Seconds in which the server has to answer."""


class Callbacks(Beside):
    """Keeps what is to be pushed in the database, and pushes it."""

    def __init__(self, memory: Memory, url: str, secret: SecretStr | None) -> None:
        self._memory, self._url, self._secret = memory, url, secret
        self._changed = asyncio.Event()
        self._delivery: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """Make the table, and let `forget` empty it."""
        async with self._memory.locks.hold("\0http tables"):
            await self._memory.database.read(lambda database: migrate(TABLES, database))
        self._memory.erasers.append(self._erase)

    async def push(self, thread: str, name: str, lines: list[TranscriptLine]) -> None:
        """Note that the memory of a thread, which its caller calls `name`, is to be pushed: once for each last turn."""
        body = safe_json({"thread": name, "contents": contents(lines)})
        values = clean(thread), lines[-1].turn if lines else 0, body, now_ms(), now_ms()
        await self._memory.database.execute(ADD, values)
        self._changed.set()

    async def run(self) -> None:
        """Push what is due, until cancelled."""
        # A proxy of the environment would be told what was said.
        async with httpx.AsyncClient(timeout=PATIENCE, follow_redirects=False, trust_env=False) as client:
            while True:
                self._changed.clear()
                try:
                    for id, thread, tries, made_ms in await self._memory.database.execute(DUE, (now_ms(),)):
                        self._delivery = asyncio.create_task(self._deliver(client, id, tries, made_ms), name=thread)
                        await _ended(self._delivery)
                    [(due_ms,)] = await self._memory.database.execute(NEXT)
                except sqlite3.Error:
                    LOG.exception("callbacks could not be read")
                    due_ms = now_ms() + round(LONGEST_WAIT * 1000)
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0, due_ms - now_ms()) / 1000 if due_ms else None):
                        await self._changed.wait()

    async def _deliver(self, client: httpx.AsyncClient, id: int, tries: int, made_ms: int) -> None:
        # Its thread may have been forgotten while others were delivered.
        bodies = [body for (body,) in await self._memory.database.execute(BODY, (id,)) if body]
        if not bodies:
            return
        content = bodies[0].encode()
        headers = {"Content-Type": "application/json", "X-Delivery-Id": str(id)}
        if self._secret:
            digest = hmac.new(self._secret.get_secret_value().encode(), content, hashlib.sha256).hexdigest()
            headers["X-Signature-256"] = f"sha256={digest}"
        try:
            answer = await client.post(self._url, content=content, headers=headers)
            outcome = "" if answer.is_success else f"HTTP {answer.status_code}"
        except httpx.HTTPError as failure:
            outcome = type(failure).__name__
        if outcome and now_ms() - made_ms < LASTS_MS:
            wait = min(FIRST_WAIT * 2**tries, LONGEST_WAIT)
            LOG.warning("callback %s: MEMORY_CALLBACK_URL did not take it (%s); again in %d s", id, outcome, wait)
            await self._memory.database.execute(LATER, (now_ms() + round(wait * 1000), id))
            return
        if outcome:
            LOG.error("callback %s: MEMORY_CALLBACK_URL did not take it for three days (%s); dropped", id, outcome)
        await self._memory.database.execute(DONE, (id,))

    async def _erase(self, thread: str, users: Collection[str]) -> None:
        await self._memory.database.execute("DELETE FROM callbacks WHERE thread = ?", (clean(thread),))
        if self._delivery and self._delivery.get_name() == clean(thread):
            await cancel([self._delivery])


async def _ended(task: asyncio.Task[None]) -> None:
    """Wait for a task that others may cancel; cancel it when this one is cancelled."""
    try:
        await asyncio.wait([task])
    finally:
        await cancel([task])
    if not task.cancelled():
        task.result()
