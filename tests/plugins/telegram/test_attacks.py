"""Links that lead elsewhere than they seem to, and texts that steer what shows them, in a chat."""

import pytest

from agents.events.views import is_web
from app.plugins.telegram.delivery.buttons import link_buttons
from app.plugins.telegram.delivery.pages import pages
from app.presentation.links import is_told_by
from tests.engine.attacks.test_links import ADDRESSES, DISGUISED
from tests.engine.attacks.test_texts import TEXTS, steers


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_chat_lets_no_sign_out_that_steers(text: str) -> None:
    """A message has none of it, whether it is Markdown or not."""
    assert steers("".join(page.text for page in [*pages(text), *pages(text, is_markdown=False)])) == []


@pytest.mark.parametrize("url", ADDRESSES)
def test_what_is_no_web_address_is_no_link(url: str) -> None:
    """Neither a button nor the words of a message lead there."""
    assert link_buttons(url, "en") == []
    assert all(is_web(entity.url) for page in pages(f"[x]({url}) <{url}>") for entity in page.entities if entity.url)


@pytest.mark.parametrize(("url", "sent"), DISGUISED)
def test_a_host_is_told_as_it_is_asked_for(url: str, sent: str) -> None:
    """Also where the words of the link are that address."""
    assert f"({sent})" in pages(f"[{url}]({url})")[0].text


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
    """If the words of a link are not its address, the address stands after them."""
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
