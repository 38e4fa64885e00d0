"""Citations as the doors draw them: numbers that are links, and the list of sources below."""

from io import StringIO

from rich.console import Console
from telegram import MessageEntity

from agents.events import Message
from agents.state.citations import CitedSource, cited
from app.doors.telegram.delivery.pages import MessagePage, pages, utf16_length
from app.doors.terminal.screens import LiveMarkdown, PlainText
from app.presentation.texts import listed, with_list

SOURCES: list[CitedSource] = [
    {"title": "Help › *Reminders*", "url": "help/reminders.md"},
    {"title": "Peter 👑 the Great", "url": "https://wiki.example/Peter_(tsar)"},
    {"title": "", "url": "https://wiki.example/empty"},
]
REPLY = cited("👑 **Peter** [source=[1]] rang [source=[0]](twice) `x [source=[2]]`", SOURCES)
MESSAGE = Message(speaker="research", text=REPLY.text, citations=REPLY.citations)


def shown_in_telegram(text: str) -> MessagePage:
    """Return the one page of a message."""
    [page] = pages(text, citations=REPLY.citations)
    return page


def marked_by(page: MessagePage) -> dict[str, str | None]:
    """Return what each link of a page covers, with its address."""
    raw = page.text.encode("utf-16-le")
    spans = [(e, raw[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le")) for e in page.entities]
    return {words: entity.url for entity, words in spans if entity.type == MessageEntity.TEXT_LINK}


def test_telegram_links_the_numbers_and_lists_the_sources() -> None:
    """A number within code is no link there, one without a web address neither; the list says where links lead."""
    page = shown_in_telegram(REPLY.text)
    assert page.text == (
        "👑 Peter [2] rang [1](twice) x [3]\n\n"
        "[1] Help › *Reminders* (help/reminders.md)\n"
        "[2] Peter 👑 the Great (wiki.example)\n"
        "[3] https://wiki.example/empty (wiki.example)"
    )
    assert marked_by(page)["[2]"] == "https://wiki.example/Peter_(tsar)"
    assert set(marked_by(page)) == {"[2]", "wiki.example"}
    assert all(entity.offset + entity.length <= utf16_length(page.text) for entity in page.entities)


def test_telegram_folds_the_list() -> None:
    """The list, and nothing of the answer, is a quote that opens when it is tapped."""
    page = shown_in_telegram(REPLY.text)
    [quote] = [entity for entity in page.entities if entity.type == MessageEntity.EXPANDABLE_BLOCKQUOTE]
    raw = page.text.encode("utf-16-le")[2 * quote.offset : 2 * (quote.offset + quote.length)]
    assert raw.decode("utf-16-le") == page.text[page.text.index("[1] Help") :]


def test_a_text_cannot_draw_numbers_of_its_own() -> None:
    """The signs that stand for a number while Markdown is read are of no use to whoever writes the text."""
    forged = "".join(chr(0xE100 + ord(sign)) for sign in "[2]")
    page = shown_in_telegram(f"{forged}{REPLY.text[3:]}")
    assert page.text.startswith("\ufffd\ufffd\ufffd")


def drawn(message: Message, *, color: bool) -> str:
    """Return what a terminal gets."""
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
