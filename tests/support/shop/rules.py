"""The rules of a shop: what may be done to an order, and what it costs; whatever they forbid is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.toolkit.result import Refused
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import StateCheck
from tests.support.shop.store import Record, Shop

GIFT_CARD = "gift_card"


def when(*statuses: str) -> StateCheck:
    """Return the check that an order has one of these statuses."""

    async def check(args: Mapping[str, Any], runtime: Runtime) -> str | None:
        assert runtime.context.ledger is not None
        # What is read within the write's own transaction nobody changes before it is written.
        async with runtime.context.ledger.transaction() as connection:
            order = await Shop(connection).get("orders", args["order_id"])
        if order["status"] in statuses:
            return None
        return f"This order is {order['status']}; it would have to be {statuses[0]}. Nothing was changed."

    return check


def taken(order: Record, item_ids: Sequence[str]) -> list[Record]:
    """Return the items of an order by their identifiers; one that is there twice may be meant twice.

    Raises:
        Refused: the order does not have them all.
    """
    left, taken = list(order["items"]), []
    for id in item_ids:
        item = next((item for item in left if item["item_id"] == id), None)
        if item is None:
            raise Refused("The order does not have all of these items, or not so many of them: look it up again.")
        left.remove(item)
        taken.append(item)
    return taken


async def variants(shop: Shop, order: Record, item_ids: Sequence[str], new_item_ids: Sequence[str]) -> list[Record]:
    """Return what the items of an order shall become.

    Raises:
        Refused: there is no such thing, it is sold out, or is another product.
    """
    if len(item_ids) != len(new_item_ids):
        raise Refused("There must be as many new items as items.")
    chosen = []
    for item, id in zip(taken(order, item_ids), new_item_ids, strict=True):
        product = await shop.get("products", item["product_id"])
        variant = product["variants"].get(id)
        if variant is None or not variant["available"]:
            problem = "is not in stock" if variant else "is not of the same product"
            raise Refused(f"The new item for {item['name']} {problem}: choose another of the product's items.")
        chosen.append(variant)
    return chosen


def difference(order: Record, item_ids: Sequence[str], new: Sequence[Record]) -> float:
    """Return what is to be paid for new items in place of the old ones."""
    pairs = zip(taken(order, item_ids), new, strict=True)
    return sum((variant["price"] - item["price"] for item, variant in pairs), 0.0)


async def method_of(shop: Shop, order: Record, id: str) -> Record:
    """Return a payment method of the user whose order it is.

    Raises:
        Refused: there is none.
    """
    methods: Record = (await shop.get("users", order["user_id"]))["payment_methods"]
    if id not in methods:
        raise Refused("The user has no such payment method: their details list those there are.")
    method: Record = methods[id]
    return method


async def pay(shop: Shop, order: Record, id: str, amount: float, *, later: bool = False) -> None:
    """Take an amount from a payment method, or give it back; with `later` only see whether there is enough.

    Raises:
        Refused: there is not, or no such payment method.
    """
    method = await method_of(shop, order, id)
    if method["source"] != GIFT_CARD:
        return
    if method["balance"] < amount:
        raise Refused("There is not enough on this gift card: ask the user for another payment method.")
    if not later:
        user = await shop.get("users", order["user_id"])
        user["payment_methods"][id]["balance"] = round(method["balance"] - amount, 2)
        await shop.put("users", user)


def paid(order: Record) -> dict[str, float]:
    """Return how much each payment method has paid for an order, what it got back taken off; none that paid nothing."""
    sums: dict[str, float] = {}
    for entry in order["payment_history"]:
        amount = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
        sums[entry["payment_method_id"]] = sums.get(entry["payment_method_id"], 0) + amount
    return {id: amount for id, amount in sums.items() if amount > 0}


def payment(amount: float, id: str) -> Record:
    """Return what an order says of an amount that was paid or, if it is less than nothing, paid back."""
    kind = "payment" if amount > 0 else "refund"
    return {"transaction_type": kind, "amount": abs(amount), "payment_method_id": id}


def address(address1: str, address2: str, city: str, state: str, country: str, zip: str) -> Record:
    """Return an address as the shop keeps it."""
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip,
    }
