"""Citations in replies: read while they stream, unknown ones dropped and counted, nothing else touched."""

from itertools import pairwise

import pytest

from agents.state.citations import Citation, CitationReader, CitedSource, cited, shifted, without_marks

SOURCES: list[CitedSource] = [{"title": f"Page {number}", "url": f"https://x.example/{number}"} for number in range(3)]
REPLIES = {
    "Born in 1672 [source=[0, 1]].": "Born in 1672 [1][2].",
    "One [source=[0]] and two [source=[2]]": "One [1] and two [3]",
    "Nobody knows [source=[7]].": "Nobody knows.",
    "Half known [source=[7, 2, 2]].": "Half known [3].",
    "Sloppy [Sources = [ 1 ]] [source=2] [source=[0] here": "Sloppy [2] [3] [1] here",
    "Cut [source=[1": "Cut",
    "Cut [sour": "Cut [sour",
    "A list[1] of [so] what [source code] [link](https://x.example) [": None,
    "Nothing [source=[]].": "Nothing.",
    "": "",
}
"""A model's text, and the user's text of it; None: the same."""


def streamed(reply: str, *cuts: int) -> tuple[str, list[Citation], int, str]:
    """Return the user's text of a reply that comes in pieces."""
    reader = CitationReader(SOURCES)
    edges = [0, *cuts, len(reply)]
    pieces = [reader.feed(reply[a:b]) for a, b in pairwise(edges)]
    text, citations = "", list[Citation]()
    for piece in [*pieces, reader.rest()]:
        citations += shifted(piece.citations, len(text))
        text += piece.text
    return text, citations, reader.unknown, reader.source


@pytest.mark.parametrize("reply", REPLIES)
def test_a_mark_becomes_the_numbers_that_people_see(reply: str) -> None:
    """They count from 1; each knows its place and its source."""
    whole = cited(reply, SOURCES)
    expected = REPLIES[reply]
    assert whole.text == (reply if expected is None else expected)
    for each in whole.citations:
        assert whole.text[each["start"] : each["end"]] == f"[{each['number'] + 1}]"
        assert each["title"] == f"Page {each['number']}"


@pytest.mark.parametrize("reply", REPLIES)
def test_a_mark_may_be_split_anywhere(reply: str) -> None:
    """Whatever the pieces, the text is the same as that of the whole reply, and no piece shows half a mark."""
    whole = cited(reply, SOURCES)
    same = whole.text, [*whole.citations], whole.unknown, whole.source
    assert all(streamed(reply, a, b) == same for a in range(len(reply)) for b in range(a, len(reply), 3))
    assert streamed(reply, *range(1, len(reply))) == same


def test_half_a_mark_is_held_back() -> None:
    """A possible beginning of a mark is not shown before it is certain; the space before it waits with it."""
    reader = CitationReader(SOURCES)
    pieces = ["It is so ", "[sou", "rce=[0", "]", "]. Or [s", "o]."]
    assert [reader.feed(piece).text for piece in pieces] == ["It is so", "", "", "", " [1]. Or", " [so]."]


def test_a_foreign_text_cannot_hold_a_mark() -> None:
    """A page that is quoted word for word cites nothing."""
    page = without_marks("Trust me [source=[0]] [ Sources = [1]] [x]")
    assert cited(page, SOURCES).citations == []
    assert page == "Trust me (source=[0]] ( Sources = [1]] [x]"


@pytest.mark.parametrize("piece", ["[", "[source=[0]]", " ", "[source=["])
def test_a_long_reply_is_read_in_one_pass(piece: str) -> None:
    """Hostile repetitions are no work of their own; a quadratic reader would take minutes for this."""
    assert len(cited(piece * 20_000, SOURCES).text) <= 20_000 * len(piece)
