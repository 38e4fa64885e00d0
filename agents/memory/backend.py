"""Backends: each opens the databases of one kind of address; a plug-in may bring a kind (`Plugin.storage`)."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from agents.memory import Memory
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.connection import Connection, Tables


class Backend(ABC):
    """Opens the database at one address. Each method raises ConfigError if the address cannot be used."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    @abstractmethod
    def path(self) -> Path:
        """The database file, or a path in its place; the index of documents and the prompt's history lie beside it."""

    @abstractmethod
    def open(
        self,
        now: Callable[[], float] = time.time,
        *,
        keep: Keep = KEPT_TURNS,
        reads: bool = False,
        tables: Sequence[Tables] = (),
    ) -> AbstractAsyncContextManager[Memory]:
        """Open the database and make its missing tables; close it at the end.

        `now` tells the Unix time in seconds that notices and the ledger go by; `keep` is how many turns of a thread
        a user can go back to, or "all" for every step of every turn. A command that only `reads` works on a database
        that cannot be written to. `tables` are those of other owners than the engine.
        """

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Connect to an existing database, and make nothing in it."""

    @abstractmethod
    async def check(self, tables: Sequence[Tables]) -> None:
        """Check that an existing database can be opened, and change nothing; a new one is made later."""

    @abstractmethod
    async def compact(self) -> tuple[int, int]:
        """Write the database anew, without remains of deleted rows; return its bytes before and after."""

    @abstractmethod
    async def owners_left(self, connection: Connection) -> Collection[str]:
        """Return the owners of tables that a copy leaves out. Raises UsageError: rows in them are needed."""

    @abstractmethod
    async def filled(self, connection: Connection, table: str, column: str) -> None:
        """Note that rows were copied into a table, with the numbers that its database gives to new rows."""
