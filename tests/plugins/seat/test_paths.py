"""People in the assistant's place over HTTP: who they are, their list, and what the user's client gets."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from app.assistant import Assistant
from app.plugins.seat.page import person
from app.plugins.seat.seats import Seats
from app.security.api_keys import Key
from app.testing.script import Script
from prompts import sentence
from tests.support import takeover
from tests.support.http_door import KEYS, SHOP, by, calling

TURNS = "/threads/t/turns"


@pytest.fixture
async def keyed(assistant: Assistant) -> AsyncIterator[httpx.AsyncClient]:
    """Call a server with keys."""
    assistant.services.get(Seats).wait = 60
    async with calling(assistant, KEYS) as client:
        yield client


async def test_over_answer_and_back(keyed: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """A person takes over and answers; the user's client is told, and reads it in its memory; the assistant is back."""
    script.add(supervisor=["Hello.", "On Monday."])
    user = by(SHOP)
    await keyed.post(TURNS, json={"text": "hi"}, headers=user)
    await takeover.take(assistant, "shop:t")
    assert (await keyed.get("/threads/t", headers=user)).json()["held_by"] == "Anna"
    turn = (await keyed.post(TURNS, json={"text": "my lamp is broken"}, headers=user)).json()
    assert turn["message"] == ""
    assert turn["events"][-1]["held_by"] == "Anna"
    for _ in range(2):
        await takeover.say(assistant, "shop:t", "It comes.")
    await takeover.hand_back(assistant, "shop:t")
    memory = (await keyed.get("/threads/t/memory", headers=user)).json()["contents"]
    assert [entry["content"] for entry in memory] == [
        *("hi", "Hello.", sentence("seat/phrases", "taken", "en", name="Anna")),
        *("my lamp is broken", "It comes.", sentence("seat/phrases", "back", "en")),
    ]
    assert (await keyed.post(TURNS, json={"text": "when?"}, headers=user)).json()["message"] == "On Monday."


def test_who_a_person_is() -> None:
    """Keys tell people apart; of one key, the names that are given. A name is no proof of a key."""
    first, second = (Key(name, frozenset(), SecretStr("x")) for name in ("ann", "ben"))
    people = [person(first), person(first, "ben"), person(second), person(second, "ann"), person(first, "Anna")]
    assert [staff.name for staff in people] == ["ann", "ben", "ben", "ann", "Anna"]
    assert len({staff.id for staff in people}) == len(people)
    assert person(first, "ann") == person(first)


async def test_the_list_has_pages_and_a_search(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page ends with a link to the earlier conversations; each page has the callers, and words are found."""
    monkeypatch.setattr("app.plugins.seat.page.MOST_LISTED", 2)
    assistant.services.get(Seats).wait = 60
    script.add(supervisor=["Hello."] * 4)
    async with calling(assistant) as client:
        for number in range(4):
            await client.post(f"/threads/t{number}/turns", json={"text": f"lamp number {number}"})
        await assistant.services.get(Seats).call("t0", "t0", "en", "user", "no lamp")

        async def rows(**asked: str) -> list[str]:
            return re.findall(r"lamp number \d|before=\d+", (await client.get("/seat/list", params=asked)).text)

        first = ["lamp number 0", "lamp number 3", "lamp number 2"]
        assert (await rows())[:-1] == first
        place = (await rows())[-1].partition("=")[2]
        assert await rows(before=place) == ["lamp number 0", "lamp number 1"]
        assert await rows(query="number 1") == ["lamp number 0", "lamp number 1"]
