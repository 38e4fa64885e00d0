"""Tools that change an order or a customer's details. Each is one transaction, and each is asked before.

The question says what would come of the call, worked out by the operation itself; what the shop would refuse is not
asked. What can be done to an order once is known by all of its arguments; an address may be set back to what it was.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from agents.shop.operations import (
    cancel,
    change_items,
    change_order_address,
    change_payment,
    change_user_address,
    exchange,
    send_back,
)
from agents.shop.records import Address, ItemId, Order, OrderId, PaymentId, UserId
from agents.toolkit import Answer, Runtime, result, traits
from agents.tools.orders.access import change, own_customer, read
from agents.tools.orders.consent import asked
from agents.tools.orders.schemas import CHANGED_ORDER, CHANGED_USER, Schema
from agents.tools.orders.wording import order_view, user_view

Items = Annotated[list[ItemId], Field(min_length=1)]
Reason = Literal["no longer needed", "ordered by mistake"]
RETURN = ("order_id", "item_ids", "payment_method_id")
EXCHANGE = ("order_id", "item_ids", "new_item_ids", "payment_method_id")


def changing(kind: str, *, key: tuple[str, ...] = (), result: Schema = CHANGED_ORDER) -> Callable[[BaseTool], BaseTool]:
    """Return the traits of a tool that makes a change of this kind."""
    return traits(
        effect="write",
        transaction=True,
        irreversible=True,
        private=True,
        view="cards",
        key=key,
        result=result,
        question=asked(kind),
    )


@changing("cancel", key=("order_id", "reason"))
@tool(response_format="content_and_artifact")
async def cancel_pending_order(order_id: OrderId, reason: Reason, runtime: Runtime) -> Answer:
    """Cancel a pending order and pay the money back."""
    return _order(await change(runtime, order_id, lambda shop: cancel(shop, order_id, reason)), runtime)


@changing("exchange", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def exchange_delivered_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Exchange items of a delivered order for others of the same products, once, so all together.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    args = order_id, item_ids, new_item_ids, payment_method_id
    return _order(await change(runtime, order_id, lambda shop: exchange(shop, *args)), runtime)


@changing("return", key=RETURN)
@tool(response_format="content_and_artifact")
async def return_delivered_order_items(
    order_id: OrderId, item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Take items of a delivered order back. payment_method_id: gets the money; the one that paid, or a gift card."""
    return _order(
        await change(runtime, order_id, lambda shop: send_back(shop, order_id, item_ids, payment_method_id)), runtime
    )


@changing("change", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def modify_pending_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Change items of a pending order to others of the same products, once, so all together.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    args = order_id, item_ids, new_item_ids, payment_method_id
    return _order(await change(runtime, order_id, lambda shop: change_items(shop, *args)), runtime)


@changing("payment", key=("order_id", "payment_method_id"))
@tool(response_format="content_and_artifact")
async def modify_pending_order_payment(order_id: OrderId, payment_method_id: PaymentId, runtime: Runtime) -> Answer:
    """Let another payment method pay for a pending order."""
    return _order(
        await change(runtime, order_id, lambda shop: change_payment(shop, order_id, payment_method_id)), runtime
    )


@changing("order_address")
@tool(response_format="content_and_artifact")
async def modify_pending_order_address(
    order_id: OrderId, address1: str, address2: str, city: str, state: str, country: str, zip: str, runtime: Runtime
) -> Answer:
    """Send a pending order to another address. address2: flat or suite, may be empty."""
    address = _address(address1, address2, city, state, country, zip)
    return _order(await change(runtime, order_id, lambda shop: change_order_address(shop, order_id, address)), runtime)


@changing("user_address", result=CHANGED_USER)
@tool(response_format="content_and_artifact")
async def modify_user_address(
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
    runtime: Runtime,
    user_id: UserId | None = None,
) -> Answer:
    """Change where a customer lives. address2: flat or suite, may be empty. user_id: left out, the user's own."""
    address = _address(address1, address2, city, state, country, zip)
    customer = await read(runtime, own_customer) if user_id is None else user_id
    user = await change(runtime, customer, lambda shop: change_user_address(shop, customer, address))
    return result(user, view=user_view(user, runtime.state["lang"]))


def _order(order: Order, runtime: Runtime) -> Answer:
    return result(order, view=order_view(order, runtime.state["lang"]))


def _address(address1: str, address2: str, city: str, state: str, country: str, zip: str) -> Address:
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "country": country,
        "state": state,
        "zip": zip,
    }
