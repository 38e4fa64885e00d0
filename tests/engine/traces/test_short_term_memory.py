"""The short-term memory of a conversation: each message with its turn, its time and where it comes from."""

import json
from typing import Any

import pytest

from agents.state.person import ASR
from app.assistant.short_term_memory import contents
from app.cli import records
from app.testing import Chat
from tests.support.exports import Captured, exported
from tests.support.fake_assistant import line


async def remembered(chat: Chat) -> list[Any]:
    """Return the messages of the thread."""
    async with chat.assistant() as assistant:
        return [*contents(await assistant.history("ann"))]


async def test_every_message_says_where_it_comes_from(chat: Chat) -> None:
    """A greeting, a spoken message, a command: turns count from 0, times grow, users are named."""
    chat.expects(supervisor=["Hello.", "It is late.", "Goodbye."])
    await chat.says(None)
    await chat.says("what is the time by now", source=ASR)
    await chat.says("enough", source="command")

    memory = await remembered(chat)
    assert [(it["role"], it["content"], it["turn_id"], it["metadata"]) for it in memory] == [
        ("assistant", "Hello.", 0, {"source": "greeting"}),
        ("user", "what is the time by now", 1, {"source": "asr", "user": "ann"}),
        ("assistant", "It is late.", 1, {"source": "llm"}),
        ("user", "enough", 2, {"source": "command", "user": "ann"}),
        ("assistant", "Goodbye.", 2, {"source": "llm"}),
    ]
    times = [it["timestamp"] for it in memory]
    assert times == sorted(times)
    assert times[0] > 1_700_000_000_000


@pytest.mark.needs("standin")
@pytest.mark.sqlite
async def test_history_and_export_are_of_one_form(
    chat: Chat, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both commands print the same contents of a talk."""
    chat.expects(supervisor=["Hello."])
    await chat.says("Hi", source=ASR)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{chat.path}")
    printed = (await records.history("ann")).object
    assert isinstance(printed, dict)
    await exported(chat, form="json")
    assert json.loads(capsys.readouterr().out) == {**printed, "forms": {}, "system_messages": []}
    assert printed["contents"] == await remembered(chat)


def test_other_sources_keep_their_name() -> None:
    """A tap and a page count as commands, what is passed on as a message; a reminder is nobody's answer."""
    lines = [line("user", "x", source=source) for source in ("choice", "page", "forwarded", "message")]
    lines.append(line("assistant", "⏰ tea", source="unasked"))
    assert [(it["metadata"]["source"], it["metadata"].get("kind")) for it in contents(lines)] == [
        ("command", "choice"),
        ("command", "page"),
        ("message", "forwarded"),
        ("message", None),
        ("command", "unasked"),
    ]
