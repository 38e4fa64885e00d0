"""Tools that change an order or a customer's details. Each is one transaction, and the user is asked before each.

An order can be changed once with the same arguments; an address may be set back to what it was.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from agents.toolkit import Answer, Runtime, result, traits
from dialogs.orders.operations import change_user_address
from dialogs.orders.questions import OPERATIONS, USER_ADDRESS, question_before
from dialogs.orders.records import Address, ItemId, OrderId, PaymentId, UserId
from dialogs.orders.schemas import CHANGED_ORDER, CHANGED_USER, Schema
from dialogs.orders.shop import change, read
from dialogs.orders.store import ShopRecords
from dialogs.orders.wording import (
    order_view,
    user_view,
)

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
        question=question_before(kind),
    )


@changing("cancel", key=("order_id", "reason"))
@tool(response_format="content_and_artifact")
async def cancel_pending_order(order_id: OrderId, reason: Reason, runtime: Runtime) -> Answer:
    """Cancel a pending order and pay the money back."""
    return await _changed(runtime, "cancel", order_id, reason=reason)


@changing("exchange", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def exchange_delivered_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Exchange items of a delivered order for others of the same products, once, so all together.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    items = {"item_ids": item_ids, "new_item_ids": new_item_ids}
    return await _changed(runtime, "exchange", order_id, **items, payment_method_id=payment_method_id)


@changing("return", key=RETURN)
@tool(response_format="content_and_artifact")
async def return_delivered_order_items(
    order_id: OrderId, item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Take items of a delivered order back. payment_method_id: gets the money; the one that paid, or a gift card."""
    return await _changed(runtime, "return", order_id, item_ids=item_ids, payment_method_id=payment_method_id)


@changing("change", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def modify_pending_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Change items of a pending order to others of the same products, once, so all together.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    items = {"item_ids": item_ids, "new_item_ids": new_item_ids}
    return await _changed(runtime, "change", order_id, **items, payment_method_id=payment_method_id)


@changing("payment", key=("order_id", "payment_method_id"))
@tool(response_format="content_and_artifact")
async def modify_pending_order_payment(order_id: OrderId, payment_method_id: PaymentId, runtime: Runtime) -> Answer:
    """Let another payment method pay for a pending order."""
    return await _changed(runtime, "payment", order_id, payment_method_id=payment_method_id)


@changing("order_address")
@tool(response_format="content_and_artifact")
async def modify_pending_order_address(
    order_id: OrderId, address1: str, address2: str, city: str, state: str, country: str, zip: str, runtime: Runtime
) -> Answer:
    """Send a pending order to another address. address2: flat or suite, may be empty."""
    address = Address(address1=address1, address2=address2, city=city, country=country, state=state, zip=zip)
    return await _changed(runtime, "order_address", order_id, **address)


@changing(USER_ADDRESS, result=CHANGED_USER)
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
    address = Address(address1=address1, address2=address2, city=city, country=country, state=state, zip=zip)
    customer = await read(runtime, ShopRecords.own_customer) if user_id is None else user_id
    user = await change(runtime, customer, lambda records: change_user_address(records, customer, **address))
    return result(user, view=user_view(user, runtime.state["lang"]))


async def _changed(runtime: Runtime, kind: str, order_id: str, **args: Any) -> Answer:
    order = await change(runtime, order_id, lambda records: OPERATIONS[kind](records, order_id, **args))
    return result(order, view=order_view(order, runtime.state["lang"]))
