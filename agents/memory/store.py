"""The long-term store: LangGraph's interface over one table; a batch is done completely or not at all."""

import asyncio
import json
import threading
from collections.abc import Iterable, Sequence
from functools import partial

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from agents.memory.connection import Connection, Session

TABLES = """
CREATE TABLE store (
    prefix TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    PRIMARY KEY (prefix, key));
"""
GET = "SELECT value, created_at, updated_at FROM store WHERE prefix = ? AND key = ?"
# "/" is the character that follows the full stop.
BELOW = "(prefix = :prefix OR (prefix > :prefix || '.' AND prefix < :prefix || '/'))"
ALL = "SELECT prefix, key, value, created_at, updated_at FROM store"
# No index would serve one statement for everything and for a single namespace.
SEARCH_ALL, SEARCH = (f"{ALL} {where}ORDER BY updated_at DESC" for where in ("", f"WHERE {BELOW} "))
PUT = """
INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES (?, ?, ?, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)
ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
"""
DELETE = "DELETE FROM store WHERE prefix = ? AND key = ?"
Namespace = tuple[str, ...]


def namespace_of(user: str, *kind: str) -> Namespace:
    """Return the namespace of a user's items: ("users", user, …); full stops, which the store forbids, become %2E."""
    return "users", _escaped(user), *kind


NUMBERS = "numbers"
"""A user's items that only count up: the given numbers, also those of items that are taken back."""
LINKS = "links"
"""Items that name a thread's items elsewhere: those are deleted with it, as a digest of its text confirms a guess."""


def namespace_of_thread(thread: str, *kind: str) -> Namespace:
    """Return the namespace of a thread's items: ("threads", thread, …)."""
    return "threads", _escaped(thread), *kind


async def link(store: BaseStore, thread: str, namespace: Namespace, key: str) -> None:
    """Have an item outside a thread's namespace deleted with the thread; put the item after this call."""
    await store.aput(namespace_of_thread(thread, LINKS), key, {"namespace": [*namespace]})


async def erase_linked(store: BaseStore, thread: str) -> None:
    """Delete the items that are linked to a thread."""
    place = namespace_of_thread(thread, LINKS)
    while links := await store.asearch(place, limit=1000):
        for item in links:
            await store.adelete(tuple(item.value["namespace"]), item.key)
            await store.adelete(place, item.key)


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace(".", "%2E") or "%"


class Store(BaseStore):
    """Keep long-term items in SQLite. Items cannot be searched by meaning, and do not expire."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations for blocking code in a thread of its own, such as that of a tool.

        Raises NotImplementedError on the event loop, which would wait for itself.
        """
        if threading.get_ident() == self._thread:
            raise NotImplementedError("on the event loop, use the asynchronous methods of this store")
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations in their order; if one fails, nothing is written."""
        batch = [*ops]
        run = self._connection.write if any(isinstance(op, PutOp) for op in batch) else self._connection.read
        return await run(lambda database: done(batch, database))

    async def erase(self, namespace: Namespace) -> int:
        """Delete every item in `namespace` and below it; return how many."""
        sql, values = f"DELETE FROM store WHERE {BELOW}", {"prefix": ".".join(namespace)}
        return await self._connection.write(lambda database: database.execute(sql, values).rowcount)


def done(batch: Iterable[Op], database: Session) -> list[Result]:
    """Do operations in their order, as part of a piece of work with the database."""
    return [_done(op, database) for op in batch]


def _done(op: Op, database: Session) -> Result:
    match op:
        case GetOp():
            return _item(op, database)
        case SearchOp():
            return _found(op, database)
        case PutOp(value=None):
            database.execute(DELETE, (".".join(op.namespace), op.key))
        case PutOp():
            database.execute(PUT, (".".join(op.namespace), op.key, json.dumps(op.value, ensure_ascii=False)))
        case ListNamespacesOp():
            return _namespaces(op, database)
    return None


def _item(op: GetOp, database: Session) -> Item | None:
    row = database.execute(GET, (".".join(op.namespace), op.key)).fetchone()
    if row is None:
        return None
    text, created, updated = row
    value = _value(text)
    if value is None:
        return None
    return Item(value=value, key=op.key, namespace=op.namespace, created_at=created, updated_at=updated)


def _value(text: str) -> dict[str, object] | None:
    """Return a stored value; None for a damaged one, which counts as missing."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _found(op: SearchOp, database: Session) -> list[SearchItem]:
    if op.query:
        raise NotImplementedError("items cannot be searched by meaning")
    prefix = ".".join(op.namespace_prefix)
    rows = database.execute(SEARCH, {"prefix": prefix}) if prefix else database.execute(SEARCH_ALL, ())
    items = (
        SearchItem(tuple(prefix.split(".")), key, value, created, updated)
        for prefix, key, text, created, updated in rows
        if (value := _value(text)) is not None
    )
    wanted = (op.filter or {}).items()
    fitting = [item for item in items if all(item.value.get(name) == value for name, value in wanted)]
    return fitting[op.offset : op.offset + op.limit]


def _namespaces(op: ListNamespacesOp, database: Session) -> list[Namespace]:
    prefixes = database.execute("SELECT DISTINCT prefix FROM store").fetchall()
    namespaces = [tuple(prefix.split(".")) for (prefix,) in prefixes]
    fitting = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(map(partial(_fits, namespace), op.match_conditions or ()))
    }
    return sorted(fitting)[op.offset : op.offset + op.limit]


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path: Sequence[str] = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for wanted, name in zip(path, part, strict=True))
