"""The commands on PostgreSQL, each in a process of its own."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT
from tests.support.postgres_server import PostgresServer, programs

pytestmark = pytest.mark.slow


class Installation:
    """Commands in a folder, on one database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self._variables = {**os.environ, "LLM_MODEL": "local:rules", "DATABASE_URL": url, "PYTHONPATH": str(ROOT)}

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        call = [sys.executable, "-m", "app", *arguments]
        return subprocess.run(
            call, cwd=self.folder, env=self._variables, capture_output=True, text=True, check=False, timeout=120
        )

    def json(self, *arguments: str) -> Any:
        """Return what a command that succeeds prints with --json."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def installation(tmp_path: Path, postgres_server: PostgresServer) -> Installation:
    """Return an installation without any conversation."""
    return Installation(tmp_path, postgres_server.fresh())


def test_a_conversation_and_all_that_shows_it(installation: Installation) -> None:
    """A turn is answered, listed, exported, repeated without effect, and forgotten; files lie below `var`."""
    options = ("--thread", "t", "--lang", "en")
    answer = installation.run("ask", "remind me tomorrow at 9 to call mum", *options, "--message-id", "m1")
    assert answer.returncode == 0, answer.stderr
    again = installation.run("ask", "remind me tomorrow at 9 to call mum", *options, "--message-id", "m1")
    assert again.stdout == answer.stdout
    assert [row["thread"] for row in installation.json("threads")] == ["t"]
    assert installation.json("state", "--thread", "t")["turn"] == 1
    history = installation.run("history", "--thread", "t").stdout
    assert "call mum" in history
    assert "call mum" in installation.run("export", "--thread", "t").stdout
    assert "1." in installation.run("ask", "what reminders do I have?", *options).stdout
    (installation.folder / "notes.md").write_text("# Ferns\nA fern wants shade.\n", "utf-8")
    assert installation.run("index", "add", "notes.md").returncode == 0
    assert "notes.md" in installation.run("index", "list").stdout
    assert (installation.folder / "var" / "dialogs.documents.db").exists()
    assert installation.run("forget", "--thread", "t").returncode == 0
    assert installation.json("threads") == []


def test_a_backup_that_was_restored_goes_on(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """As docs/operations.md says, in another folder: all is there, the next turn and reminder have the next number."""
    old, new = (postgres_server.empty_database(f"{name}_{uuid.uuid4().hex}") for name in ("old", "new"))
    options, folder = ("--thread", "t", "--lang", "en"), programs()
    assert folder is not None
    answer = Installation(tmp_path, old).run("ask", "remind me tomorrow at 9 to call mum", *options)
    assert answer.stdout.startswith("Set: 1."), answer.stderr
    backup = str(tmp_path / "dialogs.backup")
    subprocess.run([folder / "pg_dump", "--format=custom", f"--file={backup}", old], check=True)
    subprocess.run([folder / "pg_restore", "--no-owner", f"--dbname={new}", backup], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    restored = Installation(elsewhere, new)
    assert (
        restored.run("history", *options[:2]).stdout == Installation(tmp_path, old).run("history", *options[:2]).stdout
    )
    assert restored.run("ask", "remind me tomorrow at 9 to call dad", *options).stdout.startswith("Set: 2.")
    assert restored.json("state", "--thread", "t")["turn"] == 2


def test_an_address_that_leads_nowhere_is_one_line(installation: Installation) -> None:
    """The line names the setting, not the password."""
    away = Installation(installation.folder, "postgresql://ann:secret@127.0.0.1:9/none")
    done = away.run("threads")
    assert done.returncode == 74
    assert done.stderr.count("\n") == 1
    assert "DATABASE_URL" in done.stderr
    assert "secret" not in done.stderr
