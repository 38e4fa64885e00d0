"""Exports to be read and processed, and the records behind them."""

import re

import pytest

from agents.errors import UsageError
from app.assistant.records import LARGEST_RECORD
from app.testing import Chat
from app.testing.script import Call
from tests.support.exports import MEET, Captured, exported, turns

pytestmark = pytest.mark.needs("profile", "standin")


async def test_the_record_has_an_end(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first turns of a thread are recorded, and none that is very long: the file stays small."""
    monkeypatch.setattr("agents.memory.transcript.RECORDED_TURNS", 2)
    chat.expects(supervisor=["Well.", Call("abilities", {"x": "y" * LARGEST_RECORD}), "Well.", "Hm."])
    await chat.says("Tell me a lot", "And do a lot", "Once more")

    assert [turn.status for turn in await turns(chat)] == ["done", "large", ""]


async def test_the_events_of_a_record_stay_inside(chat: Chat) -> None:
    """No door is shown what a model replied; it is shown what is said."""
    chat.expects(supervisor=["Hello."])
    await chat.says("Hi")

    assert "model.reply" not in {event.type for event in chat.events}


async def test_a_conversation_can_be_read(chat: Chat, capsys: Captured) -> None:
    """Markdown tells who said what and when, and at the end what the dialogs found out."""
    chat.expects(supervisor=[MEET], profile=["What\ndo you do?", Call("fill_form", {"skills": ["a", "b"]}), "I see."])
    await chat.says("Hi", "A nurse")

    await exported(chat)

    out = capsys.readouterr().out
    assert re.match(r"# Conversation “ann”\n\n\*\*you\*\* · \d{4}-\d\d-\d\d \d\d:\d\d\n\n> Hi\n\n\*\*profile\*\*", out)
    assert "\n\n> What\n> do you do?\n\n" in out
    assert out.endswith("> I see.\n\n## Forms\n\n### profile\n\n- skills: a, b\n")


async def test_an_unknown_thread_cannot_be_exported(chat: Chat) -> None:
    """A name that nobody talked under is an error of the caller."""
    with pytest.raises(UsageError, match="there is no thread 'ann'"):
        await exported(chat)
