"""Files that go with a message at the command line: `ask --file`, and `/attach` in a chat."""

import asyncio
from io import StringIO
from pathlib import Path

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from app.assistant.file_reader import FileReader
from app.cli import command_line
from tests.doors.cli.conftest import Captured, Stage
from tests.support.fake_assistant import StandIn, says
from tests.support.terminal_visit import repl_for

PNG = b"\x89PNG\r\n\x1a\nhat"


def test_ask_takes_files_along(stage: Stage, tmp_path: Path, capsys: Captured) -> None:
    """A picture is shown, a document read; which is which their content says."""
    (tmp_path / "hat.txt").write_bytes(PNG)
    (tmp_path / "warranty.md").write_text("Two years.", "utf-8")
    stand_in = stage(says("A hat."))
    assert command_line.main(["ask", "What is this?", "--file", "hat.txt", "--file", "warranty.md"]) == 0
    [turn] = stand_in.heard
    assert turn.text == "What is this?"
    assert [part["kind"] for part in turn.quoted] == ["photo", "file"]
    assert [block.get("mime_type") for block in turn.contents.pictures] == ["image/png"]
    assert [*turn.contents.texts.values()] == ["Two years."]
    assert capsys.readouterr() == ("A hat.\n", "")


def test_a_file_needs_no_words(stage: Stage, tmp_path: Path) -> None:
    """The history says what there was."""
    (tmp_path / "hat.png").write_bytes(PNG)
    stand_in = stage(says("A hat."))
    assert command_line.main(["ask", "--file", "hat.png"]) == 0
    assert stand_in.heard[0].text == "[photo]"


def test_a_file_that_cannot_be_used(stage: Stage, tmp_path: Path, capsys: Captured) -> None:
    """It is told of on stderr; without words nothing is asked. A file that is not there is a mistake of usage."""
    (tmp_path / "hat.zip").write_bytes(b"PK\0\0")
    stand_in = stage(says("Yes."))
    assert command_line.main(["ask", "--file", "hat.zip"]) == 1
    assert stand_in.heard == []
    assert capsys.readouterr().err.startswith("I could not read hat.zip")
    assert command_line.main(["ask", "Is it?", "--file", "hat.zip"]) == 0
    assert capsys.readouterr() == ("Yes.\n", f"{NOT_READ} I go by your words.\n")
    assert command_line.main(["ask", "Is it?", "--file", "cap.zip"]) == 2
    assert "no such file: cap.zip" in capsys.readouterr().err


NOT_READ = "I could not read hat.zip: of files I read text, Markdown, HTML, PDF, docx, xlsx, epub, csv and json."


async def test_a_chat_attaches_to_the_next_message(tmp_path: Path) -> None:
    """The file goes with one message, and not with the one after it."""
    (tmp_path / "hat.png").write_bytes(PNG)
    stand_in, screen = StandIn(says("Hello."), says("A hat."), says("Bye.")), StringIO()
    with create_pipe_input() as keys:
        terminal = keys, DummyOutput()
        repl, visit = repl_for(stand_in.assistant, "me", Console(file=screen, width=200), InMemoryHistory(), terminal)
        visit.reader = FileReader(stand_in.assistant, None, 100)
        running = asyncio.ensure_future(repl.run())
        for line in ("/attach nothing.png", f"/attach {tmp_path / 'hat.png'}", "What is this?", "Thanks", "/quit"):
            keys.send_text(f"{line}\r")
        await running
    assert [len(turn.contents.pictures) for turn in stand_in.heard] == [0, 1, 0]
    assert "no such file: nothing.png" in screen.getvalue()
    assert "hat.png" in screen.getvalue()
