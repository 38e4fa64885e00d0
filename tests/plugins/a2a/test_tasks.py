"""A2A: the official client gives the assistant tasks."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from app.assistant import Assistant
from app.testing.script import Call, Script
from tests.support.http_door import KEYS, OTHER, SHOP, by, calling, served
from tests.support.scripted_assistant import Gate, script_lines

pytest.importorskip("a2a", reason="a2a-sdk is missing: make install")
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_artifact_text, get_message_text, new_data_part, new_text_message
from a2a.types import a2a_pb2 as types
from a2a.utils.errors import A2AError, ContentTypeNotSupportedError

BEGIN = Call("plan_things", {"brief": "list"})
ADD, DELETE = Call("add_todos", {"items": ["milk", "tea"]}), Call("delete_todos", {"numbers": [1, 2]})


@asynccontextmanager
async def peer(url: str, key: str = "") -> AsyncIterator[Client]:
    """Open the client of another agent."""
    headers = by(key) if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=300, trust_env=False) as transport:
        factory = ClientFactory(ClientConfig(httpx_client=transport, streaming=True))
        client = await factory.create_from_url(url)
        yield client
        await client.close()


async def told(client: Client, text: str, task: types.Task | None = None, id: str = "") -> list[types.StreamResponse]:
    """Send a message and return all that is told of its task."""
    message = new_text_message(text, role=types.Role.ROLE_USER)
    message.message_id = id or message.message_id
    message.context_id = task.context_id if task else "talk"
    message.task_id = task.id if task else ""
    return [event async for event in client.send_message(types.SendMessageRequest(message=message))]


async def task_of(client: Client, events: list[types.StreamResponse]) -> types.Task:
    """Return the task as it stands after these events."""
    first = events[0]
    id = first.task.id if first.HasField("task") else first.status_update.task_id
    return await client.get_task(types.GetTaskRequest(id=id))


def texts(task: types.Task) -> list[str]:
    """Return the artifacts that are texts."""
    return [text for artifact in task.artifacts if (text := get_artifact_text(artifact))]


@pytest.mark.needs("planner")
async def test_a_task(assistant: Assistant, script: Script) -> None:
    """A task streams its text and ends; a question waits for input, and the next message of the task answers it."""
    script.add(supervisor=[BEGIN], planner=[ADD, "Both are noted.", DELETE, "Both are gone."])
    async with served(assistant) as url, peer(url) as client:
        events = await told(client, "add milk and tea")
        task = await task_of(client, events)
        assert (texts(task), task.status.state) == (["Both are noted."], types.TASK_STATE_COMPLETED)
        pieces = [event.artifact_update for event in events if event.HasField("artifact_update")]
        assert [get_artifact_text(piece.artifact) for piece in pieces][-4:-1] == ["Both", " are", " noted."]

        task = await task_of(client, await told(client, "delete both"))
        assert task.status.state == types.TASK_STATE_INPUT_REQUIRED
        assert "milk" in get_message_text(task.status.message)
        task = await task_of(client, await told(client, "yes", task))
        assert (texts(task), task.status.state) == (["Both are gone."], types.TASK_STATE_COMPLETED)
    lines = await script_lines(assistant, "talk")
    assert [line for line in lines if line.startswith("user")] == [
        "user: add milk and tea",
        "user: delete both",
        "user: yes",
    ]


async def test_a_task_is_cancelled(assistant: Assistant, script: Script) -> None:
    """A cancelled task stops the answer; its text so far is kept."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    async with served(assistant) as url, peer(url) as client, peer(url) as other:
        message = new_text_message("count", role=types.Role.ROLE_USER)
        message.context_id = "talk"
        async for event in client.send_message(types.SendMessageRequest(message=message)):
            if event.HasField("artifact_update") and "two" in event.artifact_update.artifact.parts[0].text:
                id = event.artifact_update.task_id
                cancelled = await other.cancel_task(types.CancelTaskRequest(id=id))
                break
        assert cancelled.status.state == types.TASK_STATE_CANCELED
        assert texts(await other.get_task(types.GetTaskRequest(id=id))) == ["One two"]
    assert await script_lines(assistant, "talk") == ["user: count", "supervisor: One two ^C"]


async def test_a_client_that_leaves_its_task(assistant: Assistant, script: Script) -> None:
    """A task goes on without its client, which subscribes to it again, and may ask for it later."""
    script.gates["supervisor"] = gate = Gate(1)
    script.add(supervisor=["One two three four"])
    async with served(assistant) as url, peer(url) as client:
        message = new_text_message("count", role=types.Role.ROLE_USER)
        async for event in client.send_message(types.SendMessageRequest(message=message)):
            if event.HasField("artifact_update"):
                id = event.artifact_update.task_id
                break
        asyncio.get_running_loop().call_later(0.2, gate.set)
        rest = [event async for event in client.subscribe(types.SubscribeToTaskRequest(id=id))]
        assert rest[-1].status_update.status.state == types.TASK_STATE_COMPLETED
        assert texts(await client.get_task(types.GetTaskRequest(id=id))) == ["One two three four"]


async def test_a_failure(assistant: Assistant, script: Script) -> None:
    """A task whose answer fails is told as failed, in words for a user."""
    async with served(assistant) as url, peer(url) as client:
        task = await task_of(client, await told(client, "hello"))
        assert task.status.state == types.TASK_STATE_FAILED
        assert get_message_text(task.status.message)


@pytest.mark.needs("planner")
async def test_tasks_of_others(assistant: Assistant, script: Script) -> None:
    """Each key has tasks of its own; they are forgotten with their thread; without a key there is the card alone."""
    script.add(supervisor=["Hello."])
    async with served(assistant, KEYS) as url, peer(url, SHOP) as shop, peer(url, OTHER) as other:
        task = await task_of(shop, await told(shop, "hello"))
        assert (await shop.list_tasks(types.ListTasksRequest())).tasks[0].id == task.id
        assert not (await other.list_tasks(types.ListTasksRequest())).tasks
        async with httpx.AsyncClient(base_url=url, timeout=300) as nobody:
            card = (await nobody.get("/.well-known/agent-card.json")).json()
            assert "planner" in [skill["id"] for skill in card["skills"]]
            assert card["supportedInterfaces"][0]["url"] == f"{url}/a2a"
            assert (await nobody.post("/a2a", json={})).status_code == 401
            await nobody.delete("/threads/talk", headers=by(SHOP))
        assert not (await shop.list_tasks(types.ListTasksRequest())).tasks
    assert [info.thread for info in await assistant.threads()] == []


async def test_another_process_forgets_tasks(assistant: Assistant, script: Script) -> None:
    """It knows nothing of the server's memory; a task whose thread is gone is neither given nor listed."""
    script.add(supervisor=["Hello."])
    async with served(assistant) as url, peer(url) as client:
        task = await task_of(client, await told(client, "hello"))
        assert (await client.get_task(types.GetTaskRequest(id=task.id))).id == task.id
        assistant.memory.erasers.clear()
        await assistant.forgetting.thread(task.context_id)
        with pytest.raises(A2AError):
            await client.get_task(types.GetTaskRequest(id=task.id))
        assert not (await client.list_tasks(types.ListTasksRequest())).tasks


async def test_old_tasks_are_dropped(assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many tasks the oldest goes; its conversation stays."""
    monkeypatch.setattr("app.plugins.a2a.tasks.MOST_TASKS", 1)
    script.add(supervisor=["Hello.", "Hello again."])
    async with served(assistant) as url, peer(url) as client:
        for text in ("hello", "hello again"):
            await told(client, text)
        [task] = (await client.list_tasks(types.ListTasksRequest(include_artifacts=True))).tasks
        assert texts(task) == ["Hello again."]
    assert len(await assistant.history("talk")) == 4


async def test_parts_of_a_message(assistant: Assistant, script: Script) -> None:
    """Texts and data are heard together. A file would not be read: its message is refused, and not answered in part."""
    script.add(supervisor=["Hello."])
    message = new_text_message("order", role=types.Role.ROLE_USER)
    message.context_id = "talk"
    message.parts.append(new_data_part({"size": "L"}))
    refused = types.Message()
    refused.CopyFrom(message)
    refused.parts.add(raw=b"x", media_type="image/png")
    async with served(assistant) as url, peer(url) as client:
        for said in (refused, message):
            asked = client.send_message(types.SendMessageRequest(message=said))
            if said is refused:
                with pytest.raises(ContentTypeNotSupportedError, match="Files are not read"):
                    await anext(asked)
            else:
                assert [event async for event in asked]
    assert await script_lines(assistant, "talk") == ['user: order\n{"size": "L"}', "supervisor: Hello."]


async def test_a_message_of_too_many_parts(assistant: Assistant) -> None:
    """It is refused before the library reads it, which would hold up everybody for seconds."""
    async with calling(assistant) as client:
        sent = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"parts": [{}] * 240_000}}}
        assert (await client.post("/a2a", content=json.dumps(sent, separators=(",", ":")))).status_code == 413


@pytest.mark.parametrize(("text", "id"), [(" ", "1"), ("hello", "a\nb"), ("hello", "a\n"), ("hello", "x" * 201)])
async def test_what_is_no_task(assistant: Assistant, caplog: pytest.LogCaptureFixture, text: str, id: str) -> None:
    """An empty message and odd ids are refused; nothing is stored, and the log has no traceback."""
    async with served(assistant) as url, peer(url) as client:
        with pytest.raises(Exception, match=r"printable|empty"):
            await told(client, text, id=id)
    assert await assistant.threads() == []
    assert [record for record in caplog.records if record.exc_info] == []
