"""The command line on a database that is damaged, or reached by two names."""

import errno
import io
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.command_line import main
from tests.doors.cli.conftest import Captured

pytestmark = pytest.mark.slow


def test_a_broken_state_is_one_line_and_history_is_still_read(home: Path, capsys: Captured) -> None:
    """`state` says what to do; `history`, `export` and `forget` need no state; the next message rebuilds it."""
    assert main(["ask", "hello", "--thread", "me"]) == 0
    with closing(sqlite3.connect(home / "try.db")) as database, database:
        database.execute("UPDATE checkpoints SET checkpoint = x'c1'")
    capsys.readouterr()
    assert main(["state", "--thread", "me"]) == 74
    fault = "thread 'me': its stored state cannot be read; say something in it, or forget it"
    assert capsys.readouterr().err == f"python -m app: {fault}\n"
    assert main(["history", "--thread", "me"]) == 0
    assert main(["ask", "what can you do?", "--thread", "me"]) == 0
    assert main(["state", "--thread", "me"]) == 0
    with closing(sqlite3.connect(home / "try.db")) as database, database:
        database.execute("UPDATE checkpoints SET checkpoint = x'c1'")
    assert main(["forget", "--thread", "me"]) == 0


def test_pages_of_garbage_are_one_line(home: Path, capsys: Captured) -> None:
    """A damaged file ends a command with one line and an exit code, never with a traceback."""
    for number in range(8):
        assert main(["ask", f"add thing{number} to my list", "--thread", "me"]) == 0
    path = home / "try.db"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096, 2):
        data[page * 4096 : (page + 1) * 4096] = os.urandom(4096)
    path.write_bytes(data)
    capsys.readouterr()
    for command in (["ask", "hm", "--thread", "me"], ["history", "--thread", "me"], ["threads"]):
        code = main(command)
        shown = capsys.readouterr()
        assert code in (0, 74)
        assert "Traceback" not in shown.err
        assert bool(shown.err) == bool(code)


@pytest.mark.parametrize("command", [["threads"], ["ask", "hi"]])
def test_an_unusable_file_has_its_exit_code(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, command: list[str]
) -> None:
    """A path that leads nowhere and a file that is no database are one line, and not a fault of the caller."""
    (home / "notes.txt").write_text("These are notes, and no database. " * 100)
    for path in (home / "notes.txt", "/dev/null/x.db"):
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
        assert main(command) == 74
        err = capsys.readouterr().err
        assert err.startswith(f"python -m app: DATABASE_URL: cannot use {path}")
        assert len(err.splitlines()) == 1


def test_two_names_are_one_database(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A symbolic link and a relative path share log and locks with the file; a hard link is refused."""
    assert main(["ask", "add milk to my list", "--thread", "me"]) == 0
    real, link = home / "try.db", home / "link.db"
    link.symlink_to(real)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{link}")
    assert main(["ask", "add eggs to my list", "--thread", "me"]) == 0
    monkeypatch.setenv("DATABASE_URL", "sqlite:///try.db")
    assert main(["ask", "show my list", "--thread", "me"]) == 0
    assert "eggs" in capsys.readouterr().out
    assert not [path for path in home.iterdir() if path.name.startswith("link.db.")]
    (home / "hard.db").hardlink_to(real)
    assert main(["ask", "add tea", "--thread", "me"]) == 74
    assert "a second name, a hard link" in capsys.readouterr().err


def test_a_reading_command_needs_no_writing(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A reading command works on a read-only file system; a conversation there is refused."""
    assert main(["ask", "add milk to my list", "--thread", "me"]) == 0
    real = Path.touch

    def touch(path: Path, mode: int = 0o666, exist_ok: bool = True) -> None:
        if path.name == "try.db":
            raise OSError(errno.EROFS, "Read-only file system")
        real(path, mode, exist_ok)

    monkeypatch.setattr(Path, "touch", touch)
    before = {path.name: path.stat().st_mtime_ns for path in home.glob("try.db*")}
    capsys.readouterr()
    for command in (["threads"], *([name, "--thread", "me"] for name in ("state", "history", "export"))):
        assert main(command) == 0, command
        assert capsys.readouterr().out
    assert {path.name: path.stat().st_mtime_ns for path in home.glob("try.db*")} == before
    assert main(["ask", "add eggs", "--thread", "me"]) == 74
    assert "Read-only file system" in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_a_terminal_that_shows_ascii_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A character outside the encoding costs a letter, and not the command."""
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="ascii"))
    monkeypatch.setenv("APP_LANG", "ru")
    assert main(["threads"]) == 0
    assert b"?" in shown.getvalue()


def test_what_was_said_needs_no_model(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """It is shown, exported and deleted while the model's key is missing; a turn names the key."""
    assert main(["ask", "hello", "--thread", "me"]) == 0
    monkeypatch.setenv("LLM_MODEL", "openai:gpt-x")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for command in (["state"], ["history"], ["export"], ["forget", "--yes"]):
        assert main([*command, "--thread", "me"]) == 0
    capsys.readouterr()
    assert main(["ask", "hello"]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err


@pytest.mark.needs("standin")
def test_forget_leaves_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`forget` leaves none of the thread's words in the folder, and only the owner may read what is there."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/talk.db")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    assert main(["ask", "pomegranate", "--thread", "mine"]) == 0
    # What an earlier version has kept of the prompt.
    (tmp_path / "talk.db.typed").write_text('["mine", "pomegranate"]', "utf-8")
    assert main(["forget", "--thread", "mine"]) == 0
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    assert not any(b"pomegranate" in file.read_bytes() for file in tmp_path.iterdir())
