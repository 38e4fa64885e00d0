"""Links that lead elsewhere than to the web, or elsewhere than they seem to."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from agents.events.views import CardList, Entry, Link, Unshowable, View, is_web
from agents.toolkit.result import Question
from app.doors.http.pages.markup import site
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
DISGUISED = [
    ("https://\u0430pple.com/login", "xn--pple-43d.com"),
    ("https://пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ("https://faß.de", "xn--fa-hia.de"),
    ("https://βόλος.com/x", "xn--nxasmm1c.com"),
    ("https://ｅxample.com", "example.com"),
    (f"https://{'ё' * 70}.com", "?"),
]
"""Hosts that look like others, and how they are asked for."""


@pytest.mark.parametrize("url", ADDRESSES)
def test_no_view_or_question_takes_it(url: str) -> None:
    """Such an address is none for a view, a card or a question."""
    assert not is_web(url)
    makers: list[tuple[Callable[[], View | Question], type[Exception]]] = [
        (lambda: Link(url=url), Unshowable),
        (lambda: CardList(entries=[Entry(label="x", url=url)]), Unshowable),
        (lambda: Question("Open", url=url), ValueError),
    ]
    for make, error in makers:
        with pytest.raises(error, match="http"):
            make()


@pytest.mark.parametrize(("url", "sent"), DISGUISED)
def test_a_host_that_looks_like_another_is_told_as_it_is_asked_for(url: str, sent: str) -> None:
    """On the page and in a terminal, also where the words of the link are that address."""
    assert in_full(url) == f"{url} ({sent})"
    assert not is_told_by(url, url)
    assert site(url).endswith(f" ({sent})")
    console = Console(width=300, file=io.StringIO(), record=True)
    for part in drawn(Link(url=url, title="x")):
        console.print(part)
    assert f"({sent})" in console.export_text()


def test_a_plain_host_is_told_as_it_is() -> None:
    """Whatever stands behind it."""
    assert in_full("https://example.org/путь") == "https://example.org/путь"
