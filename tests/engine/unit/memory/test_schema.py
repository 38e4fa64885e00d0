"""The tables of an owner go from version to version, all steps or none, and never back."""

import sqlite3
from pathlib import Path

import pytest

from agents.errors import ConfigError, ContractError
from agents.memory.connection import Tables
from agents.memory.sqlite_file import SqliteBackend
from tests.support.tiny_graph import count, letter

FIRST = "CREATE TABLE plants (name TEXT); INSERT INTO plants VALUES ('fern');"
SECOND = "ALTER TABLE plants ADD COLUMN height INTEGER NOT NULL DEFAULT 1;"


async def rows(path: Path, *steps: str) -> list[tuple[object, ...]]:
    """Open a database with the tables of an owner, and return what is in them."""
    async with SqliteBackend(f"sqlite:///{path}").open(
        tables=[Tables("garden", {str(number): step for number, step in enumerate(steps)})]
    ) as memory:
        return await memory.database.execute("SELECT * FROM plants")


async def test_an_owner_brings_tables_of_its_own(path: Path) -> None:
    """They are made once; a later version runs only the steps that are missing."""
    assert await rows(path, FIRST) == await rows(path, FIRST) == [("fern",)]
    assert await rows(path, FIRST, SECOND) == [("fern", 1)]


async def test_a_step_that_fails_leaves_the_version_before(path: Path) -> None:
    """Of several steps either all are done or none; the error names the owner and the fault."""
    await rows(path, FIRST)
    with pytest.raises(ContractError, match="tables of 'garden' cannot be made: no such table: nowhere"):
        await rows(path, FIRST, SECOND, "INSERT INTO nowhere VALUES (1);")
    assert await rows(path, FIRST, SECOND) == [("fern", 1)]


async def test_a_newer_database_is_refused_in_one_line(path: Path) -> None:
    """An older program changes nothing in it."""
    await rows(path, FIRST, SECOND)
    with pytest.raises(ConfigError, match="newer than this program") as refused:
        await rows(path, FIRST)
    assert "\n" not in str(refused.value)
    assert await rows(path, FIRST, SECOND) == [("fern", 1)]


async def test_the_version_of_the_engine_stands_in_the_file(path: Path) -> None:
    """A tool that knows SQLite alone can read it; an owner that is gone leaves its tables as they are."""
    await rows(path, FIRST)
    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
        await memory.transcript.accept(letter())
    with sqlite3.connect(path) as connection:
        [(version,)] = connection.execute("PRAGMA user_version")
    connection.close()
    assert version == 6
    assert count(path, "plants") == 1


async def test_a_database_of_before_the_first_release_is_refused(path: Path) -> None:
    """Its tables have no version; the operator is told which program made it and what to do, and it stays as it was."""
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE inbox (id)")
        before = list(connection.iterdump())
    connection.close()
    with pytest.raises(ConfigError, match=r"before 23 November 2026 .*python -m app import"):
        await rows(path, FIRST)
    with sqlite3.connect(path) as connection:
        assert list(connection.iterdump()) == before
    connection.close()
