"""An answer while it streams: what stays on the terminal."""

import asyncio
import re
from collections.abc import Sequence
from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from agents.events import Error, Event, Message, ModelThinking, Token, TurnStart
from app.doors.terminal import live_markdown
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.tty import Canvas
from tests.support.fake_assistant import says
from tests.support.simulated_time import now, simulated


def painted(events: Sequence[Event], *, height: int = 20, closed: bool = True) -> str:
    """Return the terminal's screen after these events, redrawn after each."""
    stream = StringIO()
    console = Console(file=stream, force_terminal=True, width=41, height=height, color_system=None)
    screen = LiveMarkdown(console, "en")
    for event in events:
        if isinstance(event, Token):
            screen._take(event.speaker, event.text)
            screen._draw_preview()
        else:
            screen.show(event)
    if closed:
        screen.close()
    return seen(stream.getvalue())


def seen(written: str) -> str:
    """Return the lines that stay on a terminal where this was written."""
    lines = [""]
    for piece in re.split(r"(\x1b\[\d+A\r\x1b\[J)", written):
        if piece.startswith("\x1b"):
            back = int(piece[2 : piece.index("A")])
            lines = [*lines[: len(lines) - 1 - back], ""]
        else:
            first, *more = piece.split("\n")
            lines = [*lines[:-1], lines[-1] + first, *more]
    return "\n".join(text.rstrip() for text in lines)


async def test_the_message_takes_the_place_of_its_preview() -> None:
    """The preview is redrawn in place; only the message stays."""
    tokens = [Token(speaker="profile", text=text) for text in ("Hel", "lo **An", "n**\n\n- o", "ne")]
    message = Message(speaker="profile", text="Hello **Ann**\n\n- one")
    assert painted([TurnStart(text="hi"), *tokens, message]) == "profile\nHello Ann\n\n • one\n\n"


async def test_a_new_line_is_a_new_line() -> None:
    """Lines of a message stay lines, code and lists included."""
    text = "One\ntwo\n\n- three\n- four\n\n```\nfive\nsix\n```"
    shown = painted([Message(speaker="supervisor", text=text)])
    assert shown.split() == ["One", "two", "•", "three", "•", "four", "five", "six"]
    assert shown.startswith("One\ntwo\n")


async def test_a_retry_discards_the_preview() -> None:
    """When the model is asked again, what was shown so far goes away."""
    events = [Token(speaker="supervisor", text="Wrong"), Error(code="model_retry", text=""), *says("Right")]
    assert painted(events) == "Right\n\n"


async def test_a_model_that_thinks_is_a_sign_until_it_answers() -> None:
    """While a model thinks a quiet line says so; the answer takes its place, and is not replaced by it."""
    thinking = ModelThinking(speaker="supervisor", model="m")
    assert painted([TurnStart(text="hi"), thinking], closed=False).strip() == "… thinking"
    assert painted([TurnStart(text="hi"), thinking, *says("Right")]) == "Right\n\n"
    begun = Token(speaker="supervisor", text="Right")
    assert painted([begun, thinking], closed=False).strip() == "Right"


async def test_a_stopped_answer_keeps_what_was_shown() -> None:
    """A partial answer stays and is marked, with or without its message."""
    partial = Token(speaker="supervisor", text="One two")
    assert painted([partial, Message(speaker="supervisor", text="One two", interrupted=True)]) == (
        "One two\n⏹ stopped\n\n"
    )
    assert painted([partial]) == "One two\n⏹ stopped\n\n"


async def test_an_error_is_told_and_nothing_else_stays() -> None:
    """The apology takes the place of the sign that something is being done."""
    assert painted([TurnStart(text="hi"), Error(code="busy", text="Sorry.")]) == "! Sorry.\n\n"


async def test_what_was_shown_stays_when_the_model_fails() -> None:
    """A reply that breaks off, and cannot be had again, stays above the apology, marked as stopped."""
    begun, again = Token(speaker="supervisor", text="One two"), Error(code="model_retry", text="")
    sorry = Error(code="unavailable", text="Sorry.")
    for events in ([begun, sorry], [begun, again, sorry], [begun, again, again, sorry]):
        assert painted([TurnStart(text="hi"), *events]) == "One two\n⏹ stopped\n\n! Sorry.\n\n"


def ends_with(stream: StringIO, sign: str) -> bool:
    """Tell whether the screen ends with a sign."""
    return seen(stream.getvalue()).strip().endswith(sign)


def test_waiting_shows_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a second the sign says for how long and how to stop; it moves by itself, and the answer takes its place."""
    monkeypatch.setattr(live_markdown, "time", SimpleNamespace(monotonic=now))
    stream = StringIO()

    async def wait() -> None:
        screen = LiveMarkdown(Console(file=stream, force_terminal=True, width=60, color_system=None), "en")
        screen.show(TurnStart(text="hi"))
        assert seen(stream.getvalue()).strip() == "…"
        await asyncio.sleep(7.5)
        assert ends_with(stream, "… · 7 s · Ctrl-C stops")
        await asyncio.sleep(1)
        assert ends_with(stream, "… · 8 s · Ctrl-C stops")
        for event in says("Right"):
            screen.show(event)
        screen.close()
        await asyncio.sleep(60)
        assert seen(stream.getvalue()) == "Right\n\n"
        # The next turn is waited for anew.
        screen.show(TurnStart(text="hi"))
        assert ends_with(stream, "…")
        screen.close()

    simulated(wait())


async def test_an_answer_longer_than_the_screen_is_shown_whole() -> None:
    """Lines that have left the screen stay as they are, each shown once."""
    text = "\n\n".join(f"Paragraph {number}." for number in range(30))
    tokens = [Token(speaker="supervisor", text=text[at : at + 7]) for at in range(0, len(text), 7)]
    shown = painted([*tokens, Message(speaker="supervisor", text=text)], height=10)
    assert re.findall(r"Paragraph (\d+)\.", shown) == [str(number) for number in range(30)]


async def test_no_escape_sequence_of_the_model_is_written() -> None:
    """Neither raw nor as an HTML entity does a model's control character reach the terminal."""
    shown = painted([Message(speaker="\x1b[2Jx", text="a\x1b[31mb &#27;[2J &#x9b;2J `\x07` [link](http://x/\x1b)")])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert "http://x/" in shown


def test_only_what_differs_is_written() -> None:
    """A redrawing leaves the lines alone that are as they were, so nothing flickers."""
    stream = StringIO()
    canvas = Canvas(Console(file=stream, force_terminal=True, width=40, height=9))
    canvas.draw(["one", "two"])
    canvas.draw(["one", "two", "three"])
    assert stream.getvalue() == "one\ntwo\nthree\n"
    canvas.draw(["one", "TWO"])
    assert stream.getvalue() == "one\ntwo\nthree\n\x1b[2A\r\x1b[JTWO\n"


async def test_a_narrower_window_is_reckoned_with() -> None:
    """Lines that the terminal has wrapped since take more rows to go back over; blanks at their ends take none."""
    stream = StringIO()
    console = Console(file=stream, force_terminal=True, width=41, height=20, color_system=None)
    canvas = Canvas(console)
    canvas.draw(canvas.lines("x" * 30, "漢" * 15, "y" + " " * 30))
    console.width = 20
    stream.truncate(0)
    canvas.draw(["z"], last=True)
    assert stream.getvalue().lstrip("\0") == "\x1b[5A\r\x1b[Jz\n"
