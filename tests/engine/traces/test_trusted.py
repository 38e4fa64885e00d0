"""Trusted values from the doors: who may do what, and what the user speaks to."""

from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from agents.events import ToolEnd
from agents.memory.inbox import InboxEntry
from agents.toolkit.context import Context
from agents.toolkit.traits import traits
from app.assistant import Turn
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase
from tests.support import shop_tools
from tests.support.shop_tools import with_shop

pytestmark = pytest.mark.needs("planner")

PAID = "Paid to alice at the terminal, who may read refund."
BEGIN: list[Line] = [Call("plan_things", {"brief": "money back"})]


@traits(permission="refund")
@tool
async def refund(runtime: ToolRuntime[Context, Any]) -> str:
    """Pay the money back."""
    context = runtime.context
    return f"Paid to {context.user} at the {context.device}, who may {' '.join(sorted(context.permissions))}."


@pytest.fixture(autouse=True)
def counter(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the conversation a shop that pays money back to Alice."""
    monkeypatch.setattr(shop_tools, "TOOLS", [refund])
    chat.speakers = with_shop(chat.speakers)
    chat.permissions = {"alice": frozenset({"refund"}), "*": frozenset({"read"})}


async def play(chat: Chat, user: str, text: str, **more: Any) -> list[str]:
    """Let a user at a terminal say something; return what tools answered."""
    async with chat.assistant() as assistant:
        turn = Turn(thread="ann", text=text, user=user, device="terminal", **more)
        return [event.object async for event in assistant.play(turn) if isinstance(event, ToolEnd)]


async def test_who_is_permitted_is_served(chat: Chat) -> None:
    """A tool sees who speaks to it from where and what they may do; another user in the thread may not."""
    chat.expects(supervisor=BEGIN + BEGIN, planner=[Call("refund"), "Paid.", Call("refund"), "You may not."])

    assert await play(chat, "alice", "Money back!") == [PAID]
    assert [phrase("tool_forbidden", "en", tool="refund")] == await play(chat, "bob", "and now for all of my orders")


async def test_a_message_left_by_a_crash_keeps_its_permissions(chat: Chat) -> None:
    """The turn looks the permissions of the message's own user up; another user's message comes before it."""
    async with chat.assistant() as assistant:
        await assistant.memory.transcript.accept(InboxEntry("ann", "lost", "alice", "Money back!", "message"))
    chat.expects(supervisor=["Hello Bob.", *BEGIN], planner=[Call("refund"), "Paid."])

    assert await play(chat, "bob", "and is all well today") == []
    assert await play(chat, "alice", "Money back!", id="lost") == [PAID]
