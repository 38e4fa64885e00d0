"""Tools that change an order or a customer's details. Each is one transaction.

The user is asked before each, with the real items and money: the operation is tried, and nothing of it is saved. A
change that the shop would refuse is not asked. An order can be changed once with the same arguments; an address may be
set back to a former one.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Annotated, Literal, cast

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from agents.language.identifiers import Schema
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.traits import Wording
from dialogs.orders import operations, wording
from dialogs.orders.records import CHANGED_ORDER, CHANGED_USER, Address, ItemId, Order, OrderId, PaymentId, UserId
from dialogs.orders.store import ShopRecords, change, read
from dialogs.orders.wording import address_line, items_line, method_label, money, said

OPERATIONS: Mapping[str, Callable[..., Order]] = {
    "cancel": operations.cancel,
    "return": operations.send_back,
    "exchange": operations.exchange,
    "change": operations.change_items,
    "payment": operations.change_payment,
    "order_address": operations.change_order_address,
}
USER_ADDRESS = "user_address"
Items = Annotated[list[ItemId], Field(min_length=1)]
Reason = Literal["no longer needed", "ordered by mistake"]
RETURN = ("order_id", "item_ids", "payment_method_id")
EXCHANGE = ("order_id", "item_ids", "new_item_ids", "payment_method_id")


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
    user = records.user(args.get("user_id") or records.own_customer())
    return {"name": wording.full_name(user), "address": address_line(cast(Address, args))}


def _order_facts(records: ShopRecords, kind: str, args: Json, lang: str) -> Mapping[str, str]:
    """Try a change of an order, and return the facts for its question, in words."""
    order = deepcopy(records.order(args["order_id"]))
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
        "reason": wording.translated(args.get("reason", ""), lang),
        "address": address_line(cast(Address, args)) if kind == "order_address" else "",
    }
    return {**facts, **_swap_facts(records, order, args, lang, facts["method"])} if "new_item_ids" in args else facts


def _swap_facts(records: ShopRecords, order: Order, args: Json, lang: str, method: str) -> Mapping[str, str]:
    items = operations.taken(order, args["item_ids"])
    variants = operations.replacements(records, order, args["item_ids"], args["new_item_ids"])
    owed = operations.difference(order, args["item_ids"], variants)
    key = "owed_nothing" if round(owed, 2) == 0 else "owed" if owed > 0 else "owed_back"
    labels = [wording.variant_label(item["name"], variant, lang) for item, variant in zip(items, variants, strict=True)]
    return {"new_items": "; ".join(labels), "owed": said(key, lang, money=money(abs(owed), lang), method=method)}


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
    """Cancel a pending order and pay the money back.

    order_id: as listed.
    reason: as the user says.
    """
    return await _changed(runtime, "cancel", order_id, reason=reason)


@changing("exchange", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def exchange_delivered_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Exchange items of a delivered order for others of the same products, once, so all together.

    order_id: as listed.
    item_ids: of its items.
    new_item_ids: in the order of item_ids.
    payment_method_id: pays the difference, or gets it.
    """
    items = {"item_ids": item_ids, "new_item_ids": new_item_ids}
    return await _changed(runtime, "exchange", order_id, **items, payment_method_id=payment_method_id)


@changing("return", key=RETURN)
@tool(response_format="content_and_artifact")
async def return_delivered_order_items(
    order_id: OrderId, item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Take items of a delivered order back.

    order_id: as listed.
    item_ids: of its items.
    payment_method_id: gets the money; the one that paid, or a gift card.
    """
    return await _changed(runtime, "return", order_id, item_ids=item_ids, payment_method_id=payment_method_id)


@changing("change", key=EXCHANGE)
@tool(response_format="content_and_artifact")
async def modify_pending_order_items(
    order_id: OrderId, item_ids: Items, new_item_ids: Items, payment_method_id: PaymentId, runtime: Runtime
) -> Answer:
    """Change items of a pending order to others of the same products, once, so all together.

    order_id: as listed.
    item_ids: of its items.
    new_item_ids: in the order of item_ids.
    payment_method_id: pays the difference, or gets it.
    """
    items = {"item_ids": item_ids, "new_item_ids": new_item_ids}
    return await _changed(runtime, "change", order_id, **items, payment_method_id=payment_method_id)


@changing("payment", key=("order_id", "payment_method_id"))
@tool(response_format="content_and_artifact")
async def modify_pending_order_payment(order_id: OrderId, payment_method_id: PaymentId, runtime: Runtime) -> Answer:
    """Let another payment method pay for a pending order.

    order_id: as listed.
    payment_method_id: pays from now on.
    """
    return await _changed(runtime, "payment", order_id, payment_method_id=payment_method_id)


@changing("order_address")
@tool(response_format="content_and_artifact")
async def modify_pending_order_address(
    order_id: OrderId, address1: str, address2: str, city: str, state: str, country: str, zip: str, runtime: Runtime
) -> Answer:
    """Send a pending order to another address.

    order_id: as listed.
    address1: street and house.
    address2: flat or suite, may be empty.
    city: city.
    state: state or region.
    country: country.
    zip: zip code.
    """
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
    """Change where a customer lives.

    address1: street and house.
    address2: flat or suite, may be empty.
    city: city.
    state: state or region.
    country: country.
    zip: zip code.
    user_id: left out, the user's own.
    """
    address = Address(address1=address1, address2=address2, city=city, country=country, state=state, zip=zip)
    customer = await read(runtime, ShopRecords.own_customer) if user_id is None else user_id
    user = await change(runtime, customer, lambda records: operations.change_user_address(records, customer, **address))
    return result(user, view=wording.user_view(user, runtime.state["lang"]))


async def _changed(runtime: Runtime, kind: str, order_id: str, **args: object) -> Answer:
    order = await change(runtime, order_id, lambda records: OPERATIONS[kind](records, order_id, **args))
    return result(order, view=wording.order_view(order, runtime.state["lang"]))
