"""The REPL on a real terminal, with real signals."""

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pseudo_terminal import PROMPT, Terminal

SLOW_TALK = """
import sys
from app.cli import command_line
from app.cli import talk
from tests.support.fake_assistant import StandIn, line, says
count = says(" ".join(f"word{number}" for number in range(100)))
StandIn.speakers = ()
talk.open_assistant = StandIn(count, says("Fine"), lines=[line("user", "hi")], pace=0.03).open
sys.exit(command_line.main(["chat"]))
"""
CHAT = ("chat",)
CTRL_C, CTRL_D, CTRL_R, CTRL_X, CTRL_E, UP, TAB = "\x03", "\x04", "\x12", "\x18", "\x05", "\x1b[A", "\t"
FINE_ART = re.compile(r"\x1b\[(?:0;)?[39][\d;]*m")
"""Sequences that set a colour, or slanted letters."""

pytestmark = pytest.mark.slow
Open = Callable[..., Terminal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open terminals on the same folder, and close them at the end."""
    terminals: list[Terminal] = []

    def opened(*program: str, **more: Any) -> Terminal:
        terminals.append(Terminal(tmp_path, *program, **more))
        return terminals[-1]

    yield opened
    for terminal in terminals:
        terminal.close()


def leave(terminal: Terminal) -> None:
    """Leave with Ctrl-D at the prompt."""
    terminal.type(CTRL_D)
    terminal.wait_for("See you")
    assert terminal.ends() == 0


def test_the_repl_on_a_real_terminal(opened: Open) -> None:
    """Greeting, take-over, toolbar, Ctrl-C at the prompt and Ctrl-D work with the built-in model."""
    terminal = opened(*CHAT)
    terminal.wait_for("thread me")
    terminal.wait_for(PROMPT)
    terminal.sees("supervisor · thread me")
    terminal.type("yes please\r")
    terminal.wait_for(PROMPT)
    terminal.sees("profile · thread me")
    terminal.sees("> yes please\nprofile\nWhat do you do")
    # Ctrl-D leaves on an empty line only, so Ctrl-C must have cleared it.
    terminal.type(f"half a line{CTRL_C}{CTRL_D}")
    terminal.wait_for("See you")
    assert terminal.ends() == 0


def test_an_answer_streams_and_ctrl_c_stops_it(opened: Open) -> None:
    """Words are shown as they come; Ctrl-C keeps those that were shown, says so, and the talk goes on."""
    terminal = opened("-c", SLOW_TALK)
    terminal.wait_for(PROMPT)
    terminal.type("count\r")
    terminal.wait_for("word5")
    assert "word99" not in terminal.all_written
    terminal.type(CTRL_C)
    terminal.wait_for("⏹ stopped")
    assert "word0 word1" in terminal.text
    assert "word99" not in terminal.all_written
    terminal.wait_for(PROMPT)
    terminal.type("and now?\r")
    terminal.wait_for("Fine")
    terminal.wait_for(PROMPT)
    leave(terminal)


def test_what_is_typed_during_an_answer_waits(opened: Open) -> None:
    """Keys pressed while an answer streams do not show in it, and stand at the next prompt."""
    terminal = opened("-c", SLOW_TALK)
    terminal.wait_for(PROMPT)
    terminal.type("count\r")
    terminal.wait_for("word5")
    terminal.type("patience")
    terminal.wait_for("word99")
    # The next prompt may come in the same breath as the last word.
    answer = terminal.all_written.partition(PROMPT)[2].partition(PROMPT)[0]
    assert "word99" in answer
    assert "patience" not in answer
    terminal.sees("> patience")


def test_the_window_changes_while_an_answer_streams(opened: Open) -> None:
    """The answer goes on in the new width, and stands there once."""
    terminal = opened("-c", SLOW_TALK)
    terminal.wait_for(PROMPT)
    terminal.type("count\r")
    terminal.wait_for("word20")
    terminal.resize(120, 24)
    terminal.wait_for("word50")
    terminal.resize(100, 30)
    terminal.wait_for(PROMPT)
    words = [word for line in terminal.lines for word in line.split() if word.startswith("word")]
    assert words == [f"word{number}" for number in range(100)]
    assert 80 < max(map(len, terminal.lines)) <= 100


def test_what_was_said_comes_back_in_the_next_run(opened: Open) -> None:
    """Arrow up and Ctrl-R find what was said before in the thread."""
    first = opened(*CHAT)
    first.wait_for(PROMPT)
    first.type("what time is it?\r")
    first.wait_for(PROMPT)
    first.type("thanks\r")
    first.wait_for(PROMPT)
    leave(first)

    second = opened(*CHAT)
    second.wait_for(PROMPT)
    second.type(UP)
    second.sees("> thanks")
    second.type(f"{CTRL_C}{CTRL_R}time")
    second.sees("I-search backward: time")
    second.sees("what time is it?")
    second.type("\r")
    second.sees("> what time is it?")
    second.type("\r")
    second.wait_for("It is ")


def test_commands_and_dialogs_are_completed(opened: Open) -> None:
    """A slash opens the menu of commands; Tab completes one, then a dialog; Enter goes there."""
    terminal = opened(*CHAT)
    terminal.wait_for(PROMPT)
    terminal.type("/")
    terminal.sees("/retry")
    terminal.type("g")
    terminal.misses("/retry")
    terminal.type(TAB)
    terminal.sees("> /go")
    terminal.type(" ")
    terminal.sees("planner")
    terminal.type("pr")
    terminal.misses("planner")
    terminal.sees(" profile  ")
    terminal.type(TAB)
    terminal.sees("> /go profile")
    terminal.type("\r")
    terminal.sees("profile · thread me")
    terminal.sees("> /go profile\n")


def test_a_paste_and_the_editor_make_one_message(opened: Open, tmp_path: Path) -> None:
    """Pasted lines are one message, as are those of the editor that Ctrl-X Ctrl-E opens."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "three\\nfour" > "$1"\n')
    editor.chmod(0o700)
    terminal = opened(*CHAT, EDITOR=str(editor))
    terminal.wait_for(PROMPT)
    terminal.type("\x1b[200~one\ntwo\x1b[201~")
    terminal.sees("> one\n… two")
    terminal.type("\r")
    terminal.wait_for(PROMPT)
    terminal.type(f"{CTRL_X}{CTRL_E}")
    terminal.sees("> three\n… four")
    terminal.type("\r")
    terminal.wait_for(PROMPT)
    terminal.type("/history\r")
    terminal.sees("you: one\n    two")
    terminal.sees("you: three\n    four")


def test_odd_input_is_taken(opened: Open) -> None:
    """Bytes that are no UTF-8, wide characters and very long lines are messages like others."""
    terminal = opened(*CHAT)
    long = "word " * 4000
    for keys in (b"caf\xe9 \xff", "漢字 🙂 é", f"\x1b[200~{long}\x1b[201~"):
        terminal.wait_for(PROMPT)
        terminal.type(keys)
        terminal.type("\r")
        terminal.wait_for("\x1b[?2004l")
    terminal.wait_for(PROMPT)
    terminal.type("/history\r")
    terminal.wait_for("漢字 🙂 é")
    terminal.wait_for(PROMPT)
    leave(terminal)


def test_no_color(opened: Open) -> None:
    """With NO_COLOR nothing is coloured, and everything else works."""
    terminal = opened(*CHAT, NO_COLOR="1")
    terminal.wait_for(PROMPT)
    terminal.type("yes please\r")
    terminal.wait_for(PROMPT)
    terminal.sees("profile\nWhat do you do")
    leave(terminal)
    assert FINE_ART.search(terminal.all_written) is None


def test_a_dumb_terminal(opened: Open) -> None:
    """Nothing but text is written to one; Ctrl-C throws the line away, twice leaves."""
    terminal = opened(*CHAT, TERM="dumb")
    terminal.wait_for("\n> ")
    terminal.type(f"nonsense{CTRL_C}")
    terminal.wait_for("\n> ")
    terminal.type("yes please\r")
    terminal.wait_for("What do you do")
    terminal.wait_for("\n> ")
    terminal.type(CTRL_C)
    terminal.wait_for("\n> ")
    terminal.type(CTRL_C)
    terminal.wait_for("See you")
    assert terminal.ends() == 0
    assert "\x1b" not in terminal.all_written


def test_sigterm_at_the_prompt(opened: Open) -> None:
    """A terminated REPL says so by its exit code and puts the terminal's modes back."""
    terminal = opened(*CHAT)
    terminal.wait_for(PROMPT)
    terminal.process.send_signal(signal.SIGTERM)
    terminal.wait_for("\x1b[?2004l")
    assert terminal.ends() == 143


def test_a_person_takes_over_from_another_terminal(opened: Open) -> None:
    """Two terminals on one database: the user's shows who took over and their words, the person's shows the user's."""
    user = opened(*CHAT)
    user.wait_for(PROMPT)
    person = opened("seat", "--thread", "me", "--as", "Anna")
    person.wait_for("»")
    user.wait_for("Anna has taken over")
    user.type("my lamp is broken\r")
    user.wait_for("Anna reads this")
    person.wait_for("you: my lamp is broken")
    person.type("A new one comes.\r")
    user.wait_for("A new one comes.")
    person.type("/back gets a new lamp\r")
    person.wait_for("Handed back.")
    assert person.ends() == 0
    user.wait_for("The assistant is back.")
    # What is typed while the bar is drawn anew may be lost.
    user.wait_for("thread me")
    leave(user)
