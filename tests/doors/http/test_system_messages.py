"""An operator's messages to every speaker of a thread, set and changed while the thread runs."""

import asyncio
from pathlib import Path

import httpx
import pytest

from app.assistant import Assistant
from app.assistant.system_messages import LONGEST, MOST, SystemMessages
from app.cli import command_line
from app.composition import open_assistant
from app.settings import read_settings
from app.testing.script import Call, Script
from tests.support.http_door import KEYS, OPERATOR, SHOP, by, events_of, served
from tests.support.scripted_assistant import ROLES, Gate, stage

PATH, TURNS = "/threads/ann/system_messages", "/threads/ann/turns"
POLITE, SHORT = "Call the user Ann.", "Answer in one sentence."


def told(*texts: str) -> dict[str, list[dict[str, str]]]:
    """Return messages as they are written."""
    return {"system_messages": [{"content": text} for text in texts]}


async def prepare(assistant: Assistant) -> None:
    """Set them before anything is said."""
    await SystemMessages.model_validate(told(POLITE)).save(assistant.memory.store, "ann")


@pytest.mark.needs("planner")
async def test_every_speaker_reads_them_last(client: httpx.AsyncClient, script: Script, assistant: Assistant) -> None:
    """They end the one system message of each speaker of the thread; without them its beginning is the same."""
    script.add(
        supervisor=["Hello.", Call("plan_things", {"brief": "milk"}), "Hello."],
        planner=[Call("add_todos", {"items": ["milk"]}), "Noted."],
    )
    await prepare(assistant)
    assert (await client.put(PATH, json=told(POLITE, SHORT))).json() == told(POLITE, SHORT)
    for text in ("hello", "add milk"):
        await client.post(TURNS, json={"text": text})
    assert (await client.get(PATH)).json() == told(POLITE, SHORT)
    await client.post("/threads/bob/turns", json={"text": "hello"})
    *asked, of_bob = [asked for asked in script.asked if asked.role != "observer"]
    assert {asked.role for asked in asked} == {"supervisor", "planner"}
    for prompt in asked:
        systems = [message.text for message in prompt.messages if message.type == "system"]
        role = assistant.prompt(None if prompt.role == "supervisor" else prompt.role, "en")
        assert systems == [f"{role}\n\n{POLITE}\n\n{SHORT}"]
    assert POLITE not in of_bob.prefix


async def test_a_running_turn_is_not_waited_for(
    client: httpx.AsyncClient, script: Script, assistant: Assistant
) -> None:
    """They are changed while a turn runs, and hold from the next one on; a stop of the process changes nothing."""
    script.gates["supervisor"] = gate = Gate(1)
    script.add(supervisor=["One two three.", "Again."])
    await prepare(assistant)
    streaming = {"accept": "text/event-stream"}
    async with client.stream("POST", TURNS, json={"text": "count"}, headers=streaming) as response:
        async for event in events_of(response):
            if event["type"] == "token":
                changed = await client.put(PATH, json=told(SHORT))
                assert changed.status_code == 200
                gate.set()
    await client.post(TURNS, json={"text": "again"})
    assert [asked.messages[0].text.endswith(SHORT) for asked in script.asked] == [False, True]


async def test_they_last_until_the_thread_is_forgotten(tmp_path: Path, script: Script) -> None:
    """They survive a restart; forgetting the thread deletes them, also where nothing was said."""
    for is_second in (False, True):
        async with (
            stage(tmp_path / "kept.db", script.models(ROLES)) as assistant,
            served(assistant) as url,
            httpx.AsyncClient(base_url=url, timeout=300) as client,
        ):
            if is_second:
                assert (await client.get(PATH)).json() == told(POLITE)
                assert (await client.delete("/threads/ann")).json() == {"forgotten": True}
                assert (await client.get(PATH)).status_code == 404
                assert (await client.delete("/threads/ann")).status_code == 404
            else:
                assert (await client.put(PATH, json=told(POLITE))).status_code == 404
                await prepare(assistant)


async def test_they_are_the_operators(assistant: Assistant, script: Script) -> None:
    """A caller without the operator's scope neither reads nor sets them, and an export lacks them."""
    script.add(supervisor=["Hello."])
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        mine, export = by(OPERATOR), {"url": "/threads/ann/export", "params": {"form": "json"}}
        of_shop = "/threads/shop:ann"
        await client.post(TURNS, json={"text": "hello"}, headers=by(SHOP))
        await client.put(f"{of_shop}/system_messages", json=told(POLITE), headers=mine)
        for method in ("GET", "PUT"):
            assert (await client.request(method, PATH, json=told(), headers=by(SHOP))).status_code == 403
        assert "system_messages" not in (await client.get(**export, headers=by(SHOP))).json()  # type: ignore[arg-type]
        exported = await client.get(f"{of_shop}/export", params={"form": "json"}, headers=mine)
        assert exported.json()["system_messages"] == told(POLITE)["system_messages"]


@pytest.mark.parametrize(
    "body", [told(""), told("x" * (LONGEST + 1)), told(*["x"] * (MOST + 1)), {"system_messages": ["x"]}, {"more": 1}]
)
async def test_their_bounds(client: httpx.AsyncClient, assistant: Assistant, body: object) -> None:
    """They are so many and so long at most."""
    await prepare(assistant)
    assert (await client.put(PATH, json=body)).status_code == 422
    assert (await client.put(PATH, json=told(*["я" * LONGEST] * MOST))).status_code == 200


@pytest.mark.needs("standin")
def test_the_state_of_a_thread_tells_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m app state` shows the whole prompt, with what the operator tells every speaker."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'command.db'}")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    assert command_line.main(["ask", "hello", "--thread", "ann"]) == 0

    async def set_messages() -> None:
        async with open_assistant(read_settings(), remote=False) as assistant:
            await prepare(assistant)

    asyncio.run(set_messages())
    capsys.readouterr()
    assert command_line.main(["state", "--thread", "ann"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(POLITE)
