"""A file is made into a database, or the error says what is wrong."""

import logging
import os
from pathlib import Path

import pytest

from agents.errors import ConfigError
from agents.memory.sqlite_file import SqliteBackend
from tests.support.tiny_graph import count, letter
from tests.support.warm_process import WarmProcess


class TestOpening:
    """A file is made into a database, or the error says what is wrong."""

    async def test_a_relative_path_and_its_folders_are_created(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Parent folders are made, and closing leaves one file with everything in it, and a key for its owner alone."""
        monkeypatch.chdir(tmp_path)
        async with SqliteBackend("sqlite:///a/b/x.db").open() as memory:
            await memory.transcript.accept(letter())
        assert {file.name for file in (tmp_path / "a" / "b").iterdir()} == {"x.db", "x.db.lock", "x.db.secret"}
        assert (tmp_path / "a" / "b" / "x.db.secret").stat().st_mode & 0o777 == 0o600
        assert count(tmp_path / "a" / "b" / "x.db", "inbox") == 1

    @pytest.mark.parametrize("url", ["postgresql://u:secret@host/db", "sqlite:///", "sqlite:///:memory:", "x.db"])
    async def test_another_kind_of_address_is_refused(self, url: str) -> None:
        """The error names the setting and a good value, and keeps passwords to itself."""
        with pytest.raises(ConfigError, match="DATABASE_URL must be sqlite:///path") as caught:
            async with SqliteBackend(url).open():
                pass
        assert "secret" not in str(caught.value)

    async def test_a_file_that_is_no_database_is_refused_and_kept(self, tmp_path: Path) -> None:
        """A wrong path must not cost the file there."""
        note = tmp_path / "note.txt"
        note.write_text("milk, eggs " * 500)
        with pytest.raises(ConfigError, match=r"DATABASE_URL: cannot use .*note\.txt"):
            async with SqliteBackend(f"sqlite:///{note}").open():
                pass
        assert note.read_text() == "milk, eggs " * 500

    async def test_a_path_that_cannot_be_is_refused(self, tmp_path: Path) -> None:
        """A folder in place of the file, or a file in place of the folder, is the operator's to mend."""
        (tmp_path / "file").touch()
        for wrong, told in (
            (tmp_path, "DATABASE_URL.*it is a directory"),
            (tmp_path / "file" / "x.db", "DATABASE_URL"),
        ):
            with pytest.raises(ConfigError, match=told):
                async with SqliteBackend(f"sqlite:///{wrong}").open():
                    pass

    async def test_an_error_of_the_user_is_not_taken_for_a_wrong_setting(self, path: Path) -> None:
        """Only errors of opening are translated; later ones keep their type."""
        with pytest.raises(FileNotFoundError):
            async with SqliteBackend(f"sqlite:///{path}").open():
                raise FileNotFoundError

    async def test_values_do_not_reach_the_log(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """The database driver's debug lines hold people's words and stay off."""
        with caplog.at_level(logging.DEBUG):
            async with SqliteBackend(f"sqlite:///{path}").open() as memory:
                await memory.transcript.accept(letter(text="pomegranate"))
        assert "pomegranate" not in caplog.text

    @pytest.mark.slow
    async def test_processes_that_start_together_share_a_fresh_file(self, path: Path) -> None:
        """Creating the tables is no race."""
        code = (
            "import asyncio, sys\nfrom agents.memory.sqlite_file import SqliteBackend\n"
            "async def main():\n    async with SqliteBackend(sys.argv[1]).open(): pass\nasyncio.run(main())"
        )
        processes = [await WarmProcess.start("-c", code, f"sqlite:///{path}", environment=os.environ) for _ in range(4)]
        assert [await process.wait() for process in processes] == [0, 0, 0, 0]
