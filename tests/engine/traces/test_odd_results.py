"""Tools that give what a model cannot read, or end as no tool should: the turn goes on."""

import asyncio
import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from agents.events.views import CardList, Entry, Notice
from agents.toolkit.result import LONGEST_OBJECT, Answer, Option, Refused, ToolResult, choice, result
from agents.toolkit.traits import traits
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")

HALF = "a box \ud83d\0"
BEGIN: list[Line] = [Call("plan_things", {"brief": "my parcels"})]


@dataclass(frozen=True)
class Parcel:
    """A tool's facts of a parcel."""

    sent: date
    weight: Decimal = Decimal("1.50")


@tool
async def parcels(kind: str) -> list[str]:
    """Give what was sent as a plain list."""
    return ["box"] if kind == "boxes" else []


@tool(response_format="content_and_artifact")
async def parcel(kind: str) -> Answer:
    """Give an object that is no JSON, past `result`."""
    found = {"parcel": Parcel(date(2026, 1, 2)), "list": [Parcel(date(2026, 1, 3))], "none": float("nan")}
    return "", ToolResult(found[kind])


@tool
async def novel(kind: str) -> str:
    """Tell more than a model should read."""
    if kind == "refused":
        raise Refused("y" * 2 * LONGEST_OBJECT)
    return "x" * 2 * LONGEST_OBJECT


@tool
async def leave(kind: str) -> Any:
    """End in a way in which no tool should."""
    if kind == "cancelled":
        raise asyncio.CancelledError
    return ToolMessage("Somebody else's.", tool_call_id="other")


@tool(response_format="content_and_artifact")
async def shelf(kind: str) -> Answer:
    """Show what there is, which is nothing."""
    return result([], view=CardList(entries=[]))


@traits(kind="selector")
@tool(response_format="content_and_artifact")
async def cut(kind: str) -> Any:
    """Give texts that end within a character, as a service that cuts by length does."""
    if kind == "refused":
        raise Refused(HALF, Notice(message=HALF))
    if kind == "asked":
        return choice(HALF, [Option(HALF, 1, detail=HALF), Option("the other", 2)])
    if kind == "shown":
        return result({HALF: [HALF]}, view=CardList(title=HALF, entries=[Entry(HALF)]))
    return ([{"type": "text", "text": HALF}] if kind == "parts" else HALF), None


@tool
async def counted(kind: str) -> Any:
    """Give one part after the other."""
    yield kind
    yield 2


@tool
def unfinished(kind: str) -> Any:
    """Give a coroutine that nobody awaited, and a result without the format that it needs."""
    return _listed(kind)


async def _listed(kind: str) -> Answer:
    return result([kind])


def with_tools(chat: Chat, *tools: BaseTool) -> None:
    """Give the planner other tools."""
    chat.speakers = changed(chat.speakers, "planner", tools=tools)


@pytest.mark.parametrize(("tool", "kind", "read"), [
    ("parcels", "bags", "[]"),
    ("parcels", "boxes", '["box"]'),
    ("parcel", "parcel", '{"sent":"2026-01-02","weight":"1.50"}'),
    ("parcel", "list", '[{"sent":"2026-01-03","weight":"1.50"}]'),
    ("parcel", "none", "NaN"),
    ("counted", "one", '["one",2]'),
    ("unfinished", "one", '["one"]'),
])  # fmt: skip
async def test_whatever_a_tool_gives_is_read_as_json(chat: Chat, tool: str, kind: str, read: str) -> None:
    """An empty list is `[]` from a plain tool, too; dates and the like are texts."""
    with_tools(chat, parcels, parcel, counted, unfinished)
    chat.expects(supervisor=BEGIN, planner=[Call(tool, {"kind": kind}), "Seen."])

    assert f"planner.{tool}(kind='{kind}') = {read}\n" in await chat.says("What was sent?")


@pytest.mark.parametrize("kind", ["told", "refused"])
async def test_no_tool_tells_a_model_more_than_it_can_read(chat: Chat, kind: str) -> None:
    """A sentence and a refusal are cut as an object is, and say so."""
    with_tools(chat, novel)
    chat.expects(supervisor=BEGIN, planner=[Call("novel", {"kind": kind}), "Long."])
    await chat.says("Tell me a story")

    [text] = [message.text for message in await chat.messages("planner") if message.type == "tool"]
    assert text[LONGEST_OBJECT:] == f"… ({LONGEST_OBJECT} more characters were left out)"


@pytest.mark.parametrize("kind", ["cancelled", "message"])
async def test_no_way_to_end_a_tool_ends_the_turn(chat: Chat, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """A tool that is cancelled within, or answers a call of nobody has failed, no more."""
    with_tools(chat, leave)
    chat.expects(supervisor=BEGIN, planner=[Call("leave", {"kind": kind}), "It did not work."])
    trace = await chat.says("Leave now")

    assert f"planner.leave(kind='{kind}') ! {phrase('tool_failed', 'en', tool='leave')}" in trace
    assert trace.endswith("planner: It did not work.")
    assert "tool leave failed" in caplog.text


async def test_a_view_of_nothing_leaves_the_word_to_the_model(chat: Chat) -> None:
    """An empty list without a title would be no answer at all."""
    with_tools(chat, shelf)
    chat.expects(supervisor=BEGIN, planner=[Call("shelf", {"kind": "any"}), "There is nothing."])

    assert (await chat.says("What is there?")).endswith("planner.shelf(kind='any') = []\nplanner: There is nothing.")


@pytest.mark.parametrize("kind", ["told", "refused", "asked", "shown", "parts"])
async def test_half_a_character_from_a_tool_is_told_shown_and_kept(chat: Chat, kind: str) -> None:
    """No file and no database takes it: the place is marked, and the turn comes to its end."""
    with_tools(chat, cut)
    chat.expects(supervisor=BEGIN, planner=[Call("cut", {"kind": kind}), *(["It is a box."] * (kind != "asked"))])

    trace = await chat.says("What was sent?")
    assert "a box \ufffd" in trace
    assert json.dumps([event.plain() for event in chat.events], ensure_ascii=False).encode()
