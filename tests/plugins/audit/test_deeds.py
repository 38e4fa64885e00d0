"""The audit log of operators' deeds: with the name of the key, without the key and without any text."""

import httpx
import pytest

from app.assistant import Assistant
from app.plugins.audit.log import Audit
from app.testing.script import Script
from tests.support.http_door import KEYS, OPERATOR, SHOP, by, calling

SECRET = "nobody may read this"


async def deeds(assistant: Assistant) -> list[tuple[str, ...]]:
    """Return the log's entries, without the times."""
    return [deed[1:] for deed in await assistant.services.get(Audit).deeds(1)]


async def test_what_operators_do_is_written_down(assistant: Assistant, script: Script) -> None:
    """System messages, sentences and deletions, and not what is only read."""
    script.add(supervisor=["Hello."])
    async with calling(assistant, KEYS, headers=by(OPERATOR)) as client:
        await client.post("/threads/t/turns", json={"text": "hello"})
        await client.put("/threads/t/system_messages", json={"system_messages": [{"content": SECRET}]})
        await client.get("/threads/t/system_messages")
        await client.post("/threads/t/say", json={"text": SECRET})
        await client.delete("/users/ann/memory")
        await client.delete("/threads/t")

    who = "http:ops"
    assert await deeds(assistant) == [
        (who, "spoke_as", "t", "t", "done"),
        (who, "system_messages", "t", "", "done"),
        (who, "said", "t", "", "done"),
        (who, "forget_memory", "", "ann", "done"),
        (who, "forget", "t", "", "done"),
    ]
    rows = await assistant.memory.database.execute("SELECT * FROM audit")
    assert SECRET not in str(rows)
    assert OPERATOR not in str(rows)


@pytest.mark.needs("seat")
async def test_the_page_of_seats_is_written_down(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """Without keys it is somebody on this machine; what failed is there as well."""
    script.add(supervisor=["Hello."])
    await client.post("/threads/t/turns", json={"text": "hello"})
    for path, form in (
        ("take", {}),
        ("messages", {"text": SECRET, "id": "12345678"}),
        *[("back", {"note": SECRET})] * 2,
    ):
        await client.post(f"/seat/talk/t/{path}", data=form, headers={"HX-Request": "true"})
    written = [("seat_taken", "done"), ("seat_said", "done"), ("seat_left", "done"), ("seat_left", "failed")]
    actions = [(deed[0], deed[1], deed[2], deed[-1]) for deed in await deeds(assistant)]
    assert actions == [("http:local", what, "t", outcome) for what, outcome in written]
    assert SECRET not in str(await assistant.memory.database.execute("SELECT * FROM audit"))


@pytest.mark.needs("openai_api")
async def test_speaking_as_another_is_written_down(assistant: Assistant, script: Script) -> None:
    """An operator may name anybody, in every form; the entry names the person, once for many messages."""
    script.add(supervisor=["Hello."] * 3)
    async with calling(assistant, KEYS, headers=by(OPERATOR)) as client:
        for text in ("hello", SECRET):
            await client.post("/threads/t/turns", json={"text": text, "user": "ann"})
        said = {"model": "dialog-supervisor", "user": "bob", "messages": [{"role": "user", "content": SECRET}]}
        assert (await client.post("/v1/chat/completions", json=said, headers={"X-Thread-Id": "t"})).is_success
    spoken = [("http:ops", "spoke_as", "t", who, "done") for who in ("ann", "bob")]
    assert await deeds(assistant) == spoken


async def test_what_is_a_callers_own_is_not(assistant: Assistant, script: Script) -> None:
    """A caller without the operator's scope deletes threads and memory of their own."""
    script.add(supervisor=["Hello."])
    async with calling(assistant, KEYS, headers=by(SHOP)) as client:
        await client.post("/threads/t/turns", json={"text": "hello"})
        assert (await client.put("/threads/t/system_messages", json={})).status_code == 403
        assert (await client.delete("/threads/t")).status_code == 200
    assert await deeds(assistant) == []
