"""A live text holds from the next turn on, whichever process made it live."""

from pathlib import Path

import pytest

from agents.events import Message, ToolEnd, ToolStart
from app.assistant import Assistant, Turn
from app.plugins.lab import live_texts
from app.plugins.lab.folder import lab_folder

CLOCK = "The clock.\n- what does the clock say\n"


async def called(assistant: Assistant, text: str) -> list[str]:
    """Say something; return the tools that were called."""
    events = [event async for event in assistant.play(Turn(thread="live", user="ann", text=text))]
    assert any(isinstance(event, Message) or (isinstance(event, ToolEnd) and event.ok) for event in events)
    return [event.tool for event in events if isinstance(event, ToolStart)]


@pytest.mark.needs("planner", "standin")
async def test_a_card_that_another_process_makes_live(
    house: Path, assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its example leads to its tool, its description is in the prompt, and it is put back in the same way."""
    ask = "what does the clock say"
    assert "current_time" not in await called(assistant, ask)
    with monkeypatch.context() as elsewhere:
        # The other process forgets what it has read; this one does not hear of it.
        elsewhere.setattr(live_texts, "read_anew", lambda: None)
        change = live_texts.make_live(lab_folder(), assistant.speakers, "card", "current_time", "en", CLOCK, "boss")
        for_lists = "Put something on the list.\n- jot {items} onto paper\n"
        live_texts.make_live(lab_folder(), assistant.speakers, "card", "add_todos", "en", for_lists, "boss")
    assert await called(assistant, ask) == ["current_time"]
    assert await called(assistant, "jot tea onto paper") == ["add_todos"]
    assert "current_time: The clock." in assistant.prompt(None, "en")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(live_texts, "read_anew", lambda: None)
        live_texts.make_live(lab_folder(), assistant.speakers, "card", "current_time", "en", change.before, "boss")
    assert "current_time" not in await called(assistant, ask)
