"""Notices: what a user is told later, each once, whatever crashes in between."""

from pathlib import Path

from agents.memory import Memory
from agents.memory.notices import Due
from agents.memory.sqlite_file import SqliteBackend


async def due(memory: Memory) -> list[Due]:
    """Return all that is due."""
    return [*await memory.notices.due(2**53, None, "*")]


async def test_a_notice_is_told_once_for_each_key(tmp_path: Path) -> None:
    """A key that was added before adds nothing, also after its notice was told; a late notice says so."""
    async with SqliteBackend(f"sqlite:///{tmp_path}/dialogs.db").open(lambda: 1_800_000_000) as memory:
        for text in ("tea is cheaper", "told before"):
            await memory.notices.add("ann", "telegram-1", "tea-3.50", text=text, lang="en")
        [notice] = await due(memory)
        assert (notice.user, notice.thread, notice.at_ms) == ("ann", "telegram-1", 1_800_000_000_000)
        assert await memory.notices.text_of(notice, is_late=False) == "⏰ tea is cheaper"
        assert "⏰ tea is cheaper (missed: " in (await memory.notices.text_of(notice, is_late=True) or "")
        await memory.notices.rang(notice)
        assert await memory.notices.text_of(notice, is_late=False) is None
        await memory.notices.add("ann", "telegram-1", "tea-3.50", text="again", lang="en")
        assert await due(memory) == []


async def test_a_clock_asks_for_its_users_and_threads(tmp_path: Path) -> None:
    """Later notices, and those of other users or threads, are left out; so are deleted ones."""
    async with SqliteBackend(f"sqlite:///{tmp_path}/dialogs.db").open() as memory:
        for user, thread, at_ms in (("ann", "ann", 10), ("bob", "telegram-1", 20), ("cid", "cid", 99)):
            await memory.notices.add(user, thread, "key", text="tea", lang="en", at_ms=at_ms)
        assert [it.user for it in await memory.notices.due(50, None, "*")] == ["ann", "bob"]
        assert [it.user for it in await memory.notices.due(50, "ann", "*")] == ["ann"]
        assert [it.user for it in await memory.notices.due(50, None, "telegram-*")] == ["bob"]
        await memory.notices.erase("telegram-1", ["ann"])
        assert [it.user for it in await due(memory)] == ["cid"]
