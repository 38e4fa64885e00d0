"""The log of what operators did, in either database: written before, ended after, deleted by time alone."""

import pytest

from app.databases import backend_of
from app.plugins.audit.log import DAY_MS, TABLES, Audit

pytestmark = pytest.mark.both


async def test_a_deed_is_written_before_it_is_done(database: str) -> None:
    """A reader meanwhile sees that it began; an exception is a failure."""
    async with backend_of(database).open(lambda: 1.0, tables=[TABLES]) as memory:
        audit = Audit(memory.database, memory.now)
        async with audit.deed("http:ops", "forget", "t\ud800", "ann"):
            assert await audit.deeds(1) == [(1000, "http:ops", "forget", "t\ufffd", "ann", "begun")]
        with pytest.raises(ZeroDivisionError):
            async with audit.deed("cli:eve", "said", "t", ""):
                raise ZeroDivisionError
        assert [deed.outcome for deed in await audit.deeds(1)] == ["done", "failed"]


async def test_time_alone_deletes(database: str) -> None:
    """Entries older than the kept days go with the next deed; entries about deleted data stay."""
    now = [0.0]
    async with backend_of(database).open(lambda: now[0], tables=[TABLES]) as memory:
        audit = Audit(memory.database, memory.now, days=2)
        for now[0] in (0.0, DAY_MS / 1000, 2.5 * DAY_MS / 1000):
            async with audit.deed("http:ops", "forget", "t", ""):
                await memory.forget("t")
        assert [deed.at_ms for deed in await audit.deeds(100)] == [DAY_MS, 2.5 * DAY_MS]
