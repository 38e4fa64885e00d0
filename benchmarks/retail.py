"""What a shop's tools take and return, as schemas that mark the opaque identifiers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.aliases import MARK

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of result."""

    name: str
    schema: Schema


def _opaque(kind: str) -> Schema:
    return {"type": "string", MARK: kind}


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


USER_ID, ORDER_ID, PRODUCT_ID = _opaque("user"), _opaque("order"), _opaque("product")
ITEM_ID, PAYMENT_ID = _opaque("item"), _opaque("payment method")
ITEM = _object(item_id=ITEM_ID, product_id=PRODUCT_ID)
PRODUCT = _object(product_id=PRODUCT_ID, variants=_many(ITEM))
USER = _object(user_id=USER_ID, payment_methods=_many(_object(id=PAYMENT_ID)), orders=_many(ORDER_ID))
ORDER = _object(
    order_id=ORDER_ID,
    user_id=USER_ID,
    items=_many(ITEM),
    fulfillments=_many(_object(item_ids=_many(ITEM_ID))),
    payment_history=_many(_object(payment_method_id=PAYMENT_ID)),
    exchange_items=_many(ITEM_ID),
    exchange_new_items=_many(ITEM_ID),
    exchange_payment_method_id=PAYMENT_ID,
    return_items=_many(ITEM_ID),
    return_payment_method_id=PAYMENT_ID,
)
ARGUMENTS: Mapping[str, Schema] = {
    "user_id": USER_ID,
    "order_id": ORDER_ID,
    "product_id": PRODUCT_ID,
    "item_id": ITEM_ID,
    "item_ids": _many(ITEM_ID),
    "new_item_ids": _many(ITEM_ID),
    "payment_method_id": PAYMENT_ID,
}
KEYED = ("variants", "payment_methods")
"""Fields in which the shop keeps records under their identifiers, which the records repeat."""


def told(tool: str) -> Kind | None:
    """Return the kind of a tool's result; None if there is no identifier in it."""
    if tool.startswith("find_user_id"):
        return Kind("user found", USER_ID)
    # What changes a user's address returns the user, what changes an order's returns the order.
    for part, kind in (("order", ORDER), ("product", PRODUCT), ("user", USER), ("item", ITEM)):
        if part in tool.split("_"):
            return Kind(part, kind)
    return None


def as_shown(output: Any) -> Any:
    """Return an output with lists in place of records under their identifiers."""
    if not isinstance(output, Mapping):
        return output
    return {name: list(value.values()) if name in KEYED else value for name, value in output.items()}
