"""The memory of a talk is the same through whichever door it went, and for whoever reads it."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from langchain_core.messages import ToolMessage

from agents.memory.preferences import Preferences
from app.assistant import Assistant, Turn
from app.cli.threads import history
from app.doors.telegram import flood_control, service
from app.doors.telegram.bot import ServiceBot
from app.doors.telegram.updates import incoming
from app.settings import Settings
from app.testing.script import Call, Script
from prompts import phrase, table
from tests.support.telegram_people import ANN
from tests.support.telegram_server import BotApi

TALK = ("add milk to my list", "thanks")


def comparable(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without what belongs to one door: times, ids of messages, and names of users."""
    own = ("timestamp", "message_id", "speaker", "metadata")
    return [
        {name: value for name, value in content.items() if name not in own}
        | {"by": "user" if content["role"] == "user" else content["speaker"]}
        | {"metadata": {name: value for name, value in content["metadata"].items() if name != "user"}}
        for content in contents
    ]


@pytest.mark.needs("planner")
async def test_every_door_keeps_the_same_memory(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A talk over HTTP and the same in Telegram leave the same memory; HTTP and `history --json` read it alike."""
    monkeypatch.setattr(flood_control, "PRIVATE", (1000.0, 1000.0))
    monkeypatch.setattr(incoming, "WINDOW", 0)
    monkeypatch.setattr(Preferences, "busy", "queue")
    for name, value in {"DATABASE_URL": f"sqlite:///{tmp_path / 'dialogs.db'}", "LLM_MODEL": "local:rules"}.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):
        script.add(
            supervisor=[Call("plan_things", {"brief": "list"})],
            planner=[Call("add_todos", {"items": ["milk"]}), "Noted.", "You are welcome."],
        )
    for text in TALK:
        await client.post("/threads/ann/turns", json={"text": text})
    world, everybody = BotApi(), Settings.model_validate({"_env_file": None, "telegram_allowed_users": "*"})
    async with (
        world.serving(),
        service.open_door(assistant, ServiceBot(world.issued, world.url), everybody),
    ):
        for number, text in enumerate(TALK, 1):
            world.says(ANN, text)
            await world.until_sent(ANN, number)
    [thread] = [info.thread for info in await assistant.threads() if info.thread != "ann"]
    memories = {}
    for name in ("ann", thread):
        memories[name] = (await client.get(f"/threads/{quote(name, safe='')}/memory")).json()["contents"]
        result = await history(name)
        assert result.object == {"thread": name, "contents": memories[name]}
    assert comparable(memories[thread]) == comparable(memories["ann"])
    assert [content["content"] for content in memories["ann"]] == [TALK[0], "Noted.", TALK[1], "You are welcome."]


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
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/agui", "/a2a"])
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
