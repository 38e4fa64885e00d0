"""Identifiers on their way through a conversation: as numbers to the model, as themselves to tools."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from langchain_core.tools import BaseTool, tool

from agents.models.script import Call, Line
from agents.speaker import Speakers
from agents.tools.notation import signature
from agents.tools.outcome import Answer, result
from agents.tools.traits import traits
from tests.conftest import Chat, told
from tests.shop import ORDERS, OrderId, Runtime

SHOES, HAT, COAT = ORDERS
BEGIN: list[Line] = [Call("plan_things", {"brief": "my orders"})]
SENT: list[dict[str, int]] = []


@traits(
    result={
        "type": "object",
        "propertyNames": {"x-opaque": "order"},
        "additionalProperties": {"type": "object", "properties": {"price": {"type": "number"}}},
    }
)
@tool(response_format="content_and_artifact")
async def prices(runtime: Runtime) -> Answer:
    """Tell what each order cost."""
    return result({id: {"price": price} for id, (_, price) in ORDERS.items()})


@tool
async def send(pieces: dict[OrderId, int], runtime: Runtime) -> str:
    """Send some pieces of each order."""
    SENT.append(pieces)
    return "Sent."


def given(chat: Chat, tools: Sequence[BaseTool]) -> None:
    """Give the planner these tools alone."""
    planner = replace(chat.speakers.dialogs["planner"], tools=tools)
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "planner": planner})


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    """Begin with nothing sent."""
    SENT.clear()


async def test_names_of_members_are_numbers_too(chat: Chat) -> None:
    """Records kept under their identifiers come with numbers, by which the model can name them to another tool."""
    given(chat, [prices, send])
    chat.expects(supervisor=BEGIN, planner=[Call("prices"), Call("send", {"pieces": {"2": 1, "3": 4}}), "On its way."])

    assert told("""
        user: Send me a hat and four coats
        supervisor -> planner
        planner.prices() = {"1":{"price":60.0},"2":{"price":15.0},"3":{"price":140.0}}
        planner.send(pieces={'2': 1, '3': 4}) = Sent.
        planner: On its way.
    """) == await chat.says("Send me a hat and four coats")
    assert [{HAT: 1, COAT: 4}] == SENT


def test_a_model_reads_that_names_are_numbers() -> None:
    """The short form of a tool says so."""
    assert signature(prices) == "prices() -> {number: {price: number}}"
    assert signature(send) == "send(pieces: {number: number})"
