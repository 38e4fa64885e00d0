"""The doors' own texts: state for people, threads by their first line and the language."""

from pathlib import Path

import pytest

from app.assistant import Assistant, Turn
from app.cli import command_line
from app.doors import slash_commands
from app.doors.terminal.door import TerminalDoor
from app.doors.visit import Visit
from app.presentation.lines import state_of_talk
from tests.doors.cli.conftest import Captured, Feed
from tests.support.scripted_assistant import ROLES, Echo, stage

pytestmark = pytest.mark.needs("profile")

STATE = {
    "dialog": "planner",
    "paused": ["profile"],
    "forms": {"profile": {"experience": "a nurse", "skills": ["Go", "Rust"], "interests": []}, "planner": {}},
    "talks": {"supervisor": {"messages": 3}},
    "wishes": [{"dialog": "planner", "brief": "add milk"}],
    "pending": [],
    "turn": 4,
    "lang": "ru",
}


@pytest.mark.needs("planner")
def test_the_state_is_for_people() -> None:
    """Words and titles, no names of the program; empty parts are left out."""
    shown = "\n".join(state_of_talk(STATE, "en"))
    for text in ("your to-dos", "your profile", "experience – a nurse; skills – Go, Rust", "add milk", "4"):
        assert text in shown
    for text in ("is_active", "{", "[", "messages", "planner", "interests"):
        assert text not in shown


def visit(assistant: Assistant, thread: str, user: str | None = None, lang: str | None = None) -> Visit:
    """Return a visit at a terminal."""
    return Visit(assistant, TerminalDoor(assistant), thread, user, lang)


async def test_threads_are_ones_own_and_known_by_their_first_line(tmp_path: Path) -> None:
    """Nobody sees another's; a long first line is cut, whatever stands in it."""
    async with stage(tmp_path / "dialogs.db", Echo().models(ROLES)) as assistant:
        for thread, user, texts in (("a", "ann", ["hello\x1b[31m there", "more"]), ("b", "bob", ["my secret"])):
            for text in texts:
                async for _ in assistant.play(Turn(thread=thread, user=user, text=text)):
                    pass
        shown = await slash_commands.run("threads", "", visit(assistant, "a", "ann"), "en")
        assert shown.startswith("hello there  20")
        assert shown.endswith("  a")
        assert "secret" not in shown
        names = await slash_commands.choices("new", visit(assistant, "a", "ann"))
        assert [*names] == ["a"]
        assert names["a"].endswith("  hello there")


async def test_the_rest_of_ones_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/threads tells so many, and how to see those behind them; words look for a conversation, also behind a place."""
    monkeypatch.setattr("app.doors.slash_commands.talk.MOST_TOLD", 2)
    async with stage(tmp_path / "dialogs.db", Echo().models(ROLES)) as assistant:
        for number in range(3):
            async for _ in assistant.play(Turn(thread=f"t{number}", user="ann", text=f"call number {number}")):
                pass
        here = visit(assistant, "t0", "ann")
        *told, more = (await slash_commands.run("threads", "", here, "en")).splitlines()
        assert [line.split()[-1] for line in told] == ["t2", "t1"]
        behind = await slash_commands.run("threads", more.rpartition(" ")[2], here, "en")
        assert behind.endswith("  t0")
        assert (await slash_commands.run("threads", "NUMBER 1", here, "en")).endswith("  t1")
        *_, more = (await slash_commands.run("threads", "call number", here, "en")).splitlines()
        assert more.endswith(" call number")
        behind = await slash_commands.run("threads", more.partition("/threads ")[2], here, "en")
        assert behind.endswith("  t0")
        assert "t1" not in behind


async def test_what_is_kept_is_written_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/export writes a new file where one is, for its owner alone, and touches no other one."""
    monkeypatch.chdir(tmp_path)
    async with stage(tmp_path / "dialogs.db", Echo().models(ROLES)) as assistant:
        async for _ in assistant.play(Turn(thread="a", user="ann", text="my first words")):
            pass
        for _ in range(2):
            shown = await slash_commands.run("export", "", visit(assistant, "a", "ann"), "en")
    assert sorted(file.name for file in _exports(tmp_path))[0] in shown
    for file in _exports(tmp_path):
        assert "> my first words" in file.read_text("utf-8")
        assert file.stat().st_mode & 0o777 == 0o600


def _exports(folder: Path) -> list[Path]:
    files = sorted(folder.glob("export-*.md"))
    assert len(files) == 2
    return files


@pytest.mark.needs("planner", "standin")
def test_what_the_user_asks_for_counts_more_than_the_option(
    tmp_path: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """`--lang` is the language to begin in; asked for another one, the talk stays there, also in the next command."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/dialogs.db")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    feed("switch to russian\nshow my list\n")
    assert command_line.main(["chat", "--lang", "en"]) == 0
    *_, answer = capsys.readouterr().out.splitlines()
    assert answer == "Список пуст."
    assert command_line.main(["ask", "--lang", "en", "show my list"]) == 0
    assert capsys.readouterr().out == "Список пуст.\n"
