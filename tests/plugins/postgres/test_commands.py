"""The commands on PostgreSQL."""

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ConfigError
from app.cli.command_line import main
from app.composition import plugins_found, tables_of
from app.databases import backend_of
from tests.support.postgres_server import PostgresServer, programs

pytestmark = pytest.mark.slow
Captured = pytest.CaptureFixture[str]


class Installation:
    """Commands in a folder, on one database."""

    def __init__(self, folder: Path, url: str, patch: pytest.MonkeyPatch, captured: Captured) -> None:
        self.folder, self._url, self._patch, self._captured = folder, url, patch, captured

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command to its end; return the exit code, and what it has printed and said."""
        self._patch.chdir(self.folder)
        self._patch.setenv("DATABASE_URL", self._url)
        return main(arguments), *self._captured.readouterr()

    def prints(self, *arguments: str) -> str:
        """Return the output of a successful command."""
        code, printed, said = self.run(*arguments)
        assert code == 0, said
        return printed

    def json(self, *arguments: str) -> Any:
        """Return the output of a successful command with --json."""
        return json.loads(self.prints(*arguments, "--json"))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> Callable[[str, str], Installation]:
    """Return the maker of installations, each in a folder of its own and on its database."""
    monkeypatch.setenv("LLM_MODEL", "local:rules")

    def install(name: str, url: str) -> Installation:
        (tmp_path / name).mkdir()
        return Installation(tmp_path / name, url, monkeypatch, capfd)

    return install


def test_a_conversation_and_all_that_shows_it(
    installed: Callable[[str, str], Installation], postgres_server: PostgresServer
) -> None:
    """A turn is answered, listed, exported, repeated without effect, and forgotten; files lie below `var`."""
    installation, options = installed("here", postgres_server.fresh()), ("--thread", "t", "--lang", "en")
    answer = installation.prints("ask", "remind me tomorrow at 9 to call mum", *options, "--message-id", "m1")
    assert installation.prints("ask", "remind me tomorrow at 9 to call mum", *options, "--message-id", "m1") == answer
    assert [row["thread"] for row in installation.json("threads")] == ["t"]
    assert installation.json("state", "--thread", "t")["turn"] == 1
    assert "call mum" in installation.prints("history", "--thread", "t")
    assert "call mum" in installation.prints("export", "--thread", "t")
    assert "1." in installation.prints("ask", "what reminders do I have?", *options)
    (installation.folder / "notes.md").write_text("# Ferns\nA fern wants shade.\n", "utf-8")
    installation.prints("index", "add", "notes.md")
    assert "notes.md" in installation.prints("index", "list")
    assert (installation.folder / "var" / "dialogs.documents.db").exists()
    installation.prints("forget", "--thread", "t", "--yes")
    assert installation.json("threads") == []


def test_a_backup_that_was_restored_goes_on(
    tmp_path: Path, installed: Callable[[str, str], Installation], postgres_server: PostgresServer
) -> None:
    """As docs/operations.md says, in another folder: all is there, the next turn and reminder have the next number."""
    here, elsewhere = (postgres_server.empty_database(f"{name}_{uuid.uuid4().hex}") for name in ("old", "new"))
    old, new, options, folder = installed("old", here), installed("new", elsewhere), ("--thread", "t"), programs()
    assert folder is not None
    assert old.prints("ask", "remind me tomorrow at 9 to call mum", *options, "--lang", "en").startswith("Set: 1.")
    backup = str(tmp_path / "dialogs.backup")
    subprocess.run([folder / "pg_dump", "--format=custom", f"--file={backup}", here], check=True)
    subprocess.run([folder / "pg_restore", "--no-owner", f"--dbname={elsewhere}", backup], check=True)
    assert new.prints("history", *options) == old.prints("history", *options)
    assert new.prints("ask", "remind me tomorrow at 9 to call dad", *options, "--lang", "en").startswith("Set: 2.")
    assert new.json("state", *options)["turn"] == 2


def test_an_address_that_leads_nowhere_is_one_line(installed: Callable[[str, str], Installation]) -> None:
    """The line names the setting, not the password."""
    code, _, said = installed("here", "postgresql://ann:secret@127.0.0.1:9/none").run("threads")
    assert code == 74
    assert said.count("\n") == 1
    assert "DATABASE_URL" in said
    assert "secret" not in said


async def test_check_opens_a_database_of_a_server(postgres_server: PostgresServer) -> None:
    """A new one is no fault; one that a newer version has made is refused as an opening refuses it."""
    tables, backend = tables_of(plugins_found()), backend_of(postgres_server.fresh())
    await backend.check(tables)
    async with backend.open(tables=tables):
        pass
    await backend.check(tables)
    async with backend.connect() as connection:
        await connection.execute("UPDATE owners SET version = 99 WHERE owner = 'checkpoints'")
    with pytest.raises(ConfigError, match="newer than this program"):
        await backend.check(tables)
    with pytest.raises(ConfigError, match="newer than this program"):
        async with backend.open(tables=tables):
            pass
