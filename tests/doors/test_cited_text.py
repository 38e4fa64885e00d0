"""Citations as the doors draw them: numbers that are links, and the list of sources below."""

from io import StringIO

from rich.console import Console

from agents.events import Message
from agents.state.citations import CitedSource, cited
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.screens import PlainText
from app.presentation.texts import listed, with_list

SOURCES: list[CitedSource] = [
    {"title": "Help › *Reminders*", "url": "help/reminders.md"},
    {"title": "Peter 👑 the Great", "url": "https://wiki.example/Peter_(tsar)"},
    {"title": "", "url": "https://wiki.example/empty"},
]
REPLY = cited("👑 **Peter** [source=[1]] rang [source=[0]](twice) `x [source=[2]]`", SOURCES)
MESSAGE = Message(speaker="research", text=REPLY.text, citations=REPLY.citations)


def drawn(message: Message, *, color: bool) -> str:
    """Return the terminal's text."""
    stream = StringIO()
    console = Console(file=stream, force_terminal=color, color_system="standard" if color else None, width=60)
    LiveMarkdown(console, "en").show(message)
    return stream.getvalue()


def test_a_terminal_links_the_numbers_where_it_can() -> None:
    """The list below shows every address, so that no link leads elsewhere than it says."""
    shown = drawn(MESSAGE, color=True)
    assert shown.count("https://wiki.example/Peter_(tsar)\x1b\\") == 1
    assert "\x1b]8;" not in drawn(MESSAGE, color=False)
    assert [line.rstrip() for line in drawn(MESSAGE, color=False).strip().splitlines()] == [
        "research",
        "👑 Peter [2] rang [1](twice) x [3]",
        "",
        "[1] Help › *Reminders* — help/reminders.md",
        "[2] Peter 👑 the Great — https://wiki.example/Peter_(tsar)",
        "[3] https://wiki.example/empty",
    ]


def test_a_pipe_gets_the_list_as_text() -> None:
    """The numbers stand in the text; below are the sources, each once."""
    answers = StringIO()
    PlainText(answers, StringIO(), "en").show(MESSAGE)
    assert answers.getvalue().rstrip("\n") == with_list(REPLY.text, REPLY.citations)
    assert listed([*REPLY.citations, *REPLY.citations]) == listed(REPLY.citations)
    assert with_list("Nothing cited.", []) == "Nothing cited."
