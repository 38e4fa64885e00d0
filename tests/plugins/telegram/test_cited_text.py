"""Citations in a chat: numbers that are links, and the list of sources below."""

from telegram import MessageEntity

from app.plugins.telegram.delivery.pages import MessagePage, pages, utf16_length
from tests.doors.test_cited_text import REPLY


def shown(text: str) -> MessagePage:
    """Return the one page of a message."""
    [page] = pages(text, citations=REPLY.citations)
    return page


def marked_by(page: MessagePage) -> dict[str, str | None]:
    """Return the words of each link of a page, with its address."""
    raw = page.text.encode("utf-16-le")
    spans = [(e, raw[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le")) for e in page.entities]
    return {words: entity.url for entity, words in spans if entity.type == MessageEntity.TEXT_LINK}


def test_numbers_are_links_and_sources_are_listed() -> None:
    """A number within code is no link there, one without a web address neither; the list says where links lead."""
    page = shown(REPLY.text)
    assert page.text == (
        "👑 Peter [2] rang [1](twice) x [3]\n\n"
        "[1] Help › *Reminders* (help/reminders.md)\n"
        "[2] Peter 👑 the Great (wiki.example)\n"
        "[3] https://wiki.example/empty (wiki.example)"
    )
    assert marked_by(page)["[2]"] == "https://wiki.example/Peter_(tsar)"
    assert set(marked_by(page)) == {"[2]", "wiki.example"}
    assert all(entity.offset + entity.length <= utf16_length(page.text) for entity in page.entities)


def test_the_list_is_folded() -> None:
    """The list, and nothing of the answer, is a quote that opens when it is tapped."""
    page = shown(REPLY.text)
    [quote] = [entity for entity in page.entities if entity.type == MessageEntity.EXPANDABLE_BLOCKQUOTE]
    raw = page.text.encode("utf-16-le")[2 * quote.offset : 2 * (quote.offset + quote.length)]
    assert raw.decode("utf-16-le") == page.text[page.text.index("[1] Help") :]


def test_a_text_cannot_draw_numbers_of_its_own() -> None:
    """The signs that stand for a number while Markdown is read are of no use to whoever writes the text."""
    forged = "".join(chr(0xE100 + ord(sign)) for sign in "[2]")
    page = shown(f"{forged}{REPLY.text[3:]}")
    assert page.text.startswith("\ufffd\ufffd\ufffd")
