"""The door of `docs/doors.md`, word for word: it needs nothing that is private to the application."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.composition import open_assistant
from app.settings import Settings
from tests.support.places import ROOT
from tests.support.scripted_assistant import ROLES, THREAD, Planner, script_lines, stage


def example() -> str:
    """Return the first Python block of the document."""
    document = (ROOT / "docs" / "doors.md").read_text("utf-8")
    block = re.search(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1]


@pytest.mark.needs("planner")
async def test_the_door_of_the_document_answers(tmp_path: Path) -> None:
    """A message is answered with the turn's events, and the conversation goes on with the next one."""
    names: dict[str, Any] = {"__name__": "http_door"}
    exec(example(), names)  # the document is ours
    async with stage(tmp_path / "talk.db", Planner().models(ROLES)) as assistant:
        server = await names["serve"](assistant, port=0)
        async with server, httpx.AsyncClient(trust_env=False, timeout=300) as client:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            turns = []
            for text in ("to-dos, please", "put milk"):
                answer = await client.post(url, json={"thread": THREAD, "text": text})
                turns.append([json.loads(line) for line in answer.text.splitlines()])
        shown = await script_lines(assistant)

    assert [(events[0]["type"], events[-1]["type"]) for events in turns] == [("turn.start", "turn.end")] * 2
    assert turns[1][-1]["dialog"] == "planner"
    assert [event["seq"] for event in turns[1]] == [*range(1, len(turns[1]) + 1)]
    assert shown[-1] == "planner: Noted."


@pytest.mark.needs("standin")
@pytest.mark.parametrize(("lang", "answer"), [("en", "I can\n- "), ("ru", "Я могу\n- ")])
async def test_the_request_of_the_document_is_answered(
    lang: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The `curl` line gets an answer from the model that needs no key."""
    monkeypatch.setenv("APP_LANG", lang)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/door.db")
    names: dict[str, Any] = {"__name__": "http_door"}
    exec(example(), names)  # the document is ours
    request = re.search(r"-d '(.*)'", (ROOT / "docs" / "doors.md").read_text("utf-8"))
    assert request is not None
    body = json.loads(request[1]) if lang == "en" else {"thread": "ann", "text": "что ты умеешь?"}
    async with open_assistant(Settings(_env_file=None)) as assistant:
        server = await names["serve"](assistant, port=0)
        async with server, httpx.AsyncClient(trust_env=False, timeout=300) as client:
            response = await client.post(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", json=body)

    events = [json.loads(line) for line in response.text.splitlines()]
    assert any(answer in event.get("text", "") for event in events if event["type"] == "message"), str(events)


def test_the_door_is_short_and_uses_only_public_names() -> None:
    """Twenty lines are enough, and none of them reaches behind the scenes."""
    body = [line for line in example().splitlines() if line.strip() and not re.match(r"import|from", line)]
    assert len(body) <= 20
    assert not re.search(r"\._|import _", example())
