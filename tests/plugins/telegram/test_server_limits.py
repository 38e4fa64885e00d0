"""The Bot API server of the tests: what the real one would refuse is a fault, also without the description."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import telegram_schema
from tests.support.telegram_limits import request_faults
from tests.support.telegram_schema import built_in, described
from tests.support.telegram_server import TOKEN, BotApi

GOOD = {"chat_id": 1, "text": "abc"}


@pytest.fixture(params=["published", "built in"])
def _description(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check against the published description, where it is at hand, and against the built-in one."""
    described.cache_clear()
    if request.param == "built in":
        monkeypatch.setattr(telegram_schema, "DESCRIPTION", Path("nowhere"))
    yield
    described.cache_clear()


def entity(offset: int, length: int, kind: str = "bold", **more: Any) -> dict[str, Any]:
    """Return an entity."""
    return {"type": kind, "offset": offset, "length": length, **more}


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
    """Missing, unknown and wrong parameters, and texts and entities that Telegram refuses; and no such method."""
    assert request_faults("sendMessage", sent)
    assert request_faults("sendMassage", GOOD)


async def test_a_forbidden_request_fails_at_the_end() -> None:
    """Nothing has to look: a draft in a group, which the real one refuses, fails the test that sends it."""
    world, sent = BotApi(), {"chat_id": "-100777", "draft_id": "1", "text": "Hel"}
    with pytest.raises(AssertionError, match="sendMessageDraft"):
        async with world.serving(), httpx.AsyncClient() as client:
            await client.post(f"{world.url}/bot{TOKEN}/sendMessageDraft", data=sent)


@pytest.mark.skipif(not telegram_schema.DESCRIPTION.exists(), reason="the description is not at hand")
def test_the_built_in_table_is_as_published() -> None:
    """Every method, field and type of the table is in the description, with the same types."""
    published, table = described(), built_in()
    for kind in ("methods", "types"):
        for name, entry in table[kind].items():
            fields = {field["name"]: field for field in published[kind][name].get("fields", [])}
            assert entry.get("returns", []) == published[kind][name].get("returns", [])
            for field in entry["fields"]:
                known = fields[field["name"]]
                assert field == {part: known[part] for part in ("name", "required", "types")}
