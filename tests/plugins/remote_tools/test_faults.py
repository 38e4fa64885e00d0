"""Services that fail, in every way a service can: a call is lost, never a turn."""

from pathlib import Path

import pytest

from agents.events import Message
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase, sentence
from tests.plugins.remote_tools.remote_files import BEGIN, FOUND, ORDERS, Open, opened, shop
from tests.support.http_service import Answer, Service

pytestmark = pytest.mark.slow


FAULTS = {
    "a failure": Answer({"error": {"text": "stack trace"}}, status=500),
    "no patience": Answer(ORDERS, comes_after=60),
    "no JSON": Answer(b"<html>"),
    "too deep": Answer(b"[" * 500 + b"]" * 500),
    "packed": Answer(ORDERS, headers={"Content-Encoding": "gzip"}),
    "a redirect": Answer(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data/"}),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failing_service_does_not_end_the_turn(chat: Chat, service: Open, fault: str) -> None:
    """Whatever a service does, the model is told that the tool failed, and nothing of what it said."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "The shop is closed."])
    async with service(FAULTS[fault], timeout=50):
        trace = await chat.says("What did I buy here?")
    assert phrase("tool_failed", "en", tool="find_orders") in trace
    assert [event.text for event in chat.events if isinstance(event, Message)] == ["The shop is closed."]


REASONS = {
    "bad q": Answer({"errors": [{"message": "bad q"}]}, status=400),
    "query.q: Field required": Answer({"detail": [{"loc": ["query", "q"], "msg": "Field required"}]}, status=422),
    "q is short; q is odd": Answer({"message": ["q is short", "q is odd"]}, status=400),
    "q must not be empty": Answer(b"q must not be empty", status=400, kind="text/plain; charset=utf-8"),
    "404": Answer(b"<html>Not here</html>", status=404, kind="text/html"),
}
"""Refusals of common frameworks, by the reason for the model."""


@pytest.mark.parametrize("reason", REASONS)
async def test_the_reason_of_a_refusal_is_read(chat: Chat, service: Open, reason: str) -> None:
    """The service's own words are found in any common form, so that the model can mend its call."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Which one?"])
    async with service(REASONS[reason]):
        trace = await chat.says("What did I buy here?")
    assert f"! find_orders was refused: {reason}. " in trace


async def test_an_answer_too_long_is_told(chat: Chat, service: Open) -> None:
    """The model reads that it can ask for less."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Which one?"])
    async with service(Answer(b'["' + b"x" * 300_000 + b'"]')):
        trace = await chat.says("What did I buy here?")
    assert sentence("remote_tools/phrases", "answer_long", "en", tool="find_orders") in trace


@pytest.mark.parametrize("until", ["3600", "Thu, 01 Jan 2099 00:00:00 GMT"])
async def test_a_service_that_asks_for_a_long_pause(chat: Chat, service: Open, until: str) -> None:
    """A service that names a number of seconds, or a date, too far away is not asked again."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "The shop is closed."])
    async with service(Answer(status=429, headers={"Retry-After": until}), Answer(ORDERS)) as asked:
        assert phrase("tool_failed", "en", tool="find_orders") in await chat.says("What did I buy here?")
    assert len(asked.asked) == 1


@pytest.mark.parametrize("kind", ["text/json", "text/plain; charset=utf-8", "application/octet-stream"])
async def test_json_of_any_type_is_json(chat: Chat, service: Open, kind: str) -> None:
    """Many services send it as something else."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Two."])
    async with service(Answer(ORDERS, kind=kind)):
        assert FOUND in await chat.says("What did I buy here?")


async def test_a_busy_service_is_asked_again(chat: Chat, service: Open) -> None:
    """A read is tried again after what Retry-After says."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Two."])
    async with service(Answer(status=429, headers={"Retry-After": "0"}), Answer(status=502), Answer(ORDERS)) as asked:
        assert FOUND in await chat.says("What did I buy here?")
    assert len(asked.asked) == 3


async def test_a_service_that_is_gone_may_come_back(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that cannot be reached fails one call, not the tool."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    again: list[Line] = [Call("find_orders", {"word": "e"}), "Two."]
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Closed.", *again], observer=["stay"])
    async with Service.open(Answer(ORDERS)) as service:
        pass
    async with opened(tmp_path, chat.speakers, http=shop(service.url)) as chat.speakers:
        assert phrase("tool_failed", "en", tool="find_orders") in await chat.says("What did I buy here?")
        async with Service.open(Answer(ORDERS), port=service.port):
            assert FOUND in await chat.says("try once more to find what I have ordered")
