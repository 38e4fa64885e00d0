"""The long-term store: all of a batch or nothing."""

import asyncio
from pathlib import Path

import pytest
from langgraph.store.base import PutOp
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agents.memory import Memory, open_memory
from agents.memory.store import Store, namespace_of
from tests.support.tiny_graph import count


class TestStore:
    """Long-term items."""

    async def test_erase_takes_a_namespace_and_what_is_below_it(self, memory: Memory) -> None:
        """A user's items go, also many of them, and nobody else's."""
        home, other = namespace_of("u"), namespace_of("u2")
        for number in range(30):
            await memory.store.aput((*home, "todos"), str(number), {"n": number})
        await memory.store.aput(home, "profile", {"name": "Ann"})
        await memory.store.aput(other, "profile", {"name": "Bob"})
        assert await memory.store.erase(home) == 31
        assert await memory.store.asearch(home) == []
        assert len(await memory.store.asearch(other)) == 1

    @pytest.mark.parametrize("user", ["anna.smith", "", "50%", "a.", "%2E"])
    async def test_every_user_has_a_namespace(self, memory: Memory, user: str) -> None:
        """Names with full stops, which the store forbids, have a home of their own."""
        await memory.store.aput(namespace_of(user), "profile", {"user": user})
        found = await memory.store.aget(namespace_of(user), "profile")
        assert found is not None
        assert found.value == {"user": user}
        homes = {namespace_of(name) for name in ("anna.smith", "", "50%", "a.", "%2E", ".", "%")}
        assert len(homes) == 7

    async def test_a_failed_batch_leaves_nothing(self, path: Path, memory: Memory) -> None:
        """Of a batch that cannot be written whole, nothing is written."""
        await memory.store.aput(("a",), "b", {})
        with pytest.raises(UnicodeEncodeError):
            await memory.store.abatch([PutOp(("a",), "b", None), PutOp(("a",), "\ud800", {})])
        assert count(path, "store") == 1
        await memory.store.aput(("a",), "c", {})
        assert count(path, "store") == 2

    async def test_a_read_and_write_batch_waits_for_other_writers(self, path: Path, memory: Memory) -> None:
        """A batch that reads first does not fail because somebody else commits in between."""
        async with Store.from_conn_string(str(path)) as second:
            async with memory.store._cursor() as cursor:
                await cursor.execute("SELECT count(*) FROM store")
                waiting = asyncio.create_task(second.aput(("a",), "b", {}))
                await asyncio.sleep(0.05)
                await cursor.execute("INSERT INTO store (prefix, key, value) VALUES ('a', 'c', '{}')")
            await waiting
        assert count(path, "store") == 2

    async def test_closing_leaves_no_task(self, path: Path) -> None:
        """Whoever opens a database after another one in the same loop hears nothing of the first."""
        before = asyncio.all_tasks()
        async with open_memory(f"sqlite:///{path}") as memory:
            await memory.store.aput(("a",), "b", {})

        assert asyncio.all_tasks() == before

    @pytest.mark.parametrize("user", ["ann", "%_*[a]?", "Ann"])
    async def test_a_search_without_conditions_finds_what_the_stock_one_finds(self, memory: Memory, user: str) -> None:
        """It sees the namespace and those below it, and no other that begins alike, in the same order."""
        for namespace in (user, f"{user}y", f"{user}/x", f"{user}-", "ANN"):
            for place in (("users", namespace), ("users", namespace, "todos"), ("users", namespace, "todos", "old")):
                await memory.store.aput(place, "1", {"in": place})
        home = ("users", user)
        stock = await AsyncSqliteStore.asearch(memory.store, home, limit=9)
        assert await memory.store.asearch(home, limit=9) == stock
        assert len(stock) == 3
        assert await memory.store.asearch(home, limit=1, offset=1) == stock[1:2]
