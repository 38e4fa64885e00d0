"""Long conversations: histories are cut in blocks, and summed up where a dialog asks for it."""

from dataclasses import replace

import pytest
from langchain_core.exceptions import ModelRateLimitError

from agents.models.script import Call, Line
from agents.state.history import GROW, KEEP
from agents.toolkit.speaker import History, Speakers
from tests.conftest import Chat

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})


async def chatted(chat: Chat, history: History, *extra: Line) -> None:
    """Hold a dialog for as many turns as make its history be cut once."""
    profile = replace(chat.speakers.dialogs["profile"], history=history)
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "profile": profile})
    turns = GROW // 2
    chat.expects(supervisor=[BEGIN], profile=[*(f"Question {number}?" for number in range(turns)), *extra])
    await chat.says("Hi", *(f"Answer {number}" for number in range(turns - 1)))


async def test_a_history_is_cut_in_blocks(chat: Chat) -> None:
    """A history that has grown too long loses its older half at once, and begins with a user message."""
    await chatted(chat, "drop", "One more?")
    await chat.says("Another answer")

    kept = await chat.messages("profile")
    assert len(kept) <= KEEP + 2
    assert kept[0].type == "human"


async def test_what_is_cut_is_summed_up(chat: Chat) -> None:
    """A dialog that sums up asks its model after the answer, and its next prompt begins with the summary."""
    await chatted(chat, "summarise", "Ann is a nurse.", "One more?")
    assert "Question 0?" in chat.script.asked[-1].messages[1].text

    await chat.says("Yes")
    assert "What was said before: Ann is a nurse." in chat.script.asked[-1].messages[-1].text
    assert len(await chat.messages("profile")) <= KEEP + 2


async def test_without_a_summary_nothing_is_lost(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """When no model sums up, the answer stands and the history waits for the next turn."""
    await chatted(chat, "summarise", ModelRateLimitError("busy"), "One more?", "Ann is a nurse.")
    assert "no summary" in caplog.text
    assert len(await chat.messages("profile")) > GROW

    assert await chat.says("Yes") == "user: Yes\nprofile: One more?"
    assert len(await chat.messages("profile")) <= KEEP + 2
