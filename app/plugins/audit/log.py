"""The audit log: deeds of operators, each with thread and time; no text of a message. Time alone deletes from it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agents.memory.connection import Connection, Session, Tables
from agents.memory.inbox import storable
from app.security.audit import AuditLog

TABLES = Tables(
    "audit",
    {
        "make_audit": """CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
        thread TEXT NOT NULL, about TEXT NOT NULL, outcome TEXT NOT NULL);
        CREATE INDEX audit_at ON audit (at_ms)""",
    },
)
ADD = """
INSERT INTO audit (at_ms, who, what, thread, about, outcome)
VALUES (:at_ms, :who, :what, :thread, :about, 'begun') RETURNING id
"""
END = "UPDATE audit SET outcome = ? WHERE id = ?"
PRUNE = "DELETE FROM audit WHERE at_ms < ?"
DEEDS = "SELECT at_ms, who, what, thread, about, outcome FROM audit WHERE at_ms >= ? ORDER BY id"
DAY_MS = 24 * 3600 * 1000


class AuditEntry(NamedTuple):
    """One thing that an operator did."""

    at_ms: int
    who: str
    """The door, and there the name of the key, the login, or the id of the user in Telegram."""
    what: str
    thread: str
    about: str
    """The other object of the deed: a user, an agent of the lab, a tool, a command."""
    outcome: Literal["begun", "done", "failed"]
    """"begun": the process ended meanwhile."""


@dataclass(frozen=True)
class Audit(AuditLog):
    """Writes down each deed of an operator before it begins."""

    connection: Connection
    now: Callable[[], float]
    """Returns the present time in Unix seconds."""
    days: int = 365
    """How many days are kept."""

    @asynccontextmanager
    async def deed(self, who: str, what: str, thread: str, about: str) -> AsyncIterator[None]:
        """Write down the deed of the block, and then its outcome."""
        now_ms = self._now_ms()
        values = {"who": storable(who), "what": what, "thread": storable(thread), "about": storable(about)}

        def add(database: Session) -> int:
            database.execute(PRUNE, (now_ms - self.days * DAY_MS,))
            return int(database.execute(ADD, {**values, "at_ms": now_ms}).fetchone()[0])

        number = await self.connection.write(add)
        outcome = "failed"
        try:
            yield
            outcome = "done"
        finally:
            await self.connection.execute(END, (outcome, number))

    async def deeds(self, days: int) -> list[AuditEntry]:
        """Return the deeds of the last days, in their order."""
        rows = await self.connection.execute(DEEDS, (self._now_ms() - days * DAY_MS,))
        return [AuditEntry._make(row) for row in rows]

    def _now_ms(self) -> int:
        return round(self.now() * 1000)
