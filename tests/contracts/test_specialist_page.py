"""A sixth specialist with a table, a setting, commands and a service: a folder is added, and nothing else is edited."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.own_folders import mypy_cache
from tests.support.places import ROOT
from tests.support.warm_python import run_python

PAGE = "docs/write-a-specialist.md"
TRIAL = """
import asyncio, json, sys

from agents.memory.sqlite_file import SqliteBackend
from agents.toolkit.commands import CommandCall
from app.composition import open_parts
from app.settings import read_settings
from dialogs.garage import dialog
from dialogs.garage.settings import GarageSettings
from dialogs.garage.store import Garage


async def main() -> None:
    async with open_parts(read_settings()) as parts:
        services = parts.services
        garage = services.get(Garage)
        await garage.put("ann", "a", {"value": 7, "unit": services.get(GarageSettings).garage_unit})
        call = CommandCall(argument="", user="ann", thread="ann", lang="en", is_shared=False, services=services)
        told = await dialog.commands[0].run(call)
        exported = [section.rows for section in await dialog.export(services, "ann", "en")]
        await parts.memory.forget_person("ann")
        print(json.dumps([told, exported, len(await garage.notes("ann"))]))


asyncio.run(main())
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the application with the specialist of the page."""
    return pages.copy(tmp_path, pages.files(pages.page(PAGE)))


def run(copy: Path, module: str, *arguments: str) -> str:
    """Run a module in the copy and return what it prints."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{copy}/try.db", "LLM_MODEL": "local:rules"}
    environment |= {"GARAGE_UNIT": "mi", "APP_LANG": "en"}
    done = run_python(module, *arguments, folder=copy, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_setting_table_service_and_commands_work(copy: Path) -> None:
    """The setting is read, `/mileage` answers, a person's rows are exported, and `forget` deletes them."""
    (copy / "trial.py").write_text(TRIAL, "utf-8")
    assert run(copy, "trial").strip() == '["7 mi", [[{"value": 7, "unit": "mi"}]], 0]'
    assert "garage" in run(copy, "app", "--help")


@pytest.mark.slow
def test_its_tables_grow(copy: Path) -> None:
    """A database in which only the first step was run gets the second, and keeps its rows."""
    store = copy / "dialogs" / "garage" / "store.py"
    source = store.read_text("utf-8")
    store.write_text("".join(line for line in source.splitlines(True) if "ALTER TABLE" not in line), "utf-8")
    run(copy, "app", "ask", "hello")
    with closing(sqlite3.connect(copy / "try.db")) as database, database:
        database.execute("INSERT INTO garage_notes VALUES ('k', 'ann', 5)")
    store.write_text(source, "utf-8")
    assert run(copy, "app", "garage", "notes", "ann").strip() == "5 km"


@pytest.mark.slow
def test_it_is_typed(copy: Path) -> None:
    """`mypy --strict` takes the example as it stands."""
    with mypy_cache() as cache:
        options = ("--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", cache)
        assert "Success" in run(copy, "mypy", *options, "dialogs/garage")
