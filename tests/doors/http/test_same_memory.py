"""The memory of a talk is the same through whichever door it went, and for whoever reads it."""

import json
import re
from typing import Any

import httpx
import pytest
from langchain_core.messages import ToolMessage

from app.assistant import Assistant, Turn
from app.testing.script import Call, Script
from prompts import phrase, table


@pytest.mark.needs("agui", "a2a", "openai_api", "page")
async def test_every_door_tells_what_a_stop_left_unanswered(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """A client that knows only texts reads it before the answer, like everybody else."""

    async def leave(thread: str, user: str | None = None) -> None:
        script.add(supervisor=["Fine."])
        async for _ in assistant.play(Turn(thread=thread, text="what is\nnew", user=user)):
            await assistant.stop(thread)

    async def heard(body: dict[str, Any], path: str, **headers: str) -> str:
        await leave("ann")
        return (await client.post(path, json=body, headers=headers)).text

    remark = phrase("left_unanswered", "en", text="what is new")
    message = {"role": "user", "content": "and you?"}
    completion = {"model": "dialog-supervisor", "messages": [message]}
    run = {"threadId": "ann", "runId": "r1", "messages": [{"id": "m1", **message}]}
    parts = {"messageId": "m2", "contextId": "ann", "role": "ROLE_USER", "parts": [{"text": "and you?"}]}
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": parts}}

    assert remark in json.loads(await heard({"text": "and you?"}, "/threads/ann/turns"))["events"][1]["message"]
    answer = json.loads(await heard(completion, "/v1/chat/completions", **{"X-Thread-Id": "ann"}))
    assert answer["choices"][0]["message"]["content"] == f"{remark}\n\nFine."
    frames = [json.loads(frame) for frame in re.findall("data: (.*)", await heard(run, "/agui"))]
    assert next(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT") == remark
    task = json.loads(await heard(rpc, "/a2a", **{"A2A-Version": "1.0"}))["result"]["task"]
    assert [artifact["parts"][0]["text"] for artifact in task["artifacts"]] == [remark, "Fine."]
    await leave("day", "local")
    said = {"text": "and you?", "id": "message-1"}
    assert (await client.post("/talk/day/messages", data=said, headers={"HX-Request": "true"})).status_code == 200
    assert remark in (await client.get("/talk/day/answer", params={"id": "message-1"})).text


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/v1/chat/completions", marks=pytest.mark.needs("openai_api")),
        pytest.param("/agui", marks=pytest.mark.needs("agui")),
        pytest.param("/a2a", marks=pytest.mark.needs("a2a")),
    ],
)
async def test_where_nothing_rings_no_reminder_is_set(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, path: str
) -> None:
    """The tool says beforehand that it cannot, and the model can tell the user so."""
    reminders = pytest.importorskip("dialogs.planner.store").Reminders
    message = {"role": "user", "content": "wake me"}
    parts = {"messageId": "m2", "contextId": "ann", "role": "ROLE_USER", "parts": [{"text": "wake me"}]}
    bodies = {
        "/v1/chat/completions": {"model": "dialog-supervisor", "messages": [message]},
        "/agui": {"threadId": "ann", "runId": "r1", "messages": [{"id": "m1", **message}]},
        "/a2a": {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": parts}},
    }
    wake = Call("add_reminder", {"when": "tomorrow at 7"})
    script.add(supervisor=[Call("plan_things", {"brief": "wake"})], planner=[wake, "I cannot."])
    answer = await client.post(path, json=bodies[path], headers={"X-Thread-Id": "ann", "A2A-Version": "1.0"})
    assert answer.status_code == 200, answer.text
    results = [message.text for message in script.asked[-1].messages if isinstance(message, ToolMessage)]
    assert table("planner/phrases", "en")["reminders_nowhere"] in results[-1]
    assert await assistant.services.get(reminders).live("ann") == []
