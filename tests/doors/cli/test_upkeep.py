"""Commands that look at what is stored or discovered: lines to read, JSON for scripts."""

import asyncio
import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.memory.store import namespace_of
from app.assistant import Turn
from app.cli import command_line
from tests.doors.cli.conftest import Captured, Stage
from tests.support.fake_assistant import line
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.scripted_assistant import stage as stage_of


def test_listings_are_for_eyes_or_for_scripts(stage: Stage, capsys: Captured) -> None:
    """Threads, state and history print lines to read, and one JSON document with --json."""
    stage(lines=[line("user", "hi\nthere"), line("assistant", "Hel", "profile", interrupted=True)])
    for command in (["threads"], ["state", "--thread", "me"], ["history", "--thread", "me"]):
        assert command_line.main(command) == 0
        assert "JSON" not in capsys.readouterr().out
        assert command_line.main([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    assert command_line.main(["history", "--thread", "me"]) == 0
    assert "profile: Hel  ⏹ stopped" in capsys.readouterr().out
    assert command_line.main(["state", "--thread", "me"]) == 0
    assert "paused     profile\n" in capsys.readouterr().out


def test_graph_and_forget(stage: Stage, capsys: Captured) -> None:
    """The drawing and a confirmation are printed."""
    stage(lines=[line("user", "hi")])
    assert command_line.main(["graph"]) == 0
    assert command_line.main(["forget", "--thread", "me"]) == 0
    assert capsys.readouterr().out == "graph TD;\nThread me is forgotten.\n"


@pytest.mark.needs("standin")
@pytest.mark.parametrize(("faults", "code"), [([], 0), (["prompts/en/x.md is missing"], 2)])
def test_check_tells_faults(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, faults: list[str], code: int
) -> None:
    """`check` lists what was discovered and fails when something is wrong with it."""
    dialog = {"name": "profile", "tools": ["a", "b"], "form": None}
    found = {
        "dialogs": [dialog],
        "observers": [],
        "tools": [],
        "sources": [],
        "models": {"x": "m"},
        "plugins": ["clock"],
        "uninstalled": {"spans": "pip install spans"},
        "faults": faults,
        "warnings": [],
    }
    stage()
    monkeypatch.setattr("app.cli.installation.report", lambda *_, **__: found)
    assert command_line.main(["check"]) == code
    out = capsys.readouterr().out
    assert "  profile\n    tools  a, b\n    form   -\n" in out
    assert all(fault in out for fault in faults)
    assert command_line.main(["check", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == found


@pytest.mark.needs("standin")
def test_check_reads_the_database(home: Path, capsys: Captured) -> None:
    """A file that was cut short, or that a newer version has made, is a fault, and stays as it was."""
    assert command_line.main(["ask", "hello", "--thread", "t"]) == 0
    assert command_line.main(["check", "--json"]) == 0
    file = home / "try.db"
    whole = file.read_bytes()
    for share in (0.3, 0.7, 0.95):
        file.write_bytes(whole[: int(len(whole) * share)])
        capsys.readouterr()
        assert command_line.main(["check", "--json"]) == 2
        assert "cannot use" in json.loads(capsys.readouterr().out)["faults"][0]

    file.write_bytes(whole)
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE owners SET version = 99")
        database.commit()
    assert command_line.main(["check", "--json"]) == 2
    assert "newer than this program" in json.loads(capsys.readouterr().out)["faults"][0]


def test_a_name_brings_no_escapes_to_the_terminal(stage: Stage, capsys: Captured) -> None:
    """Whatever a command tells, the terminal is left as it is."""
    stage(lines=[line("user", "hi")])
    assert command_line.main(["forget", "--thread", "me\x1b[2J", "--yes"]) == 0
    assert capsys.readouterr().out == "Thread me is forgotten.\n"


@pytest.mark.needs("research", "standin")
def test_check_names_the_setting_that_a_slip_meant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    """A name in `.env` that is nearly one of ours, or of a dialog's, is a fault; a name of other programs is none."""
    (tmp_path / ".env").write_text(
        "LLM_MODEL=local:rules\nMESSAGE_LENGHT=90\nSEARCH_TIMEOUTS=3\nOTEL_SERVICE_NAME=us\n"
    )
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["check", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["faults"] == [
        ".env: MESSAGE_LENGHT is not a setting; MESSAGE_LENGTH is",
        ".env: SEARCH_TIMEOUTS is not a setting; SEARCH_TIMEOUT is",
    ]
    assert command_line.main(["ask", "hello"]) == 2
    assert capsys.readouterr().err == "python -m app: .env: MESSAGE_LENGHT is not a setting; MESSAGE_LENGTH is\n"
    (tmp_path / ".env").write_text("OPENAI_KEY=none\nOPENAI_API_BASE=http://x/v1\nOTEL_SERVICE_NAME=us\n")
    assert command_line.main(["check", "--json"]) == 0
    assert [line for line in json.loads(capsys.readouterr().out)["warnings"] if ".env" in line] == [
        ".env: OPENAI_API_BASE is not a setting; do you mean OPENAI_API_KEY or OPENAI_BASE_URL?",
        ".env: OPENAI_KEY is not a setting; do you mean OPENAI_API_KEY?",
    ]


@pytest.mark.needs("encryption", "planner", "standin")
def test_a_setting_that_nobody_reads_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    """An operator who leaves out the encryption and sets its key reads that, before a readable file is made.

    A setting with its example's value is no fault.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_KEY", "0" * 64)
    monkeypatch.setenv("WORKERS", "no")
    monkeypatch.setenv("PLUGINS", "standin")
    fault = "DATABASE_KEY is set, and encryption, which reads it, is left out (see PLUGINS and SHIPPED_DIALOGS)"
    assert command_line.main(["check", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["faults"] == [fault]
    assert command_line.main(["ask", "hello"]) == 2
    assert capsys.readouterr().err == f"python -m app: {fault}\n"
    for command in (["threads"], ["notes"], ["compact"], ["migrate", "--to", "sqlite:///copy.db"]):
        assert command_line.main(command) == 2
        assert capsys.readouterr().err.startswith(
            "python -m app: DATABASE_KEY is set, and no plug-in encrypts by it"
        ), command
    assert not [*tmp_path.rglob("*.db")]


@pytest.mark.needs("encryption", "planner", "standin")
def test_a_plugin_that_is_off_has_no_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    """PLUGINS is read before commands are gathered: one that is off has none, and replaces none of the application."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUGINS", "standin")
    assert command_line.main(["rekey", "key.txt"]) == 2
    assert "No such command 'rekey'" in capsys.readouterr().err
    assert command_line.main(["migrate", "--to", "sqlite:///copy.db", "--readable"]) == 2
    assert "No such option: --readable" in capsys.readouterr().err


def said_in(home: Path, *turns: tuple[str, str]) -> None:
    """Let users say something in threads of the database there."""

    async def play() -> None:
        async with stage_of(home / "try.db", Echo().models(ROLES)) as assistant:
            for thread, user in turns:
                await assistant.memory.store.aput(namespace_of(user, "facts"), "kept", {"of": user})
                [_ async for _ in assistant.play(Turn(thread=thread, text=f"{user} was here", user=user))]

    asyncio.run(play())


def test_a_page_of_a_search_leads_to_the_next_one(home: Path, capsys: Captured) -> None:
    """The command that `threads` names for the next page looks for the same words of the same user."""
    said_in(home, ("first", "ann"), ("between", "bob"), ("second", "ann"))
    assert command_line.main(["threads", "--user", "ann", "--words", "was here", "--limit", "1"]) == 0
    page = capsys.readouterr().out
    assert "second" in page
    assert command_line.main(shlex.split(page.strip().rpartition(": ")[2])) == 0
    page = capsys.readouterr().out
    assert "first" in page
    assert "between" not in page


@pytest.mark.needs("standin")
@pytest.mark.parametrize(
    ("arguments", "threads", "people", "told"),
    [
        (["--thread", "own"], {"shared", "bob"}, {"bob"}, "Thread own is forgotten."),
        (["--thread", "shared"], {"own", "bob"}, {"ann", "bob"}, "What is kept of the people who wrote in it stays"),
        (["--thread", "shared", "--user", "ann"], {"own", "shared", "bob"}, {"ann", "bob"}, "kept of them elsewhere"),
        (["--user", "ann"], {"shared", "bob"}, {"bob"}, "All that was kept of ann is forgotten."),
        (["--user", "nobody", "--thread", "own"], {"own", "shared", "bob"}, {"ann", "bob"}, "has said nothing"),
        ([], {"own", "shared", "bob"}, {"ann", "bob"}, "name a thread (--thread) or a person (--user)"),
    ],
)
def test_forget_deletes_what_it_says(
    home: Path, capsys: Captured, arguments: list[str], threads: set[str], people: set[str], told: str
) -> None:
    """A thread, a person's part of one, a person: no more and no less, and what is kept is said."""
    said_in(home, ("own", "ann"), ("shared", "ann"), ("shared", "bob"), ("bob", "bob"))
    command_line.main(["forget", *arguments])
    captured = capsys.readouterr()
    assert told in captured.out + captured.err
    assert command_line.main(["threads", "--json"]) == 0
    assert {info["thread"] for info in json.loads(capsys.readouterr().out)} == threads
    with sqlite3.connect(home / "try.db") as connection:
        kept = {prefix.split(".")[1] for (prefix,) in connection.execute("SELECT prefix FROM store")}
    assert kept == people


@pytest.mark.needs("standin")
def test_what_a_plugin_fails_to_delete_is_said(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """All else is deleted, and nobody reads that all is forgotten, at the first time and at the next one."""
    said_in(home, ("own", "ann"))
    monkeypatch.setenv("EXTENSIONS", str(home / "own"))
    plugin = home / "own" / "plugins" / "stuck.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(
        "from agents.plugin import Plugin\n\nasync def forget(*_):\n    raise OSError\n\nplugin = Plugin(forget=forget)"
    )
    for _ in range(2):
        assert command_line.main(["forget", "--thread", "own", "--yes"]) == 1
        assert "Not everything could be deleted" in capsys.readouterr().out
    assert command_line.main(["forget", "--user", "ann", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"forgotten": False}
    assert command_line.main(["threads", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.needs("usage", "standin")
def test_what_a_deletion_would_leave_is_said_before(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Without the plug-in of some rows nothing is deleted, and nobody reads that all is forgotten."""
    said_in(home, ("own", "ann"))
    monkeypatch.setenv("PLUGINS", "standin")
    assert command_line.main(["forget", "--user", "ann", "--yes"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, "usage would stay (see PLUGINS, SHIPPED_DIALOGS)" in captured.err) == ("", True)
    monkeypatch.delenv("PLUGINS")
    assert command_line.main(["forget", "--user", "ann", "--yes"]) == 0


@pytest.mark.needs("standin")
def test_a_thread_that_cannot_be_read_is_forgotten_too(
    home: Path, capsys: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    """A person goes from all their threads, read or not; the operator is told which could not be read."""
    said_in(home, ("own", "ann"), ("shared", "ann"), ("shared", "bob"), ("other", "ann"))
    with closing(sqlite3.connect(home / "try.db")) as connection, connection:
        connection.execute("UPDATE checkpoints SET checkpoint = x'c1' WHERE thread_id IN ('own', 'shared')")
    assert command_line.main(["forget", "--user", "ann"]) == 0
    assert all(f"thread '{thread}': its stored state cannot be read" in caplog.text for thread in ("own", "shared"))
    capsys.readouterr()
    assert command_line.main(["threads", "--json"]) == 0
    assert [info["thread"] for info in json.loads(capsys.readouterr().out)] == ["shared"]
    assert command_line.main(["history", "--thread", "shared"]) == 0
    assert "ann was here" not in (history := capsys.readouterr().out)
    assert "bob was here" in history


@pytest.mark.parametrize(("typed", "code"), [("", 1), ("n", 1), ("forget", 1), ("y", 0), ("YES", 0)])
def test_forget_asks_at_a_terminal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, typed: str, code: int
) -> None:
    """The question says what goes and what stays; only yes deletes, and --yes is not asked."""
    asked: list[str] = []

    def answered(question: str) -> str:
        asked.append(question)
        return typed

    monkeypatch.setattr("builtins.input", answered)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    stage(lines=[line("user", "hi")])
    assert command_line.main(["forget", "--thread", "me"]) == code
    assert "all that is kept of the person" in asked[0]
    assert ("Nothing was deleted." in capsys.readouterr().out) == bool(code)
    assert command_line.main(["forget", "--thread", "me", "--yes"]) == 0
    assert len(asked) == 1
