"""Conversations over HTTP: turns, questions, stops, undo, and what is kept of a thread."""

import asyncio
import json
from collections.abc import Collection
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import httpx
import pytest

from app.assistant import Assistant
from app.doors.http import answers
from app.testing.script import Call, Script
from tests.support.http_door import events_of, served, streamed
from tests.support.scripted_assistant import MILK_AND_TEA, Gate, script_lines
from tests.support.simulated_time import advance
from tests.support.until import until

JSON = {"content-type": "application/json"}
STREAM = {"accept": "text/event-stream"}
TURNS = "/threads/ann/turns"


async def stopped_lines(assistant: Assistant) -> list[str]:
    """Wait until the last answer of the thread was stopped; return the transcript."""

    async def is_stopped() -> bool:
        # Nobody comes back in time.
        advance(answers.RECONNECT)
        lines = await script_lines(assistant, "ann")
        return bool(lines) and lines[-1].endswith("^C")

    await until(is_stopped)
    return await script_lines(assistant, "ann")


async def test_a_turn_whole_and_as_a_stream(client: httpx.AsyncClient, script: Script) -> None:
    """A stream has the events that the whole outcome lists, each with its number."""
    script.add(supervisor=["Hello there.", "Fine."])
    outcome = (await client.post(TURNS, json={"text": "hello", "id": "1"})).json()
    assert outcome["message"] == "Hello there."
    assert [event["type"] for event in outcome["events"]][:1] == ["turn.start"]
    assert outcome["events"][-1]["type"] == "turn.end"

    events = await streamed(client, TURNS, {"text": "how are you?", "id": "2"})
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    assert {(event["v"], event["thread"], event["turn"]) for event in events} == {(1, "ann", 2)}
    assert "".join(event["text"] for event in events if event["type"] == "token") == "Fine."


async def test_the_same_id_repeats_the_outcome(client: httpx.AsyncClient, script: Script) -> None:
    """A message that comes again does nothing twice; the same id with another text is refused."""
    script.add(supervisor=["Hello."])
    first = await client.post(TURNS, json={"text": "hello", "id": "m"})
    again = await client.post(TURNS, json={"text": "hello"}, headers={"Idempotency-Key": "m"})
    assert first.json()["message"] == again.json()["message"] == "Hello."
    assert first.headers["x-message-id"] == again.headers["x-message-id"] == "m"
    other = await client.post(TURNS, json={"text": "good bye", "id": "m"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")


async def test_a_message_that_was_not_stored_can_come_again(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure of the database the user reads to send the message again; the same id then gets an answer."""
    script.add(supervisor=["Hello."])
    with monkeypatch.context() as patched:
        patched.setattr(assistant.memory.storage, "check", Mock(side_effect=FileNotFoundError("gone")))
        failed = (await client.post(TURNS, json={"text": "hello", "id": "m"})).json()
    assert [event["code"] for event in failed["events"] if event["type"] == "error"] == ["storage"]
    assert (await client.post(TURNS, json={"text": "hello", "id": "m"})).json()["message"] == "Hello."


async def test_a_forgotten_answer_is_not_told(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """The same id after the thread was forgotten, here or elsewhere, is a new message."""
    script.add(supervisor=["The code is 4711.", "Which code?"])
    await client.post(TURNS, json={"text": "the code?", "id": "m"})
    await assistant.forgetting.thread("ann")
    assert (await client.post(TURNS, json={"text": "the code?", "id": "m"})).json()["message"] == "Which code?"


async def test_an_answer_belongs_to_its_user(client: httpx.AsyncClient, script: Script) -> None:
    """Somebody else in the thread who sends the same id and text does not read the answer."""
    script.add(supervisor=["The code is 4711."])
    await client.post(TURNS, json={"text": "the code?", "id": "m", "user": "ann"})
    other = await client.post(TURNS, json={"text": "the code?", "id": "m", "user": "bob"})
    assert other.status_code == 409
    assert "4711" not in other.text


@pytest.mark.parametrize(("raw", "kept"), [("he\0llo", "hello"), ("hello \ud800", "hello \ufffd")])
async def test_a_text_that_is_cleaned_can_come_again(
    client: httpx.AsyncClient, script: Script, raw: str, kept: str
) -> None:
    """Characters that the database does not keep do not make a text another message."""
    script.add(supervisor=["Hello."])
    for text in (raw, kept, raw):
        answer = await client.post(TURNS, content=json.dumps({"text": text, "id": "m"}), headers=JSON)
        assert (answer.json()["message"], answer.json()["events"][0]["text"]) == ("Hello.", kept)


@pytest.mark.needs("planner")
async def test_a_question_is_answered(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """The state has a tool's question; an answer counts once, for its own question."""
    script.add(**MILK_AND_TEA)
    await client.post(TURNS, json={"text": "add milk and tea"})
    asked = await streamed(client, TURNS, {"text": "delete both"})
    [question] = [event for event in asked if event["type"] == "interrupt"]
    assert (await client.get("/threads/ann")).json()["pending"][0]["id"] == question["id"]

    answers = "/threads/ann/answers"
    wrong = await client.post(answers, json={"choose": "perhaps tomorrow"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")
    stale = await client.post(answers, json={"choose": "yes", "question": "another"})
    assert stale.status_code == 409
    done = [await client.post(answers, json={"choose": "yes", "question": question["id"], "id": "a"}) for _ in "12"]
    assert [response.json()["message"] for response in done] == ["Deleted.", "Deleted."]
    assert (
        (await client.post(answers, json={"choose": "yes"})).json()["error"]["message"].startswith("Nothing is asked")
    )


@pytest.mark.needs("planner")
async def test_undo(client: httpx.AsyncClient, script: Script) -> None:
    """The last write is taken back."""
    script.add(
        supervisor=[Call("plan_things", {"brief": "list"})], planner=[Call("add_todos", {"items": ["milk"]}), "Noted."]
    )
    await client.post(TURNS, json={"text": "add milk"})
    undone = await client.post("/threads/ann/undo", json={})
    assert "milk" in undone.json()["message"]


async def test_a_client_that_comes_back_gets_the_rest(client: httpx.AsyncClient, script: Script) -> None:
    """A stream that was lost goes on behind the last event that arrived, while the answer is still made."""
    script.gates["supervisor"] = gate = Gate(2)
    script.add(supervisor=["One two three four"])
    body, seen = {"text": "count", "id": "m"}, 0
    async with client.stream("POST", TURNS, json=body, headers=STREAM) as response:
        async for event in events_of(response):
            seen = event["seq"]
            if event["type"] == "token":
                break
    again = {**STREAM, "last-event-id": str(seen)}
    async with client.stream("POST", TURNS, json=body, headers=again) as response:
        gate.set()
        rest = [event async for event in events_of(response)]
    assert next(event["seq"] for event in rest) == seen + 1
    assert [event["text"] for event in rest if event["type"] == "message"] == ["One two three four"]


async def test_a_client_that_comes_back_after_a_restart(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """The server that answers now numbers the events anew, so the number of the other one skips none of them."""
    script.add(supervisor=["One two three four"])
    body = {"text": "count", "id": "m"}
    before = await streamed(client, TURNS, body)
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as restarted:
        rest = await streamed(restarted, TURNS, body, last_event_id=str(before[-1]["seq"]))
        end = await streamed(restarted, TURNS, body, last_event_id=str(rest[-2]["seq"]))
        assert await streamed(restarted, TURNS, body, last_event_id=str(end[-1]["seq"])) == []
    assert [event["text"] for event in rest if event["type"] == "message"] == ["One two three four"]
    assert end == rest[-1:]


async def test_whoever_goes_stops_the_answer(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """An answer that nobody reads any more ends with what was shown."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    async with client.stream("POST", TURNS, json={"text": "count"}, headers=STREAM) as response:
        async for event in events_of(response):
            if event["type"] == "token" and "two" in event["text"]:
                break
    assert await stopped_lines(assistant) == ["user: count", "supervisor: One two ^C"]


async def test_whoever_goes_before_a_whole_answer_stops_it(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """An answer that is given whole is stopped like a stream when its client goes."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    asking = asyncio.create_task(client.post(TURNS, json={"text": "count"}))
    await until(lambda: script.asked)
    asking.cancel()
    heard, answer = await stopped_lines(assistant)
    assert (heard, "four" in answer) == ("user: count", False)


async def test_an_answer_is_cancelled(client: httpx.AsyncClient, script: Script) -> None:
    """A stop ends the stream with what was said so far; where nothing runs, nothing is stopped."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    messages: list[str] = []
    async with client.stream("POST", TURNS, json={"text": "count"}, headers=STREAM) as response:
        async for event in events_of(response):
            if event["type"] == "token" and "two" in event["text"]:
                assert (await client.post("/threads/ann/cancel", json={})).json() == {"stopped": True}
            messages += [event["text"]] if event["type"] == "message" else []
    assert messages == ["One two"]
    assert (await client.post("/threads/ann/cancel", json={})).json() == {"stopped": False}


@pytest.mark.parametrize("name", ["a/memory", "/", "a%2Fb", "Ж/ж"])
async def test_a_name_with_a_slash(client: httpx.AsyncClient, assistant: Assistant, script: Script, name: str) -> None:
    """A thread is reached by its name, percent-encoded, whatever stands in it; so is its user."""
    script.add(supervisor=["Hello."])
    path, encoded = f"/threads/{quote(name, safe='')}", quote(name, safe="")
    answer = await client.post(f"{path}/turns", json={"text": "hello"})
    assert {event["thread"] for event in answer.json()["events"]} == {name}
    assert (await client.get(path)).json()["thread"] == name
    assert len((await client.get(f"{path}/memory")).json()["contents"]) == 2
    assert (await client.get(f"/users/{encoded}/memory")).json()["user"] == name
    assert [info.thread for info in await assistant.threads(name)] == [name]
    assert (await client.delete(path)).json() == {"forgotten": True}


async def test_what_a_plugin_fails_to_delete_is_an_error(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """The caller reads that something is left, and all else is gone."""

    async def fail(thread: str, users: Collection[str]) -> None:
        raise OSError("the disk is full")

    script.add(supervisor=["Hello."])
    await client.post(TURNS, json={"text": "hello"})
    assistant.memory.erasers.append(fail)
    answer = await client.delete("/threads/ann")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "undeleted")
    assert await assistant.history("ann") == []


async def test_what_is_kept_of_a_thread(client: httpx.AsyncClient, script: Script) -> None:
    """Threads are listed, read, exported and forgotten."""
    script.add(supervisor=["Hello."])
    await client.post(TURNS, json={"text": "hello"})
    [info] = (await client.get("/threads")).json()["threads"]
    assert (info["thread"], info["turns"]) == ("ann", 1)
    memory = (await client.get("/threads/ann/memory")).json()["contents"]
    assert [(content["role"], content["content"]) for content in memory] == [("user", "hello"), ("assistant", "Hello.")]
    assert (await client.get("/threads/ann/export", params={"form": "json"})).json()["contents"] == memory
    assert "Hello." in (await client.get("/threads/ann/export")).text
    assert (await client.delete("/threads/ann")).json() == {"forgotten": True}
    gone = [await client.get(f"/threads/ann{path}") for path in ("", "/memory", "/export")]
    assert [response.status_code for response in [*gone, await client.delete("/threads/ann")]] == [404] * 4


async def test_threads_by_the_page(client: httpx.AsyncClient, script: Script) -> None:
    """`limit` bounds a page, `next` leads to the one behind it, `query` asks for words; without them one page comes."""
    script.add(supervisor=["Hello."] * 3)
    for name in ("ann", "bob", "cid"):
        await client.post(f"/threads/{name}/turns", json={"text": f"I am {name}"})

    async def page(**asked: Any) -> tuple[list[str], object]:
        listed = (await client.get("/threads", params=asked)).json()
        return [info["thread"] for info in listed["threads"]], listed["next"]

    assert await page() == (["cid", "bob", "ann"], None)
    first, place = await page(limit=2)
    assert (first, await page(limit=2, before=place)) == (["cid", "bob"], (["ann"], None))
    assert await page(query="i AM bob") == (["bob"], None)
    assert await page(user="ann") == (["ann"], None)
    for wrong in ({"limit": 0}, {"limit": 5000}, {"before": -1}, {"query": "x" * 300}):
        assert (await client.get("/threads", params=wrong)).status_code == 422


TURN = (TURNS, {"text": "hello"})
COMPLETION = (
    "/v1/chat/completions",
    {"model": "dialog-supervisor", "messages": [{"role": "user", "content": "a title"}]},
)


@pytest.mark.parametrize(("path", "body"), [TURN, pytest.param(*COMPLETION, marks=pytest.mark.needs("openai_api"))])
async def test_what_is_too_much_is_told_when_to_come_again(
    client: httpx.AsyncClient, assistant: Assistant, path: str, body: object
) -> None:
    """Whatever begins a turn is answered 503 with Retry-After while the process takes on no more."""
    queue = assistant.queue
    queue.at_once, queue.most_waiting = 1, 0
    with queue.taken("somebody"):
        refused = await client.post(path, json=body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert refused.json()["error"]["code"] == "busy"
        assert "turns_waiting 0.0" in (await client.get("/metrics")).text
