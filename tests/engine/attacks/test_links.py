"""Links that lead elsewhere than to the web, or elsewhere than they seem to."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from agents.events.views import CardList, Entry, Link, Unshowable, View, is_web
from agents.toolkit.result import Question
from app.doors.http.page.markup import site
from app.doors.telegram.delivery.buttons import link_buttons
from app.doors.telegram.delivery.pages import pages
from app.doors.terminal.views import drawn
from app.presentation.links import in_full, is_told_by

ADDRESSES = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "vbscript:x",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "tg://resolve?domain=evil",
    "tg://join?invite=AAAA",
    "mailto:a@b.example?bcc=evil@c.example",
    "tel:+49900123456",
    "sms:+49900123456",
    "intent://scan/#Intent;scheme=zxing;end",
    "blob:https://evil.example/1",
    "view-source:https://evil.example",
    "ftp://evil.example/x",
    "ssh://-oProxyCommand=id/x",
    "//evil.example",
    "/etc/passwd",
    "https:evil.example",
    "https:///evil.example",
    "https://",
    "https://good.example@evil.example/",
    "https://good.example:443@evil.example/",
    "https://user:password@evil.example/",
    "https://good.example\\@evil.example/",
    "https://%D0%B0pple.com/",
    "https://good.example\\.evil.example/",
    "https://evil.example\u202e/moc.doog",
    "https://good.example\u2066.evil.example/",
    "https://good.example/\u200f",
    "https://evil.example/\x1b]0;x\x07",
    "https://evil.example/\x9b31m",
    "https://evil.example/a b",
    "https://evil.example/\r\nSet-Cookie: a=b",
    'https://evil.example/"><script>',
    "https://[::1",
    "https://evil.example/\U000e0041",
    "https://evil.example/\0",
]


@pytest.mark.parametrize("url", ADDRESSES)
def test_no_view_question_or_button_takes_it(url: str) -> None:
    """Such an address is none for a view, a card, a question or a button, and in a chat it is no link."""
    assert not is_web(url)
    makers: list[tuple[Callable[[], View | Question], type[Exception]]] = [
        (lambda: Link(url=url), Unshowable),
        (lambda: CardList(entries=[Entry(label="x", url=url)]), Unshowable),
        (lambda: Question("Open", url=url), ValueError),
    ]
    for make, error in makers:
        with pytest.raises(error, match="http"):
            make()
    assert link_buttons(url, "en") == []
    assert all(is_web(entity.url) for page in pages(f"[x]({url}) <{url}>") for entity in page.entities if entity.url)


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ("https://bank.example", "https://evil.example"),
        ("bank.example", "https://evil.example"),
        ("https://bank.example", "https://bank.example.evil.example"),
        ("https://bank.example/", "https://evil.example/?https://bank.example/"),
        ("bank.example/login", "https://bank.example.evil.example/login"),
        ("Continue", "https://evil.example"),
        ("**Your bank**", "https://evil.example"),
        ("`bank.example`", "https://evil.example"),
        ("😀 bank.example", "https://evil.example"),
    ],
)
def test_a_chat_shows_where_a_link_leads(words: str, url: str) -> None:
    """Where the words of a link are not its address, the address stands behind them."""
    assert not is_told_by(url, words)
    (page,) = pages(f"See [{words}]({url}) now, [{words}]({url})")
    assert page.text.count(f" ({url})") == 2
    raw = page.text.encode("utf-16-le")
    for entity in page.entities:
        covered = raw[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")
        assert covered.strip()


def test_a_button_says_whose_page_it_opens() -> None:
    """The host stands on the button."""
    [[button]] = link_buttons("https://evil.example/login?to=bank.example", "en")
    assert button.text == "Open: evil.example"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://\u0430pple.com/login", "xn--pple-43d.com"),
        ("https://пример.рф", "xn--e1afmkfd.xn--p1ai"),
        ("https://faß.de", "xn--fa-hia.de"),
        ("https://βόλος.com/x", "xn--nxasmm1c.com"),
        ("https://ｅxample.com", "example.com"),
        (f"https://{'ё' * 70}.com", "?"),
    ],
)
def test_a_host_that_looks_like_another_is_told_as_it_is_asked_for(url: str, sent: str) -> None:
    """In a chat, on the page and in a terminal, also where the words of the link are that address."""
    assert in_full(url) == f"{url} ({sent})"
    assert not is_told_by(url, url)
    assert f"({sent})" in pages(f"[{url}]({url})")[0].text
    assert site(url).endswith(f" ({sent})")
    console = Console(width=300, file=io.StringIO(), record=True)
    for part in drawn(Link(url=url, title="x")):
        console.print(part)
    assert f"({sent})" in console.export_text()


def test_a_plain_host_is_told_as_it_is() -> None:
    """Whatever stands behind it."""
    assert in_full("https://example.org/путь") == "https://example.org/путь"
