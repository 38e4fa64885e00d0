"""Markdown and citations in Telegram: every kind looks as it should, nothing is lost, every message fits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import MessageEntity

from app.plugins.telegram.delivery.pages import LIMIT, MOST_FORMULAS, MOST_PAGES, MessagePage, pages, utf16_length
from tests.doors.test_cited_text import REPLY
from tests.support.made_inputs import tried
from tests.support.telegram_limits import request_faults

Shown = list[tuple[str, str]]
KINDS: list[tuple[str, str, Shown]] = [
    ("a **b** *c* ~~d~~", "a b c d", [("bold", "b"), ("italic", "c"), ("strikethrough", "d")]),
    ("# Голова 😀\nтело", "Голова 😀\nтело", [("bold", "Голова 😀"), ("underline", "Голова 😀")]),
    ("- a\n  - b\n    1. c", "• a\n  • b\n    1. c", []),
    ("- [x] done\n- [ ] open", "✅ done\n⬜ open", []),
    ("> тихо\n> идёт", "тихо\nидёт", [("blockquote", "тихо\nидёт")]),
    ("[here](https://a.b/c_(d)) 😀", "here (https://a.b/c_(d)) 😀", [("https://a.b/c_(d)", "here")]),
    (
        "**[x](https://a.b) y** *c*",
        "x (https://a.b) y c",
        [("bold", "x (https://a.b) y"), ("https://a.b", "x"), ("italic", "c")],
    ),
    ("[a.b/c](https://a.b/c) [a.b](https://a.b/)", "a.b/c a.b", [("https://a.b/c", "a.b/c"), ("https://a.b/", "a.b")]),
    ("[a.b](https://evil.c)", "a.b (https://evil.c)", [("https://evil.c", "a.b")]),
    ("[x](tg://resolve?domain=b) [x](https://a.b@evil.c)", "x x", []),
    ("[here](javascript:alert(1))", "here", []),
    ("`a < b` and a<b, b>c", "a < b and a<b, b>c", [("code", "a < b")]),
    ("```python\nif a<b: pass\n```", "if a<b: pass", [("pre", "if a<b: pass")]),
    ("|имя|n|\n|---|--:|\n|Анна|1|", "имя  | n\n-----+--\nАнна | 1", [("pre", "имя  | n\n-----+--\nАнна | 1")]),
    ("5 * 3 * 2, snake_case_name, **unclosed `marks", "5 * 3 * 2, snake_case_name, **unclosed `marks", []),
    ("2*3*4 = 24, a*b and c*d, 2**3**4", "2*3*4 = 24, a*b and c*d, 2**3**4", []),
    (
        "**Wort**teil, *kurz*e und `2*3*4`",
        "Wortteil, kurze und 2*3*4",
        [("bold", "Wort"), ("italic", "kurz"), ("code", "2*3*4")],
    ),
    (r"so \(a_1^2\) and \(2*x*y\)", "so (a_1^2) and (2*x*y)", []),
    ("<div>\nkept\n</div>", "<div>\nkept\n</div>", []),
    ("one\ntwo", "one\ntwo", []),
    ("a\x1b[31m\ud800b", "ab", []),
]


def faults(page: MessagePage) -> list[str]:
    """Return Telegram's refusals of a page."""
    entities: list[Any] = [entity.to_dict() for entity in page.entities]
    return request_faults("sendMessage", {"chat_id": 1, "text": page.text, "entities": entities})


def shown(text: str) -> tuple[str, Shown]:
    """Return the only page of a text: its text, and each entity's kind with what it covers."""
    (page,) = pages(text)
    assert faults(page) == []
    raw = page.text.encode("utf-16-le")
    spans = [
        (mark, raw[2 * mark.offset : 2 * (mark.offset + mark.length)].decode("utf-16-le")) for mark in page.entities
    ]
    return page.text, [(mark.type if mark.url is None else mark.url, part) for mark, part in spans]


@pytest.mark.parametrize(("text", "plain", "entities"), KINDS)
def test_every_kind_of_markdown(text: str, plain: str, entities: Shown) -> None:
    """Marks become formatting; all other text stays as written."""
    all_pages, spans = shown(text)
    assert all_pages == plain
    assert sorted(spans) == sorted(entities)


def test_more_marks_than_a_message_may_have() -> None:
    """After a hundred entities the next message begins, so that all stay."""
    all_pages = pages("**a** b " * 250 + "\n```py\nend\n```")
    assert [fault for page in all_pages for fault in faults(page)] == []
    assert " ".join(page.text for page in all_pages) == "a b " * 249 + "a b\nend"
    assert [len(page.entities) for page in all_pages] == [100, 100, 51]
    assert all_pages[-1].entities[-1].type == "pre"


def test_a_page_does_not_end_with_a_heading() -> None:
    """The heading goes with what stands below it, and one above it, too."""
    first, second = "a " * 1990 + "a", "b " * 1000 + "b"
    all_pages = pages(f"{first}\n\n# Part two\n\n## Its beginning\n\n{second}")
    assert [page.text for page in all_pages] == [first, f"Part two\n\nIts beginning\n\n{second}"]


@pytest.mark.parametrize(
    "text",
    ["1. " * 7000, "> " * 7000, "- 1. " * 5000, f"|{'a|' * 300}\n|{'-|' * 300}\n{'|a|' * 500}", "one |two|\n" * 9],
)
def test_no_text_becomes_a_flood(text: str) -> None:
    """Lists in lists and wide tables are shown as they were written: not many times as long, and at once."""
    all_pages = pages(text)
    assert sum(len(page.text) for page in all_pages) <= len(text)
    assert [fault for page in all_pages for fault in faults(page)] == []


def test_so_many_formulas_are_drawn() -> None:
    """The end of each is looked for in all the rest: where there are more they stay as typed, and so does a flood."""
    formula = r"\(\alpha\) "
    assert pages(formula * 3)[0].text.split() == ["α"] * 3
    assert not any("α" in page.text for page in pages(formula * (MOST_FORMULAS + 1)))
    assert "".join(page.text for page in pages("$" * 5_000)) == "$" * 5_000


def test_a_text_is_shown_in_so_many_messages() -> None:
    """A text without an end is cut off, and says so."""
    all_pages = pages("word " * 100_000)
    assert len(all_pages) == MOST_PAGES
    assert all_pages[-1].text == "[…]"


def test_a_blank_text_is_no_message() -> None:
    """Telegram refuses an empty message, so there is none."""
    assert [pages(text) for text in ("", " \n\n ", "```\n```")] == [[], [], []]


def test_plain_text_stays_plain() -> None:
    """A text without Markdown keeps its stars."""
    assert pages("/help  **what**", is_markdown=False) == [MessagePage("/help  **what**")]


def test_a_cut_falls_between_paragraphs() -> None:
    """A page ends where a paragraph ends, if it is at least half full there."""
    first, second = "a " * 1500 + "a", "b " * 1000 + "b"
    assert [page.text for page in pages(f"{first}\n\n{second}")] == [first, second]


def test_a_code_block_that_fits_is_not_cut() -> None:
    """A block of code begins on a new page rather than break."""
    code = "\n".join(f"line {number}" for number in range(300))
    before, after = pages(f"{'words ' * 400}\n```py\n{code}\n```")
    assert before.entities == ()
    assert [(mark.type, mark.length, mark.language) for mark in after.entities] == [("pre", len(after.text), "py")]
    assert after.text == code


def test_a_code_block_that_does_not_fit_stays_code() -> None:
    """A block longer than a message is cut between lines, and each part is code."""
    code = "\n".join(f"line {number} 😀" for number in range(1000))
    all_pages = pages(f"```py\n{code}\n```")
    assert "\n".join(page.text for page in all_pages) == code
    assert all([mark.type for mark in page.entities] == ["pre"] for page in all_pages)


def test_a_word_longer_than_a_message_is_cut_between_characters() -> None:
    """Pairs of surrogates and joined emoji stay together."""
    all_pages = pages("👩\u200d🚀" * 2000)
    assert all(page.text.startswith("👩") and page.text.endswith("🚀") for page in all_pages)
    assert sum(len(page.text) for page in all_pages) == 6000


MARKS = ("**", "*", "_", "`", "```\n", "```py\n", "> ", "# ", "- ", "1. ", "~~", "||", "---\n", "\\", "$x$")
LAYOUT = ("\n", "\n\n", " ", "|a|b|\n|-|-|\n|1|2|\n", "[x](", "http://a.b)", "<b>")
WORDS = ("слово ", "word ", "😀", "a" * 300)
PIECES = st.sampled_from([*MARKS, *LAYOUT, *WORDS])


@tried(80)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_whatever_a_model_writes_can_be_sent(text: str) -> None:
    """No mixture of marks makes a message that Telegram refuses."""
    assert [fault for page in pages(text) for fault in faults(page)] == []


@tried(40)
@given(st.lists(st.sampled_from(["слово ", "b\n", "\n\n", "😀", "a" * 999, "e\u0301"]), max_size=60).map("".join))
def test_a_split_loses_nothing(text: str) -> None:
    """All that is not blank is on some page, in order, and every page fits."""
    all_pages = pages(text, is_markdown=False)
    assert "".join("".join(page.text.split()) for page in all_pages) == "".join(text.split())
    assert all(len(page.text.encode("utf-16-le")) <= 2 * LIMIT for page in all_pages)


def cited(text: str) -> MessagePage:
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
    page = cited(REPLY.text)
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
    page = cited(REPLY.text)
    [quote] = [entity for entity in page.entities if entity.type == MessageEntity.EXPANDABLE_BLOCKQUOTE]
    raw = page.text.encode("utf-16-le")[2 * quote.offset : 2 * (quote.offset + quote.length)]
    assert raw.decode("utf-16-le") == page.text[page.text.index("[1] Help") :]


def test_a_text_cannot_draw_numbers_of_its_own() -> None:
    """The signs that stand for a number while Markdown is read are of no use to whoever writes the text."""
    forged = "".join(chr(0xE100 + ord(sign)) for sign in "[2]")
    page = cited(f"{forged}{REPLY.text[3:]}")
    assert page.text.startswith("\ufffd\ufffd\ufffd")
