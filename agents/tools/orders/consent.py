"""What the user is asked before the shop is changed: what would come of the call, with the real items and money."""

from collections.abc import Callable, Mapping, Sequence

from agents.shop.operations import (
    cancel,
    change_items,
    change_order_address,
    change_payment,
    change_user_address,
    difference,
    exchange,
    paid,
    send_back,
    taken,
)
from agents.shop.records import Address, Order
from agents.shop.store import Shop
from agents.state.talk import Json
from agents.toolkit import Refused, Runtime
from agents.toolkit.traits import Wording
from agents.tools.orders.access import own_customer, read
from agents.tools.orders.wording import address_line, items_line, method_label, money, translated, variant_label
from prompts import phrase

Facts = Mapping[str, str]
Outcome = Callable[[Shop, Json, str], Facts]


def asked(kind: str) -> Wording:
    """Return what words the question before a change of this kind; empty where others read along.

    What the shop would refuse is not asked: the operation is tried, and nothing of it is saved.
    """

    async def question(args: Json, runtime: Runtime) -> str | None:
        lang = runtime.state["lang"]
        try:
            facts = await read(runtime, lambda shop: OUTCOMES[kind](shop, args, lang))
        except Refused:
            return None
        return "" if runtime.context.is_shared else phrase(f"shop_ask_{kind}", lang, **facts)

    return question


def _cancelled(shop: Shop, args: Json, lang: str) -> Facts:
    before = shop.order(args["order_id"])
    cancel(shop, **args)
    methods = "; ".join(_method(shop, before, id, lang) for id in paid(before))
    total = money(sum(paid(before).values()), lang)
    reason = translated(args["reason"], lang)
    return {"order": before["order_id"], "items": items_line(before["items"], lang), "reason": reason, "money": total,
            "method": methods}  # fmt: skip


def _returned(shop: Shop, args: Json, lang: str) -> Facts:
    order = send_back(shop, **args)
    items = taken(order, args["item_ids"])
    return {
        "order": order["order_id"],
        "items": items_line(items, lang),
        "money": money(sum(item["price"] for item in items), lang),
        "method": _method(shop, order, args["payment_method_id"], lang),
    }


def _exchanged(shop: Shop, args: Json, lang: str) -> Facts:
    before = shop.order(args["order_id"])
    exchange(shop, **args)
    return _swapped(shop, before, args, lang)


def _changed(shop: Shop, args: Json, lang: str) -> Facts:
    before = shop.order(args["order_id"])
    change_items(shop, **args)
    return _swapped(shop, before, args, lang)


def _swapped(shop: Shop, before: Order, args: Json, lang: str) -> Facts:
    items = taken(before, args["item_ids"])
    products = [shop.product(item["product_id"]) for item in items]
    variants = [product["variants"][id] for product, id in zip(products, args["new_item_ids"], strict=True)]
    owed = difference(before, args["item_ids"], variants)
    method = _method(shop, before, args["payment_method_id"], lang)
    key = "shop_owed_nothing" if round(owed, 2) == 0 else "shop_owed" if owed > 0 else "shop_owed_back"
    return {
        "order": before["order_id"],
        "items": items_line(items, lang),
        "new_items": "; ".join(
            variant_label(it["name"], variant, lang) for it, variant in zip(items, variants, strict=True)
        ),
        "owed": phrase(key, lang, money=money(abs(owed), lang), method=method),
    }


def _paid(shop: Shop, args: Json, lang: str) -> Facts:
    order = change_payment(shop, **args)
    total = money(order["payment_history"][0]["amount"], lang)
    return {"order": order["order_id"], "money": total, "method": _method(shop, order, args["payment_method_id"], lang)}


def _sent(shop: Shop, args: Json, lang: str) -> Facts:
    order = change_order_address(shop, args["order_id"], _address(args))
    return {"order": order["order_id"], "address": address_line(order["address"])}


def _moved(shop: Shop, args: Json, lang: str) -> Facts:
    user = change_user_address(shop, args.get("user_id") or own_customer(shop), _address(args))
    return {"name": " ".join(_named(user["name"])), "address": address_line(user["address"])}


OUTCOMES: Mapping[str, Outcome] = {
    "cancel": _cancelled,
    "return": _returned,
    "exchange": _exchanged,
    "change": _changed,
    "payment": _paid,
    "order_address": _sent,
    "user_address": _moved,
}


def _address(args: Json) -> Address:
    return {
        "address1": args["address1"],
        "address2": args["address2"],
        "city": args["city"],
        "country": args["country"],
        "state": args["state"],
        "zip": args["zip"],
    }


def _method(shop: Shop, order: Order, id: str, lang: str) -> str:
    return method_label(shop.user(order["user_id"])["payment_methods"][id], lang)


def _named(name: Mapping[str, object]) -> Sequence[str]:
    return [str(part) for part in name.values()]
