"""The tools of a shop that write, each a transaction: what is refused at its end leaves nothing.

What can be done to an order once is known by all of its arguments: asked for again it is answered as it was then.
An address has no such key, since it may be set back to what it was.
"""

from typing import Annotated, Literal

from langchain_core.tools import tool
from pydantic import Field

from agents.toolkit.result import Answer, Refused, result
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import traits
from tests.support.shop.rules import (
    GIFT_CARD,
    address,
    difference,
    method_of,
    paid,
    pay,
    payment,
    taken,
    variants,
    when,
)
from tests.support.shop.store import writing
from tests.support.shop.types import ORDER, USER_RECORD, ItemId, OrderId, PaymentId, UserId

Items = Annotated[list[ItemId], Field(min_length=1)]
PENDING = ("pending", "pending (item modified)")
RETURN = ("order_id", "item_ids", "payment_method_id")
EXCHANGE = ("order_id", "item_ids", "new_item_ids", "payment_method_id")


@traits(effect="write", transaction=True, check=when("pending"), key=("order_id", "reason"), result=ORDER)
@tool(response_format="content_and_artifact")
async def cancel_pending_order(
    order_id: OrderId, reason: Literal["no longer needed", "ordered by mistake"], runtime: Runtime
) -> Answer:
    """Cancel an order that is pending and pay the money back, once the user has said yes."""
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        refunds = [payment(-amount, id) for id, amount in paid(order).items()]
        order |= {"status": "cancelled", "cancel_reason": reason}
        order["payment_history"] += refunds
        await shop.put("orders", order)
        for refund in refunds:
            await pay(shop, order, refund["payment_method_id"], -refund["amount"])
        return result(order)


@traits(effect="write", transaction=True, check=when("delivered"), key=EXCHANGE, result=ORDER)
@tool(response_format="content_and_artifact")
async def exchange_delivered_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Exchange items of a delivered order for others of the same products, all at once; the user has said yes.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        new = await variants(shop, order, item_ids, new_item_ids)
        owed = round(difference(order, item_ids, new), 2)
        order |= {
            "status": "exchange requested",
            "exchange_items": sorted(item_ids),
            "exchange_new_items": sorted(new_item_ids),
            "exchange_payment_method_id": payment_method_id,
            "exchange_price_difference": owed,
        }
        await shop.put("orders", order)
        await pay(shop, order, payment_method_id, owed, later=True)
        return result(order)


@traits(effect="write", transaction=True, check=when("delivered"), key=RETURN, result=ORDER)
@tool(response_format="content_and_artifact")
async def return_delivered_order_items(
    order_id: OrderId, item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Take items of a delivered order back, once the user has said yes.

    payment_method_id: gets the money; the one that paid, or a gift card.
    """
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        method = await method_of(shop, order, payment_method_id)
        if method["source"] != GIFT_CARD and payment_method_id != order["payment_history"][0]["payment_method_id"]:
            raise Refused("The money goes back to the payment method that paid, or to a gift card of the user.")
        taken(order, item_ids)
        order |= {
            "status": "return requested",
            "return_items": sorted(item_ids),
            "return_payment_method_id": payment_method_id,
        }
        await shop.put("orders", order)
        return result(order)


@traits(effect="write", transaction=True, check=when("pending"), key=EXCHANGE, result=ORDER)
@tool(response_format="content_and_artifact")
async def modify_pending_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Change items of a pending order to others of the same products; only once, so all together; the user said yes.

    new_item_ids: in the order of item_ids. payment_method_id: pays the difference, or gets it.
    """
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        new = await variants(shop, order, item_ids, new_item_ids)
        # Not rounded: the shop's own records are not.
        owed = difference(order, item_ids, new)
        for item, variant in zip(taken(order, item_ids), new, strict=True):
            item |= {name: variant[name] for name in ("item_id", "price", "options")}
        order["status"] = "pending (item modified)"
        order["payment_history"].append(payment(owed, payment_method_id))
        await shop.put("orders", order)
        await pay(shop, order, payment_method_id, owed)
        return result(order)


@traits(effect="write", transaction=True, check=when(*PENDING), key=("order_id", "payment_method_id"), result=ORDER)
@tool(response_format="content_and_artifact")
async def modify_pending_order_payment(order_id: OrderId, payment_method_id: PaymentId, runtime: Runtime) -> Answer:
    """Let another payment method pay for a pending order, once the user has said yes."""
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        [first, *others] = order["payment_history"]
        if others or first["transaction_type"] != "payment":
            raise Refused("This order has been paid in several parts; its payment method cannot be changed.")
        if first["payment_method_id"] == payment_method_id:
            raise Refused("This payment method pays for the order already; ask the user for another one.")
        amount, former = first["amount"], first["payment_method_id"]
        order["payment_history"] += [payment(amount, payment_method_id), payment(-amount, former)]
        await shop.put("orders", order)
        await pay(shop, order, payment_method_id, amount)
        await pay(shop, order, former, -amount)
        return result(order)


@traits(effect="write", transaction=True, check=when(*PENDING), result=ORDER)
@tool(response_format="content_and_artifact")
async def modify_pending_order_address(
    order_id: OrderId, address1: str, address2: str, city: str, state: str, country: str, zip: str, runtime: Runtime
) -> Answer:
    """Send a pending order to another address, once the user has said yes. address2: flat or suite, may be empty."""
    async with writing(runtime, order_id) as shop:
        order = await shop.get("orders", order_id)
        order["address"] = address(address1, address2, city, state, country, zip)
        await shop.put("orders", order)
        return result(order)


@traits(effect="write", transaction=True, result=USER_RECORD)
@tool(response_format="content_and_artifact")
async def modify_user_address(
    user_id: UserId, address1: str, address2: str, city: str, state: str, country: str, zip: str, runtime: Runtime
) -> Answer:
    """Change where a user lives, once the user has said yes. address2: flat or suite, may be empty."""
    async with writing(runtime, user_id) as shop:
        user = await shop.get("users", user_id)
        user["address"] = address(address1, address2, city, state, country, zip)
        await shop.put("users", user)
        return result(user)


WRITES = [
    cancel_pending_order,
    exchange_delivered_order_items,
    return_delivered_order_items,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_pending_order_address,
    modify_user_address,
]
