"""The stream of a thread's events: each one once, also after a restart; its holders, and its end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from agents.toolkit.questions.options import YES
from app.assistant import Assistant
from app.doors.http import events as event_routes
from app.doors.http.pages.guard import COOKIE
from app.testing.script import Call, Script
from prompts import sentence
from tests.support import takeover
from tests.support.http_door import KEYS, OPERATOR, OTHER, SHOP, by, served
from tests.support.scripted_assistant import ROLES, stage
from tests.support.until import until

EVENTS, TURNS, SAY = (f"/threads/ann/{path}" for path in ("events", "turns", "say"))
Reading = AsyncIterator[dict[str, Any]]


@asynccontextmanager
async def listening(client: httpx.AsyncClient, path: str = EVENTS, **headers: str) -> AsyncIterator[Reading]:
    """Hold a stream open during the block."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.stream("GET", path, headers=named) as response:
        assert response.status_code == 200, await response.aread()
        lines = response.aiter_lines()
        assert await anext(lines) == ": open"

        async def events() -> Reading:
            event: dict[str, Any] = {}
            async for line in lines:
                if line.startswith("data: "):
                    event = json.loads(line.removeprefix("data: "))
                elif line.startswith("id: "):
                    assert int(line.removeprefix("id: ")) == event["seq"]
                    yield event

        yield events()


async def next_of(events: Reading, count: int) -> list[str]:
    """Return the next events of a stream, each in a word."""
    got = [await asyncio.wait_for(anext(events), 120) for _ in range(count)]
    return [f"{event['type']} {event.get('text', event.get('prompt', event.get('dialog')))}" for event in got]


async def test_a_turn_and_what_is_said_unasked(client: httpx.AsyncClient, script: Script) -> None:
    """A stream has the turns of its thread and the sentences between them, in their order."""
    script.add(supervisor=["Hello.", "Fine."])
    await client.post(TURNS, json={"text": "before"})
    async with listening(client) as events:
        told = (await client.post(SAY, json={"text": "The shop closes at six.", "id": "s"})).json()["event"]
        said = await asyncio.wait_for(anext(events), 120)
        assert said == told
        assert (said["seq"] > 0, said["turn"]) == (True, 1)
        await client.post("/threads/bob/say", json={"text": "Elsewhere."})
        await client.post(TURNS, json={"text": "hello"})
        assert await next_of(events, 3) == ["turn.start hello", "message Fine.", "turn.end None"]


@pytest.mark.needs("planner")
async def test_a_question_of_a_tool(client: httpx.AsyncClient, script: Script) -> None:
    """A question comes with its options, before its words, and the turn ends waiting."""
    planner = [Call("add_todos", {"items": ["milk", "tea"]}), Call("delete_todos", {"numbers": [1, 2]})]
    script.add(supervisor=[Call("plan_things", {"brief": "list"})], planner=planner)
    async with listening(client) as events:
        await client.post(TURNS, json={"text": "no list"})
        got = [await asyncio.wait_for(anext(events), 120)]
        while got[-1]["type"] != "turn.end":
            got.append(await asyncio.wait_for(anext(events), 120))
    question = next(event for event in got if event["type"] == "interrupt")
    assert [option["id"] for option in question["options"]][:1] == [YES]
    assert got[got.index(question) + 1]["shown"]
    assert (got[-1]["waiting"], got[-1]["dialog"]) == (True, "planner")


async def test_nothing_is_lost_or_doubled_at_any_cut(assistant: Assistant, script: Script) -> None:
    """A client that reconnects after any event gets exactly the rest, from another process as well."""
    script.add(supervisor=["Hello.", "Fine."])
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        await client.post(TURNS, json={"text": "hello"})
        await client.post(SAY, json={"text": "Between."})
        await client.post(TURNS, json={"text": "how are you?"})
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        async with listening(client, last_event_id="0") as events:
            whole = [await asyncio.wait_for(anext(events), 120) for _ in range(7)]
        assert [event["type"] for event in whole[:4]] == ["turn.start", "message", "turn.end", "message"]
        for place, event in enumerate(whole[:-1]):
            async with listening(client, last_event_id=str(event["seq"])) as events:
                rest = [await asyncio.wait_for(anext(events), 120) for _ in whole[place + 1 :]]
            assert rest == whole[place + 1 :]


@pytest.mark.needs("seat")
async def test_a_person_and_an_end(assistant: Assistant, script: Script) -> None:
    """An operator's words come with their name; the stream ends when the thread is forgotten."""
    script.add(supervisor=["Hello."])
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        await client.post(TURNS, json={"text": "hi"}, headers=by(SHOP))
        async with listening(client, **by(SHOP)) as events:
            await takeover.take(assistant, "shop:ann")
            await takeover.say(assistant, "shop:ann", "I am here.")
            taken = sentence("seat/phrases", "taken", "en", name="Anna")
            assert await next_of(events, 2) == [f"message {taken}", "message I am here."]
            await client.delete("/threads/ann", headers=by(SHOP))
            assert [event async for event in events] == []
        assert await takeover.seats(assistant).due(10**15, None, "*") == []


async def test_another_process_forgets_the_thread(
    assistant: Assistant, client: httpx.AsyncClient, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream ends at its next sign of life; one of a thread in which nothing was said yet stays."""
    monkeypatch.setattr(event_routes, "ALIVE_EVERY", 0.05)
    script.add(supervisor=["Hello."])
    await client.post(TURNS, json={"text": "hello"})
    async with listening(client) as events, client.stream("GET", "/threads/bob/events") as other:
        assert assistant.memory.storage.path
        async with stage(assistant.memory.storage.path, script.models(ROLES)) as elsewhere:
            assert await elsewhere.forgetting.thread("ann")
        assert [event async for event in events] == []
        lines = other.aiter_lines()
        assert [await anext(lines) for _ in range(12)].count(": still here") > 1


@pytest.mark.needs("page")
async def test_who_may_listen(assistant: Assistant, script: Script) -> None:
    """A key or the session of a browser opens a stream of its own threads; signing out ends it, and others stay."""
    script.add(supervisor=["Hi.", "Hello."])
    page = {"HX-Request": "true"}
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        assert (await client.get(EVENTS)).status_code == 401
        assert (await client.get(EVENTS, headers=by("w" * 20))).status_code == 401
        assert (await client.get(EVENTS, headers=by(SHOP) | {"Last-Event-ID": "x"})).status_code == 422
        assert (await client.get(EVENTS, headers=by(SHOP) | {"Origin": "http://evil.example"})).status_code == 403
        await client.post(TURNS, json={"text": "hello"}, headers=by(OTHER))
        await client.post("/sign-in", data={"key": SHOP}, headers=page)
        assert client.cookies[COOKIE]
        async with listening(client) as events, listening(client, **by(OTHER)) as others:
            await client.post(TURNS, json={"text": "hi"}, headers=by(SHOP))
            assert await next_of(events, 2) == ["turn.start hi", "message Hello."]
            await client.post("/sign-out", headers=page)
            assert [event["type"] async for event in events] == ["turn.end"]
            await client.post("/threads/other:ann/say", json={"text": "Still here."}, headers=by(OPERATOR))
            assert await next_of(others, 1) == ["message Still here."]
        assert (await client.get(EVENTS)).status_code == 401


async def test_streams_are_bounded(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """One holder has so many streams and no more; one that was closed makes room."""
    monkeypatch.setattr(event_routes, "MOST_OF_HOLDER", 1)
    async with listening(client):
        refused = await client.get(EVENTS)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")

    async def has_room() -> bool:
        with suppress(AssertionError):
            async with listening(client):
                return True
        return False

    await until(has_room)


async def test_what_is_due_rings_while_a_stream_is_open(assistant: Assistant, client: httpx.AsyncClient) -> None:
    """A notice waits until somebody listens to its thread, rings there once, and is told to nobody else."""
    notices = assistant.memory.notices
    await notices.add("ann", "ann", "n1", text="The pasta is done.", lang="en")
    await notices.add("bob", "bob", "n2", text="Tea.", lang="en")
    for _ in "12":
        async with listening(client, last_event_id="0") as events:
            assert await next_of(events, 1) == ["message ⏰ The pasta is done."]
            await client.post(SAY, json={"text": "Said.", "id": "s"})
            assert await next_of(events, 1) == ["message Said."]
    due = await notices.due(int(datetime.now(UTC).timestamp() * 1000), None, "*")
    assert [notice.user for notice in due] == ["bob"]


async def test_a_stream_without_a_number(assistant: Assistant, script: Script) -> None:
    """A client that has no event yet may send an empty number; it hears what comes from now on."""
    script.add(supervisor=["Hello."])
    async with (
        served(assistant) as url,
        httpx.AsyncClient(base_url=url, timeout=300) as client,
        listening(client, last_event_id="") as events,
    ):
        await client.post(TURNS, json={"text": "hi"})
        assert await next_of(events, 2) == ["turn.start hi", "message Hello."]


async def test_a_number_that_no_event_has(client: httpx.AsyncClient) -> None:
    """It is refused before a stream begins, which would break off in the reading."""
    answer = await client.get("/threads/x/events", headers={"Last-Event-ID": "9" * 30})
    assert answer.status_code == 422
