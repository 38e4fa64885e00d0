"""A shop for tests of the tool layer: orders to choose from, returns to write, a form, players and failures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field

from agents.events.views import CardList, Entry, Notice
from agents.language.identifiers import Opaque
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, Option, Refused, choice, request, result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.testing.script import Call, Line

OrderId = Annotated[str, Opaque("order")]
ORDERS = {
    "0b7e6f0a-6c1e-4c53-9a55-6a1d0c2f9a11": ("Blue shoes", 60.0),
    "5f0c2d9e-1b7a-4f0e-8f7b-2f4b8f6f1c22": ("Red hat", 15.0),
    "9a8b7c6d-5e4f-4a3b-9c2d-1e0f9a8b7c33": ("Green coat", 140.0),
}
SHOES, HAT, COAT = ORDERS
BEGIN: list[Line] = [Call("plan_things", {"brief": "send something back"})]
"""The supervisor's handoff of a customer to the speaker with the tools."""
ASKED = "selector: Which order? [Blue shoes | Red hat | Green coat]"


class Order(BaseModel):
    """One order."""

    id: OrderId
    name: str
    price: float


class Address(BaseModel):
    """The address of a pickup."""

    street: str | None = Field(default=None, min_length=3)
    zip: int | None = None


def order(id: str) -> Order:
    """Return an order of the shop."""
    name, price = ORDERS[id]
    return Order(id=id, name=name, price=price)


@traits(kind="selector", result=Order)
@tool(response_format="content_and_artifact")
async def choose_order(runtime: Runtime) -> Answer:
    """Let the user choose one of their orders."""
    options = [
        Option(name, order(id).model_dump(), detail=f"{price:.0f} EUR", id=id, facts={"price": price})
        for id, (name, price) in ORDERS.items()
    ]
    return choice("Which order?", options)


@traits(kind="breaker", form=Address)
@tool(response_format="content_and_artifact")
async def ask_address(runtime: Runtime) -> Answer:
    """Let the user fill in an address."""
    return request("Where shall we fetch it?")


@traits(kind="breaker")
@tool(response_format="content_and_artifact")
async def sign_in(runtime: Runtime, purpose: str = "") -> Answer:
    """Let the user sign in on a page."""
    return request("Please sign in.", url="https://shop.example/sign-in")


@traits(result={"type": "array", "items": Order.model_json_schema()}, view="cards")
@tool(response_format="content_and_artifact")
async def find_orders(name: str, runtime: Runtime) -> Answer:
    """Find the user's orders by name."""
    orders = [order(id) for id, (label, _) in ORDERS.items() if name.lower() in label.lower()]
    entries = [Entry(listed.name, f"{listed.price:.0f} EUR", id=listed.id) for listed in orders]
    return result(orders, view=CardList(title="Orders", entries=entries) if orders else None)


@traits(effect="write", key=("order",))
@tool(response_format="content_and_artifact")
async def submit_return(order: OrderId, runtime: Runtime, reason: str = "") -> Answer:
    """Send an order back."""
    if order not in ORDERS:
        raise Refused("There is no such order.", Notice(message="No such order.", level="error"))
    RETURNS.append((runtime.context.user, order))
    return result(message=f"{ORDERS[order][0]} is on its way back.")


@traits(permission="refund")
@tool
async def refund(runtime: Runtime) -> str:
    """Pay the money back."""
    return "Paid."


RETURNS: list[tuple[str, str]] = []
"""The returned orders, each with its user; tests empty the list."""
TOOLS: Sequence[BaseTool] = [choose_order, ask_address, sign_in, find_orders, submit_return, refund]


def with_shop(speakers: Speakers) -> Speakers:
    """Return the speakers, the planner with the tools of this shop and no dialog of the application's own."""
    names = {entry.name for entry in TOOLS}
    dialogs = {
        name: dialog
        for name, dialog in speakers.dialogs.items()
        if name == "planner" or not names & {entry.name for entry in dialog.tools}
    }
    planner = replace(dialogs["planner"], tools=TOOLS, resume="ask")
    return Speakers(speakers.supervisor, {**dialogs, "planner": planner})
