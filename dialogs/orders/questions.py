"""The question before a change: what the call would do, with the real items and money.

What the shop would refuse is not asked: the operation is tried, and nothing of it is saved.
"""

from collections.abc import Callable, Mapping
from typing import cast

from agents.state.talk import Json
from agents.toolkit import Refused, Runtime
from agents.toolkit.traits import Wording
from dialogs.orders import operations
from dialogs.orders.records import Address, Order
from dialogs.orders.shop import read
from dialogs.orders.store import ShopRecords
from dialogs.orders.wording import (
    address_line,
    full_name,
    items_line,
    method_label,
    money,
    said,
    translated,
    variant_label,
)

OPERATIONS: Mapping[str, Callable[..., Order]] = {
    "cancel": operations.cancel,
    "return": operations.send_back,
    "exchange": operations.exchange,
    "change": operations.change_items,
    "payment": operations.change_payment,
    "order_address": operations.change_order_address,
}
USER_ADDRESS = "user_address"


def question_before(kind: str) -> Wording:
    """Return the function that words the question before a change; empty where others read along."""

    async def question(args: Json, runtime: Runtime) -> str | None:
        lang, facts = runtime.state["lang"], _address_facts if kind == USER_ADDRESS else _order_facts
        try:
            variables = await read(runtime, lambda records: facts(records, kind, args, lang))
        except Refused:
            return None
        return "" if runtime.context.is_shared else said(f"ask.{kind}", lang, **variables)

    return question


def _address_facts(records: ShopRecords, kind: str, args: Json, lang: str) -> Mapping[str, str]:
    """Return in words whose address becomes which one."""
    user = records.user(args.get("user_id") or records.own_customer())
    return {"name": full_name(user), "address": address_line(cast(Address, args))}


def _order_facts(records: ShopRecords, kind: str, args: Json, lang: str) -> Mapping[str, str]:
    """Try a change of an order, and return in words what it is about."""
    order = records.order(args["order_id"])
    OPERATIONS[kind](records, **args)
    items = operations.taken(order, args["item_ids"]) if "item_ids" in args else order["items"]
    paid_by = [args["payment_method_id"]] if "payment_method_id" in args else [*operations.paid(order)]
    methods = records.user(order["user_id"])["payment_methods"]
    sums = {
        "cancel": sum(operations.paid(order).values()),
        "return": sum(item["price"] for item in items),
        "payment": order["payment_history"][0]["amount"],
    }
    facts = {
        "order": order["order_id"],
        "items": items_line(items, lang),
        "money": money(sums.get(kind, 0), lang),
        "method": "; ".join(method_label(methods[id], lang) for id in paid_by),
        "reason": translated(args.get("reason", ""), lang),
        "address": address_line(cast(Address, args)) if kind == "order_address" else "",
    }
    return {**facts, **_swap_facts(records, order, args, lang, facts["method"])} if "new_item_ids" in args else facts


def _swap_facts(records: ShopRecords, order: Order, args: Json, lang: str, method: str) -> Mapping[str, str]:
    """Return the items that take the place of others, and what is to be paid for that."""
    items = operations.taken(order, args["item_ids"])
    variants = operations.replacements(records, order, args["item_ids"], args["new_item_ids"])
    owed = operations.difference(order, args["item_ids"], variants)
    key = "owed_nothing" if round(owed, 2) == 0 else "owed" if owed > 0 else "owed_back"
    labels = [variant_label(item["name"], variant, lang) for item, variant in zip(items, variants, strict=True)]
    return {"new_items": "; ".join(labels), "owed": said(key, lang, money=money(abs(owed), lang), method=method)}
