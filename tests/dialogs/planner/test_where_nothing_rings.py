"""A door without rings refuses a reminder beforehand."""

from pathlib import Path

import httpx
import pytest

from agents.models import Model, Models
from dialogs.planner.store import Reminders
from tests.support.http_door import served
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import stage

TURNS = "/threads/ann/turns"


@pytest.mark.needs("agui", "openai_api")
async def test_nothing_is_promised_where_nothing_rings(tmp_path: Path) -> None:
    """Over the OpenAI form and AG-UI a reminder is refused beforehand; over HTTP it is set, and shown everywhere."""
    text = "remind me of the tea in 20 minutes"
    ag = {"threadId": "a", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    models = Models(default=Model("local:rules", RulesModel()))
    async with (
        stage(tmp_path / "rules.db", models) as assistant,
        served(assistant) as url,
        httpx.AsyncClient(base_url=url, timeout=300) as client,
    ):

        async def completed(words: str) -> str:
            body = {"model": "dialog-supervisor", "messages": [{"role": "user", "content": words}]}
            answer = await client.post("/v1/chat/completions", json=body, headers={"X-Thread-Id": "ann"})
            return str(answer.json()["choices"][0]["message"]["content"])

        assert "Nothing can ring here" in await completed(text)
        run = await client.post("/agui", json=ag | {"messages": [{"id": "m", "role": "user", "content": text}]})
        assert "Nothing can ring here" in run.text
        reminders = assistant.services.find(Reminders)
        assert reminders
        assert await reminders.due(10**15, None, "*") == []
        set_here = (await client.post(TURNS, json={"text": text})).json()["message"]
        assert [due.thread for due in await reminders.due(10**15, None, "*")] == ["ann"]
        assert "tea" in set_here
        assert "tea" in await completed("show my reminders")
