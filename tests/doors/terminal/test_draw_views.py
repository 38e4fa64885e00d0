"""Views and questions on a terminal: what is seen, also on a narrow one, and also of what is hostile."""

import re
from io import StringIO

import pytest
from rich.console import Console

from agents.events import Interrupt
from agents.events.views import CardList, Document, Entry, Link, Notice, Player, Table, View
from app.doors.terminal.views import asked, drawn, markdown

EVIL = "\x1b[2J\x9b31m\x07[red]x[/red]"


def shown(*views: View | Interrupt, width: int = 60, colour: bool = False) -> str:
    """Return the output on a terminal of this width."""
    system = "standard" if colour else None
    console = Console(file=StringIO(), force_terminal=True, width=width, color_system=system)  # type: ignore[arg-type]
    for view in views:
        console.print(*(asked(view, "en") if isinstance(view, Interrupt) else drawn(view)), sep="\n")
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n")).rstrip()


def test_cards_are_numbered_and_their_links_seen() -> None:
    """Cards that the user can call by number show it, and an address stands there in full."""
    url = "https://shop.example/a/very/long/way/to/the/blue/shoes"
    cards = CardList(title="Orders", entries=[Entry("Blue shoes", "60 EUR", url), Entry("Hat", id="hidden")])

    assert shown(cards) == f"Orders\n1. Blue shoes — 60 EUR\n   {url}\n2. Hat"
    assert url in "".join(line.strip() for line in shown(cards, width=20).split("\n"))


def test_a_table_has_columns_where_they_fit() -> None:
    """A narrow terminal shows the same rows as numbered lines; no word is cut."""
    table = Table(title="Stations", columns=["Name", "Country"], rows=[["Radio Paradise", "USA"], ["ラジオ", "JP"]])

    assert re.search(r"#\s+Name\s+Country\n.*\n\s+1\s+Radio Paradise\s+USA\n\s+2\s+ラジオ\s+JP", shown(table))
    assert "1. Name: Radio\n   Paradise,\n   Country: USA\n" in shown(table, width=18)


@pytest.mark.parametrize(("level", "code"), [("info", "36"), ("warning", "33"), ("error", "31")])
def test_a_notice_has_the_colour_of_its_level(level: str, code: str) -> None:
    """A remark is told apart from an answer, and an error from a remark."""
    notice = Notice(message="The shop is closed.", level=level)

    assert f"\x1b[{code}m" in shown(notice, colour=True)
    assert "The shop is closed." in shown(notice)


def test_a_player_is_one_line() -> None:
    """A sign for the state, the piece, the times, the volume."""
    player = Player(title="Song", state="playing", position=100, duration=200, volume=40)

    assert shown(player) == "▶ Song 1:40/3:20 🔊 40 %"


def test_a_link_and_a_document_are_shown() -> None:
    """An address stands below its title, a Markdown file is drawn."""
    link, document = Link(title="Sign in", url="https://shop.example/"), Document(title="a.md", content="- one")

    assert shown(link) == "Sign in\nhttps://shop.example/"
    assert shown(document) == "a.md\n\n • one"


def test_a_question_is_a_numbered_list() -> None:
    """Options come with their details; a page with its address; several fields with a hint."""
    options = [{"id": "a", "label": "Shoes", "detail": "60 EUR"}, {"id": "b", "label": "Hat"}]
    fields = [{"name": "street", "label": "Street"}, {"name": "zip", "label": "Zip"}]

    assert shown(Interrupt(id="1", kind="selector", prompt="Which?", options=options)) == (
        "Which?\n1. Shoes — 60 EUR\n2. Hat"
    )
    assert shown(Interrupt(id="1", kind="breaker", prompt="Go:", url="https://a.example/")).endswith(
        "https://a.example/"
    )
    assert shown(Interrupt(id="1", kind="breaker", prompt="Where?", fields=fields)).endswith("each:\nStreet:\nZip:")


def test_what_tools_say_cannot_steer_the_terminal() -> None:
    """Escape sequences go, markup is text, and an endless label ends."""
    long = EVIL + "y" * 5000
    question = Interrupt(id="1", kind="selector", prompt=EVIL, options=[{"id": "1", "label": long, "detail": long}])
    table = Table(title=EVIL, columns=[EVIL], rows=[[EVIL]])
    text = shown(CardList(entries=[Entry(EVIL, EVIL)]), table, Notice(message=EVIL), Player(state="paused"), question)

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "[red]x[/red]" in text
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Use <b>bold</b> in a List<int>.", "Use <b>bold</b> in a List<int>."),
        ("<div>\n**one**\n</div>", "<div>\none\n</div>"),
        ("<!-- note --> 1 < 2 &amp; **two**", "<!-- note --> 1 < 2 & two"),
        ("`Map<a, b>` and ~~old~~", "Map<a, b> and old"),
    ],
)
def test_what_looks_like_html_is_shown(text: str, seen: str) -> None:
    """Nothing of a text is left out because it stands in angle brackets; Markdown around it is drawn."""
    out = StringIO()
    Console(file=out, width=60).print(markdown(text))

    assert "\n".join(line.rstrip() for line in out.getvalue().strip().split("\n")) == seen


def test_a_list_with_gaps_keeps_its_numbers() -> None:
    """A to-do keeps its own number on the screen: Markdown would count the entries anew."""
    text, out = "Your list:\n1. milk\n3. bread\n\nAnything else?", StringIO()
    Console(file=out, width=40).print(markdown(text))

    assert "3. bread" in out.getvalue()
