"""Services that repeat what they were sent: no model, screen or log gets to see a secret."""

import base64
from pathlib import Path
from typing import Any

import pytest

from agents.events import ToolEnd
from app.plugins.remote_tools.secret import Env, Mask, masks
from app.plugins.remote_tools.tool_spec import ToolSpec
from app.testing import Chat
from app.testing.script import Call
from tests.plugins.remote_tools.remote_files import BEGIN, Open, opened, shop, taking
from tests.support.http_service import Answer, Service

pytestmark = pytest.mark.slow


ODD = 'k&y/"=ü€x'
PAIR = base64.b64encode(b"shop:open sesame").decode()


@pytest.mark.parametrize(
    ("status", "quoted"),
    [(200, "s3cret"), (401, "Bearer s3cret"), (422, base64.b64encode(b"s3cret").decode()), (200, "S3CRET")],
)
async def test_a_service_that_repeats_its_key_is_not_quoted(
    chat: Chat, service: Open, status: int, quoted: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a refusal nor a good answer carries the secret on, with its scheme or without."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "No."])
    body = {"orders": [{"id": "1", "title": f"bad key {quoted}"}], "error": {"message": f"bad key {quoted}"}}
    async with service(Answer(body, status=status)):
        trace = await chat.says("What did I buy here?")

    assert "bad key <secret>" in trace
    everything = [*map(str, chat.events), *(str(event.plain()) for event in chat.events), caplog.text]
    everything += [asked.prefix + str(asked.messages) for asked in chat.script.asked]
    assert not [one for one in everything if quoted.lower() in one.lower() or "s3cret" in one]


async def test_what_the_file_sends_unseen_is_not_told_in_a_refusal(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that stands in the file itself is as little for a model; the word may be part of a good answer."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    answers = [Answer({"error": {"message": "no key laptops"}}, status=403), Answer({"orders": [{"title": "laptops"}]})]
    call = Call("find_orders", {"word": "e"})
    chat.expects(supervisor=BEGIN, planner=[call, call, "There."])
    async with Service.open(*answers) as service:
        described: dict[str, Any] = shop(service.url)
        described["tools"][0]["parameters"]["size"] = {"in": "query", "name": "key", "fixed": "laptops"}
        async with opened(tmp_path, chat.speakers, http=described) as chat.speakers:
            await chat.says("What did I buy here?")

    assert "key=laptops" in service.asked[0].target
    refused, found = (event.object for event in chat.events if isinstance(event, ToolEnd))
    assert "no key <secret>" in refused
    assert '"name":"laptops"' in found


async def test_a_server_that_repeats_its_environment_is_not_quoted(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An MCP server's own secrets in an answer or a refusal are hidden as well."""
    monkeypatch.setenv("LIBRARY_SHELF", "hunter-2")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    book = "urn:isbn:9780141439518"
    chat.expects(
        supervisor=[
            Call("lend", {"book": book, "reader": "ann"}),
            Call("lend", {"book": "hunter-2", "reader": "ann"}),
            "So.",
        ]
    )
    async with opened(tmp_path, chat.speakers, servers=taking(lend=None)) as chat.speakers:
        trace = await chat.says("Lend me Emma")

    assert "of process <secret>" in trace
    assert "no book <secret>" in trace


@pytest.mark.parametrize("told", [
    "k%26y%2F%22%3D%C3%BC%E2%82%ACx", "k%26y/%22%3d%c3%bc%e2%82%acx", "k&amp;y/&quot;=ü€x", 'k&y/\\"=\\u00fc\\u20acx',
    base64.b64encode(ODD.encode()).decode(), ODD,
])  # fmt: skip
def test_a_secret_is_known_in_every_spelling(told: str) -> None:
    """An address, a page, JSON and base64 write it in their own ways."""
    hidden = {"a": ["is <secret>", None, True, 7], "<secret>": 1.5}
    assert Mask([ODD])({"a": [f"is {told}", None, True, 7], told: 1.5}) == hidden


def test_numbers_and_pairs_are_secrets_too() -> None:
    """A key of digits may come back as a number; of Basic authentication the password stands inside."""
    assert Mask(["12345678"])([12345678, 1234, "no. 12345678"]) == ["<secret>", 1234, "no. <secret>"]
    basic, _ = masks(
        ToolSpec(), {"Authorization": Env(env="PAIR", format="Basic {}")}, {"Authorization": f"Basic {PAIR}"}
    )
    assert basic(["open sesame", PAIR, "Basic"]) == ["<secret>", "<secret>", "Basic"]


def test_short_and_missing_secrets_hide_nothing() -> None:
    """A word that any answer has is left in it."""
    assert Mask([])(["a"]) == ["a"]
    assert Mask(["12"])(["1200 EUR"]) == ["1200 EUR"]
