"""Commands that a dialog brings: its own options, the services, and one way of printing."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
import typer

from agents.command_line import CommandResult
from agents.errors import ContractError, UsageError
from agents.memory import Memory
from agents.toolkit.commands import installation_of, services_of
from app.cli import command_line
from app.composition import dialogs_of
from dialogs import Dialog
from tests.doors.cli.conftest import Captured

shelf = typer.Typer(name="shelf")


@shelf.callback()
def about() -> None:
    """A shelf with books."""


@shelf.command()
async def count(
    context: typer.Context, name: str, *, times: Annotated[int, typer.Option(help="How often.")] = 1
) -> CommandResult:
    """Count books.

    Raises:
        UsageError: there are none.
    """
    if times < 1:
        raise UsageError("count at least once")
    async with services_of(context) as services:
        path = services.get(Memory).storage.path
    return CommandResult({"name": name * times, "file": path.name}, [installation_of(context).lang, name * times], 3)


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a dialog have commands of its own."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/shelf.db")
    monkeypatch.setenv("APP_LANG", "ru")
    specialists: Mapping[str, Dialog] = {**dialogs_of()}
    named = {**specialists, "profile": replace(specialists["profile"], command_line=shelf)}
    monkeypatch.setattr("app.cli.plugin_commands.plugins_found", lambda: named)


@pytest.mark.usefixtures("house")
@pytest.mark.needs("profile", "standin")
def test_a_command_of_a_dialog_prints_lines_or_json(capsys: Captured) -> None:
    """It stands beside the others, works with the services, and returns what is printed, with an exit code."""
    assert command_line.main(["shelf", "count", "ab", "--times", "2"]) == 3
    assert capsys.readouterr().out == "ru\nabab\n"
    assert command_line.main(["shelf", "count", "ab", "--json"]) == 3
    assert json.loads(capsys.readouterr().out) == {"name": "ab", "file": "shelf.db"}
    assert command_line.main(["shelf", "count", "ab", "--times", "0"]) == 2
    assert capsys.readouterr().err == "python -m app: count at least once\n"
    assert command_line.main(["shelf", "count", "ab", "--times", "often"]) == 2
    assert capsys.readouterr().err.startswith("python -m app: Invalid value for '--times'")


@pytest.mark.usefixtures("house")
@pytest.mark.needs("profile")
def test_help_is_the_first_line_of_a_docstring(capsys: Captured) -> None:
    """A developer's section on errors is not for an operator."""
    assert command_line.main(["shelf", "count", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Count books." in out
    assert "--json" in out
    assert "UsageError" not in out


def test_a_broken_dialog_takes_no_command_with_it(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The command line works as before; the command that needs the dialogs reports the fault."""

    def broken() -> Mapping[str, Dialog]:
        raise ContractError("dialogs/broken.py is no dialog")

    monkeypatch.setattr("app.cli.plugin_commands.plugins_found", broken)
    assert command_line.main(["--help"]) == 0
    assert "check" in capsys.readouterr().out
