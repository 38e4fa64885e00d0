"""An operator lets the assistant speak."""

import asyncio

import httpx
import pytest

from app.assistant import Assistant
from app.testing.script import Script
from tests.support.http_door import KEYS, OPERATOR, SHOP, by, events_of, served
from tests.support.scripted_assistant import Gate, script_lines
from tests.support.user_words import spoken

HELLO = {"text": "hello"}


async def test_an_operator_lets_the_assistant_speak(assistant: Assistant, script: Script) -> None:
    """A sentence is said once and known to whoever speaks next; only an operator may have it said."""
    script.add(supervisor=["Hello.", "Yes, so it is."])
    async with (
        served(assistant, KEYS) as url,
        httpx.AsyncClient(base_url=url, headers=by(OPERATOR), timeout=300) as client,
    ):
        await client.post("/threads/ann/turns", json=HELLO)
        words = {"text": "We close at six.", "id": "s"}
        responses = [await client.post("/threads/ann/say", json=words) for _ in "12"]
        assert {response.json()["event"]["text"] for response in responses} == {"We close at six."}
        await client.post("/threads/ann/turns", json={"text": "really?"})
        memory = (await client.get("/threads/ann/memory")).json()["contents"]
        assert [line["metadata"]["source"] for line in memory if line["content"] == "We close at six."] == ["command"]
        assert spoken(script.asked[-1].messages) == ["hello", "Hello.\n\nWe close at six.", "really?"]
        refused = await client.post("/threads/x/say", json=words, headers=by(SHOP))
        assert refused.status_code == 403


@pytest.mark.parametrize(
    ("running", "lines"),
    [
        ("stop", ["user: count", "supervisor: One two ^C", "supervisor: Stop!"]),
        ("skip", ["user: count", "supervisor: One two three four"]),
        ("wait", ["user: count", "supervisor: One two three four", "supervisor: Stop!"]),
    ],
)
async def test_what_becomes_of_a_running_answer(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, running: str, lines: list[str]
) -> None:
    """A sentence stops the answer that is being made, waits for it, or is left out."""
    script.gates["supervisor"] = gate = Gate(1)
    script.add(supervisor=["One two three four"])
    asked = {"json": {"text": "count"}, "headers": {"accept": "text/event-stream"}}
    async with client.stream("POST", "/threads/ann/turns", **asked) as response:  # type: ignore[arg-type]
        async for event in events_of(response):
            if event["type"] == "token" and "two" in event["text"]:
                saying = asyncio.create_task(
                    client.post("/threads/ann/say", json={"text": "Stop!", "running": running})
                )
                if running != "wait":
                    await saying
                gate.set()
    assert (await saying).json()["said"] is (running != "skip")
    assert await script_lines(assistant, "ann") == lines
