"""People in the assistant's place over HTTP: who may, what a second one is told, and what the user's client gets."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from app.assistant import Assistant
from app.plugins.seat.paths import person
from app.plugins.seat.seats import Seats
from app.security.api_keys import Key
from app.testing.script import Script
from prompts import sentence
from tests.support.http_door import KEYS, OPERATOR, SHOP, by, served

SEAT, CALL, TURNS = "/threads/shop:t/seat", "/threads/t/call", "/threads/t/turns"


@pytest.fixture
async def keyed(assistant: Assistant) -> AsyncIterator[httpx.AsyncClient]:
    """Call a server with keys."""
    assistant.services.get(Seats).wait = 60
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as calling:
        yield calling


async def test_over_answer_and_back(keyed: httpx.AsyncClient, script: Script) -> None:
    """A client calls, a person takes over and answers, the client reads it in its memory, and the assistant is back."""
    script.add(supervisor=["Hello.", "On Monday."])
    user, operator = by(SHOP), by(OPERATOR)
    await keyed.post(TURNS, json={"text": "hi"}, headers=user)
    called = await keyed.post(CALL, json={"reason": "no lamp"}, headers=user)
    assert called.json() == {"called": True, "held_by": None}
    [seat] = (await keyed.get("/seats", headers=operator)).json()["seats"]
    assert (seat["thread"], seat["caller"], seat["reason"], seat["holder"]) == ("shop:t", "user", "no lamp", None)
    taken = await keyed.put(SEAT, json={}, headers=operator)
    assert taken.json()["holder"] == "ops"
    assert (await keyed.get("/threads/t", headers=user)).json()["held_by"] == "ops"
    turn = (await keyed.post(TURNS, json={"text": "my lamp is broken"}, headers=user)).json()
    assert turn["message"] == ""
    assert turn["events"][-1]["held_by"] == "ops"
    for _ in range(2):
        answer = await keyed.post(f"{SEAT}/messages", json={"text": "It comes.", "id": "1"}, headers=operator)
        assert answer.json()["metadata"]["source"] == "person"
    other = await keyed.post(f"{SEAT}/messages", json={"text": "Else.", "id": "1"}, headers=operator)
    assert other.status_code == 409
    back = await keyed.request("DELETE", SEAT, json={"note": "a new lamp"}, headers=operator)
    assert back.json() == {"handed_back": True}
    assert (await keyed.get("/seats", headers=operator)).json() == {"seats": []}
    memory = (await keyed.get("/threads/t/memory", headers=user)).json()["contents"]
    assert [entry["content"] for entry in memory] == [
        *("hi", "Hello.", sentence("seat/phrases", "taken", "en", name="ops")),
        *("my lamp is broken", "It comes.", sentence("seat/phrases", "back", "en")),
    ]
    assert (await keyed.post(TURNS, json={"text": "when?"}, headers=user)).json()["message"] == "On Monday."
    assert "a new lamp" in script.asked[-1].messages[-1].text


async def test_who_may(keyed: httpx.AsyncClient, script: Script) -> None:
    """Only keys that operate see and take seats; a second person is refused with the first one's name."""
    script.add(supervisor=["Hello."])
    user, operator = by(SHOP), by(OPERATOR)
    await keyed.post(TURNS, json={"text": "hi"}, headers=user)
    requests = [("GET", "/seats"), ("PUT", SEAT), ("DELETE", SEAT), ("POST", f"{SEAT}/messages")]
    for method, path in requests:
        assert (await keyed.request(method, path, json={"text": "x"}, headers=user)).status_code == 403
    assert (await keyed.put("/threads/nobody/seat", json={}, headers=operator)).status_code == 404
    assert (await keyed.put(SEAT, json={"operator": "Anna"}, headers=operator)).status_code == 200
    refused = await keyed.put(SEAT, json={"operator": "Ben"}, headers=operator)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert "Anna holds" in refused.json()["error"]["message"]
    forced = await keyed.put(SEAT, json={"operator": "Ben", "force": True}, headers=operator)
    assert forced.json()["holder"] == "Ben"


def test_who_a_person_is() -> None:
    """Keys tell people apart; of one key, the names that are given. A name is no proof of a key."""
    first, second = (Key(name, frozenset(), SecretStr("x")) for name in ("ann", "ben"))
    people = [person(first), person(first, "ben"), person(second), person(second, "ann"), person(first, "Anna")]
    assert [staff.name for staff in people] == ["ann", "ben", "ben", "ann", "Anna"]
    assert len({staff.id for staff in people}) == len(people)
    assert person(first, "ann") == person(first)


async def test_the_user_may_leave(keyed: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """The user takes a call back, or the assistant back; a call without a person to call is refused."""
    script.add(supervisor=["Hello."])
    user = by(SHOP)
    await keyed.post(TURNS, json={"text": "hi"}, headers=user)
    await keyed.post(CALL, json={}, headers=user)
    for ended in (True, False):
        assert (await keyed.delete(CALL, headers=user)).json() == {"ended": ended}
    await keyed.put(SEAT, json={}, headers=by(OPERATOR))
    assert (await keyed.delete(CALL, headers=user)).json() == {"ended": True}
    assert (await keyed.get("/threads/t", headers=user)).json()["held_by"] is None
    assistant.services.get(Seats).wait = 0
    assert (await keyed.post(CALL, json={}, headers=user)).status_code == 409


async def test_the_list_has_pages_and_a_search(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page ends with a link to the earlier conversations; each page has the callers, and words are found."""
    monkeypatch.setattr("app.plugins.seat.page.MOST_LISTED", 2)
    assistant.services.get(Seats).wait = 60
    script.add(supervisor=["Hello."] * 4)
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        for number in range(4):
            await client.post(f"/threads/t{number}/turns", json={"text": f"lamp number {number}"})
        await client.post("/threads/t0/call", json={"reason": "no lamp"})

        async def rows(**asked: str) -> list[str]:
            return re.findall(r"lamp number \d|before=\d+", (await client.get("/seat/list", params=asked)).text)

        first = ["lamp number 0", "lamp number 3", "lamp number 2"]
        assert (await rows())[:-1] == first
        place = (await rows())[-1].partition("=")[2]
        assert await rows(before=place) == ["lamp number 0", "lamp number 1"]
        assert await rows(query="number 1") == ["lamp number 0", "lamp number 1"]
