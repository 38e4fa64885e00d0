"""The Bot API server of the tests: what the real one would refuse is a fault, also without the description."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import telegram_limits
from tests.support.telegram_limits import described, request_faults

GOOD = {"chat_id": 1, "text": "abc"}


@pytest.fixture(params=["published", "built in"])
def _description(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check against the published description, where it is at hand, and against the built-in one."""
    described.cache_clear()
    if request.param == "built in":
        monkeypatch.setattr(telegram_limits, "DESCRIPTION", Path("nowhere"))
    yield
    described.cache_clear()


def entity(offset: int, length: int, kind: str = "bold", **more: Any) -> dict[str, Any]:
    """Return an entity."""
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.usefixtures("_description")
def test_a_good_request_has_no_faults() -> None:
    """What the Bot API allows is no violation."""
    assert request_faults("sendMessage", {**GOOD, "entities": [entity(0, 2), entity(0, 1, "italic")]}) == []


@pytest.mark.usefixtures("_description")
@pytest.mark.parametrize(
    "sent",
    [
        {"text": "abc"},
        {**GOOD, "chat_id": 1.5},
        {**GOOD, "colour": "red"},
        {**GOOD, "text": "  "},
        {**GOOD, "text": "😀" * 2049},
        {**GOOD, "entities": [entity(2, 2)]},
        {**GOOD, "entities": [entity(0, 2), entity(1, 2)]},
        {**GOOD, "entities": [entity(0, 1, "text_link")]},
        {**GOOD, "entities": [entity(0, 1, "loud")]},
        {**GOOD, "entities": [{"type": "bold"}]},
        {**GOOD, "link_preview_options": {"is_disabled": 1}},
        {**GOOD, "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x" * 65}]]}},
        {**GOOD, "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}},
        {**GOOD, "reply_markup": {"inline_keyboard": [[{"text": "a", "url": "javascript:1"}]]}},
        {**GOOD, "reply_markup": {"inline_keyboard": [[{"text": " ", "callback_data": "x"}]]}},
        {**GOOD, "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x"}] * 9]}},
    ],
)
def test_a_wrong_request_has_faults(sent: dict[str, Any]) -> None:
    """Missing, unknown and wrong parameters, and texts and entities that Telegram refuses."""
    assert request_faults("sendMessage", sent)


@pytest.mark.usefixtures("_description")
def test_a_method_that_does_not_exist_is_a_fault() -> None:
    """A slip in a method's name is found."""
    assert request_faults("sendMassage", GOOD)
