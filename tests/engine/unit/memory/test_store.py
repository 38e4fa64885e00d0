"""The long-term store: all of a batch or nothing."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from agents.memory import Memory
from agents.memory.store import namespace_of
from tests.support.tiny_graph import count
from tests.support.until import until


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
        stored = await memory.store.aget(namespace_of(user), "profile")
        assert stored is not None
        assert stored.value == {"user": user}
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

    async def test_a_batch_waits_for_other_writers(self, path: Path, memory: Memory) -> None:
        """A batch that reads first does not fail because somebody else commits in between."""
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            begun = threading.Event()
            await memory.database.read(lambda session: session.set_trace_callback(lambda _: begun.set()))  # type: ignore[attr-defined]
            waiting = asyncio.create_task(memory.store.abatch([GetOp(("a",), "b"), PutOp(("a",), "b", {})]))
            await until(begun.is_set)
            other.execute("INSERT INTO owners VALUES ('somebody', 1)")
            other.execute("COMMIT")
            assert await waiting == [None, None]
        assert count(path, "store") == 1

    @pytest.mark.parametrize("user", ["ann", "%_*[a]?", "Ann"])
    async def test_it_finds_what_the_store_in_memory_finds(self, memory: Memory, user: str) -> None:
        """It sees a namespace and those below it, and no other that begins alike."""
        reference = InMemoryStore()
        for namespace in (user, f"{user}y", f"{user}/x", f"{user}-", "ANN"):
            for place in (("users", namespace), ("users", namespace, "todos"), ("users", namespace, "todos", "old")):
                for store in (memory.store, reference):
                    await store.aput(place, "1", {"in": [*place], "kind": place[-1]})
        for conditions in ({}, {"filter": {"kind": "todos"}}, {"limit": 1, "offset": 1}):
            assert len(await memory.store.asearch(("users", user), **conditions)) == len(
                await reference.asearch(("users", user), **conditions)
            )
        stored = await memory.store.asearch(("users", user))
        assert sorted(item.namespace for item in stored) == [
            ("users", user),
            ("users", user, "todos"),
            ("users", user, "todos", "old"),
        ]
        for wanted in (
            {"prefix": ("users",), "suffix": ("todos",)},
            {"prefix": ("*", user)},
            {"max_depth": 2},
            {"limit": 2, "offset": 1},
        ):
            assert await memory.store.alist_namespaces(**wanted) == await reference.alist_namespaces(**wanted)
