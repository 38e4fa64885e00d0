"""A database file that is encrypted: what stands on the disk, who is let in, another key, the way there and back."""

import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from agents.errors import UnusableDatabase, UsageError
from agents.memory.inbox import now_ms
from app.assistant import Turn
from app.cli.command_line import main
from app.composition import open_assistant
from app.plugins.encryption.encrypted_file import EncryptedFile, change_key
from app.settings import Settings
from tests.support.notification_server import notification_server, session_bus
from tests.support.postgres_server import PostgresServer
from tests.support.tiny_graph import letter
from tests.support.until import until
from tests.support.warm_process import WarmProcess
from tests.support.worker_fleet import Fleet

KEY, NEW = "a1" * 32, "B2" * 32
WORD = "pomegranate"
Captured = pytest.CaptureFixture[str]
Say = Callable[..., str]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the future path of the database of an installation with a key."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "talk.db"
    settings = {"LLM_MODEL": "local:rules", "APP_LANG": "en", "DATABASE_URL": f"sqlite:///{path}", "DATABASE_KEY": KEY}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return path


@pytest.fixture
def run(capfd: Captured) -> Say:
    """Run a command that must succeed, and return what it printed."""

    def command(*arguments: str) -> str:
        code = main(arguments)
        shown = capfd.readouterr()
        assert (code, shown.err) == (0, "")
        return shown.out

    return command


async def rows(path: Path, key: str | None) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a file."""
    async with EncryptedFile(f"sqlite:///{path}", SecretStr(key) if key else None).connect() as database:
        tables = await database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {
            name: sorted(await database.execute(f"SELECT * FROM {name}"), key=repr)
            for (name,) in tables
            if "sqlite" not in name
        }


def has_word(folder: Path) -> bool:
    """Tell whether the word stands in a file of a folder as it is."""
    return any(WORD.encode() in file.read_bytes() for file in folder.iterdir() if file.is_file())


@pytest.mark.needs("standin")
def test_an_encrypted_file_is_compacted(path: Path, run: Say) -> None:
    """`compact` tells its bytes before and after, as of a plain file, and the file stays encrypted."""
    run("ask", WORD)
    sizes = json.loads(run("compact", "--json"))
    assert 0 < sizes["after"] <= sizes["before"]
    assert path.stat().st_size == sizes["after"]
    assert not has_word(path.parent)


@pytest.mark.needs("standin")
@pytest.mark.parametrize("key", [KEY, None])
async def test_no_word_stands_in_the_files(path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    """The file, its log and its index are searched while the conversation is open; without a key the word is found."""
    monkeypatch.setenv("DATABASE_KEY", key or "")
    async with open_assistant(Settings(_env_file=None), remote=False) as assistant:
        async for _ in assistant.play(Turn(thread="me", text=f"add {WORD} to my list")):
            pass
        assert path.with_name("talk.db-wal").stat().st_size > 4096
        assert has_word(path.parent) is (key is None)


@pytest.mark.slow
@pytest.mark.needs("lab", "planner")
def test_every_command_works(path: Path, run: Say) -> None:
    """The conversation goes on from command to command, the lab's among them, until it is forgotten."""
    me = ("--thread", "me")
    assert WORD in run("ask", f"add {WORD} to my list", *me)
    assert WORD in run("ask", "show my list", *me)
    assert WORD in run("history", *me)
    assert WORD in run("export", *me)
    assert json.loads(run("state", *me, "--json"))["turn"] == 2
    assert "me" in run("threads")
    assert f"= user: add {WORD} to my list" in run("lab", "replay", *me)
    run("check")
    run("forget", *me)
    assert json.loads(run("threads", "--json")) == []


@pytest.mark.slow
@pytest.mark.needs("lab")
async def test_the_server_and_the_pages_of_the_lab(path: Path) -> None:
    """`serve` answers and shows the conversation; while it runs no word of it can be read in the files."""
    async with Fleet(f"sqlite:///{path}", {"WORKERS": "no"}).door() as client:
        said = {"text": f"add {WORD} to my list"}
        assert WORD in (await client.post("/threads/me/turns", json=said)).json()["message"]
        assert WORD in (await client.get("/lab/thread?name=me")).text
        assert not has_word(path.parent)
    assert WORD in repr((await rows(path, KEY))["transcript"])


@pytest.mark.slow
async def test_a_reminder_rings(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service reads it from the encrypted file, and writes there that it has told it."""
    url, key = f"sqlite:///{path}", SecretStr(KEY)
    async with EncryptedFile(url, key).open() as memory:
        await memory.notices.add("me", "me", "k", text=WORD, lang="en", at_ms=now_ms())
    async with session_bus(path.parent) as bus, notification_server(bus) as desktop:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus)
        async with Fleet(url).command("ring"):
            await until(lambda: desktop.shown)
            async with EncryptedFile(url, key).open() as memory:
                await until(partial(memory.transcript.lines, "me"))
                assert not has_word(path.parent)
    assert [WORD in text for text in desktop.shown.values()] == [True]


@pytest.mark.needs("standin")
@pytest.mark.parametrize(
    ("command", "made_with", "opened_with", "told"),
    [
        (["threads"], KEY, NEW, "DATABASE_KEY is not the key of"),
        (["ask", "hi"], KEY, NEW, "DATABASE_KEY is not the key of"),
        (["notes"], KEY, NEW, "DATABASE_KEY is not the key of"),
        (["ask", "hi"], KEY, "", "If it is encrypted, set DATABASE_KEY"),
        (["ask", "hi"], "", KEY, "is not encrypted"),
        (["migrate", "--readable", "--to", "sqlite:///new.db"], "", KEY, "is not encrypted"),
        (["migrate", "--readable", "--to", "sqlite:///new.db"], KEY, "", "If it is encrypted, set DATABASE_KEY"),
    ],
)
def test_a_key_that_does_not_fit_is_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, run: Say,
    command: list[str], made_with: str, opened_with: str, told: str,
) -> None:  # fmt: skip
    """The file stays as it was."""
    monkeypatch.setenv("DATABASE_KEY", made_with)
    run("ask", "hello")
    before = path.read_bytes()
    monkeypatch.setenv("DATABASE_KEY", opened_with)
    assert main(command) == 74
    fault = capfd.readouterr().err
    assert told in fault
    assert fault.count("\n") == 1
    assert path.read_bytes() == before


def test_what_is_no_key_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """The line says what a key is, and not what was written."""
    monkeypatch.setenv("DATABASE_KEY", "secret password")
    assert main(["threads"]) == 2
    fault = capfd.readouterr().err
    assert fault.startswith("python -m app: DATABASE_KEY: Value error, write 64 hexadecimal digits")
    assert "password" not in fault
    assert not path.exists()


@pytest.mark.needs("standin")
@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("command", [["threads"], ["check"]])
def test_without_the_extra_the_line_names_it(
    monkeypatch: pytest.MonkeyPatch, capfd: Captured, command: list[str]
) -> None:
    """`check` says it, too."""
    monkeypatch.setitem(sys.modules, "sqlcipher3.dbapi2", None)
    assert main(command) == 2
    shown = capfd.readouterr()
    assert "requirements-sqlcipher.txt" in shown.out + shown.err


@pytest.mark.usefixtures("path")
@pytest.mark.needs("postgres")
@pytest.mark.parametrize(
    "command", [["threads"], ["check"], ["rekey", "new.key"], ["migrate", "--readable", "--to", "sqlite:///x.db"]]
)
def test_a_server_takes_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, command: list[str]
) -> None:
    """The line says who encrypts there; no server is asked."""
    (tmp_path / "new.key").write_text(NEW)
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann@127.0.0.1:9/none")
    assert main(command) == 2
    shown = capfd.readouterr()
    assert "DATABASE_KEY encrypts a file" in shown.out + shown.err


@pytest.mark.slow
def test_the_way_there_and_back(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Say) -> None:
    """A plain installation is copied into an encrypted file and back; every row is there, and each table is counted."""
    monkeypatch.setenv("DATABASE_KEY", "")
    for text in ("hello", f"add {WORD} to my list", "remind me tomorrow at 9 to call mum"):
        run("ask", text, "--thread", "me")
    before = asyncio.run(rows(path, None))
    del before["owners"]
    (tmp_path / "a.key").write_text(f"{KEY}\n")
    counts = {name: len(found) for name, found in before.items() if found}
    assert counts["transcript"] == 6
    there = json.loads(run("migrate", "--to", "sqlite:///there.db", "--to-key", "a.key", "--json"))["tables"]
    assert {name: count for name, count in there.items() if count} == counts
    assert WORD.encode() not in (tmp_path / "there.db").read_bytes()
    assert before.items() <= asyncio.run(rows(tmp_path / "there.db", KEY)).items()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/there.db")
    monkeypatch.setenv("DATABASE_KEY", KEY)
    back = json.loads(run("migrate", "--to", "sqlite:///back.db", "--readable", "--json"))["tables"]
    assert {name: count for name, count in back.items() if count} == counts
    assert before.items() <= asyncio.run(rows(tmp_path / "back.db", None)).items()


@pytest.mark.slow
@pytest.mark.needs("postgres")
def test_the_way_to_a_server_and_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, run: Say, postgres_server: PostgresServer
) -> None:
    """A server gets the texts as they are; on the way back a key encrypts them again."""
    run("ask", f"add {WORD} to my list", "--thread", "me")
    before, url = asyncio.run(rows(path, KEY)), postgres_server.fresh()
    del before["owners"]
    run("migrate", "--to", url, "--readable")
    with psycopg.connect(url) as server:
        assert WORD in repr(server.execute("SELECT text FROM transcript").fetchall())
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("DATABASE_KEY", "")
    assert WORD in run("history", "--thread", "me")
    (path.parent / "new.key").write_text(NEW)
    run("migrate", "--to", "sqlite:///back.db", "--to-key", "new.key")
    back = path.with_name("back.db")
    assert before.items() <= asyncio.run(rows(back, NEW)).items()
    assert WORD.encode() not in back.read_bytes()


@pytest.mark.needs("standin")
def test_a_copy_that_anybody_can_read_needs_agreement(path: Path, capfd: Captured, run: Say) -> None:
    """The line names both ways on; nothing is made."""
    run("ask", "hello")
    assert main(["migrate", "--to", "sqlite:///new.db"]) == 2
    fault = capfd.readouterr().err
    assert fault.count("\n") == 1
    assert "--to-key" in fault
    assert "--readable" in fault
    assert not path.with_name("new.db").exists()


class TestRekey:
    """`rekey` changes the key of a file that nobody has open."""

    @pytest.mark.needs("planner", "standin")
    def test_only_the_new_key_opens_the_file(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, run: Say
    ) -> None:
        """The new key comes from standard input."""
        run("ask", f"add {WORD} to my list", "--thread", "me")
        before = asyncio.run(rows(path, KEY))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{NEW}\n".encode())))
        assert "Set DATABASE_KEY" in run("rekey", "-")
        assert main(["threads"]) == 74
        assert "DATABASE_KEY is not the key of" in capfd.readouterr().err
        monkeypatch.setenv("DATABASE_KEY", NEW)
        assert asyncio.run(rows(path, NEW)) == before
        assert WORD in run("ask", "show my list", "--thread", "me")

    @pytest.mark.parametrize(
        ("old", "new", "told"), [(KEY, "short", "64 hexadecimal"), ("", NEW, "DATABASE_KEY is not set")]
    )
    def test_a_key_that_is_none_is_refused(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, old: str, new: str, told: str
    ) -> None:
        """The new key must be one, and the old one must be set."""
        (path.parent / "new.key").write_text(new)
        monkeypatch.setenv("DATABASE_KEY", old)
        assert main(["rekey", "new.key"]) == 2
        assert told in capfd.readouterr().err

    async def test_a_file_in_use_keeps_its_key(self, path: Path) -> None:
        """A process with an open file goes on."""
        url, key = f"sqlite:///{path}", SecretStr(KEY)
        async with EncryptedFile(url, key).open() as memory:
            async with EncryptedFile(url, key).connect() as connection:
                with pytest.raises(UsageError, match="still the old one"):
                    await change_key(connection, SecretStr(NEW))
            await memory.transcript.accept(letter(text=WORD))
        assert WORD in repr((await rows(path, KEY))["inbox"])

    @pytest.mark.slow
    async def test_a_kill_leaves_one_of_the_keys(self, path: Path) -> None:
        """Killed while it writes, the command leaves every row to the old key; the next try succeeds."""
        url, key = f"sqlite:///{path}", SecretStr(KEY)
        async with EncryptedFile(url, key).open() as memory:
            for number in range(3_000):
                await memory.store.aput(("users", f"u{number}"), "key", {"text": f"{number} {WORD}" * 400})
        before = await rows(path, KEY)
        (path.parent / "new.key").write_text(NEW)
        journal = path.with_name(f"{path.name}-journal")
        for size in (1, 100_000, 1_000_000):
            process = await _rekeying(path)
            await until(partial(_has_grown, journal, size, process), pause=0.001)
            process.kill()
            assert await process.wait() == -signal.SIGKILL
            assert journal.exists()
            with pytest.raises(UnusableDatabase, match="DATABASE_KEY is not the key"):
                await rows(path, NEW)
            assert await rows(path, KEY) == before
        process = await _rekeying(path)
        assert await process.wait() == 0
        assert await rows(path, NEW) == before


def _has_grown(journal: Path, size: int, process: WarmProcess) -> bool:
    assert process.returncode is None
    return journal.exists() and journal.stat().st_size >= size


async def _rekeying(path: Path) -> WarmProcess:
    return await WarmProcess.start("rekey", str(path.parent / "new.key"), environment=os.environ)
