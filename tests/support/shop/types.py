"""What a shop's tools take and return, with the opaque identifiers marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from agents.identifiers import MARK, Opaque

Schema = Mapping[str, Any]
UserId = Annotated[str, Opaque("user")]
OrderId = Annotated[str, Opaque("order")]
ProductId = Annotated[str, Opaque("product")]
ItemId = Annotated[str, Opaque("item")]
PaymentId = Annotated[str, Opaque("payment method")]


@dataclass(frozen=True)
class Kind:
    """A kind of result."""

    name: str
    schema: Schema


def _opaque(kind: str) -> Schema:
    return {"type": "string", MARK: kind}


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _keyed(by: Schema, schema: Schema) -> Schema:
    return {"type": "object", "propertyNames": by, "additionalProperties": schema}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


USER_ID, ORDER_ID, PRODUCT_ID = _opaque("user"), _opaque("order"), _opaque("product")
ITEM_ID, PAYMENT_ID = _opaque("item"), _opaque("payment method")
TEXT, MONEY = {"type": "string"}, {"type": "number"}
OPTIONS = {"type": "object", "additionalProperties": TEXT}
ADDRESS = _object(address1=TEXT, address2=TEXT, city=TEXT, state=TEXT, country=TEXT, zip=TEXT)
ITEM = _object(item_id=ITEM_ID, product_id=PRODUCT_ID, name=TEXT, options=OPTIONS, price=MONEY)
VARIANT = _object(item_id=ITEM_ID, options=OPTIONS, available={"type": "boolean"}, price=MONEY)
PRODUCT = _object(product_id=PRODUCT_ID, name=TEXT, variants=_many(VARIANT))
PRODUCTS = _many(_object(product_id=PRODUCT_ID, name=TEXT))
METHOD = _object(id=PAYMENT_ID, source=TEXT, balance=MONEY, brand=TEXT, last_four=TEXT)
USER = _object(
    user_id=USER_ID,
    name=_object(first_name=TEXT, last_name=TEXT),
    email=TEXT,
    address=ADDRESS,
    payment_methods=_many(METHOD),
    orders=_many(ORDER_ID),
)
ORDER = _object(
    order_id=ORDER_ID,
    user_id=USER_ID,
    status=TEXT,
    address=ADDRESS,
    items=_many(ITEM),
    fulfillments=_many(_object(item_ids=_many(ITEM_ID), tracking_id=_many(TEXT))),
    payment_history=_many(_object(transaction_type=TEXT, amount=MONEY, payment_method_id=PAYMENT_ID)),
    cancel_reason=TEXT,
    exchange_items=_many(ITEM_ID),
    exchange_new_items=_many(ITEM_ID),
    exchange_payment_method_id=PAYMENT_ID,
    exchange_price_difference=MONEY,
    return_items=_many(ITEM_ID),
    return_payment_method_id=PAYMENT_ID,
)
USER_RECORD = {**USER, "properties": {**USER["properties"], "payment_methods": _keyed(PAYMENT_ID, METHOD)}}
PRODUCT_RECORD = {**PRODUCT, "properties": {**PRODUCT["properties"], "variants": _keyed(ITEM_ID, VARIANT)}}
"""As the shop keeps them: what they have many of under its identifiers."""
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


def result_kind(tool: str) -> Kind | None:
    """Return the kind of a tool's result; None if there is no identifier in it."""
    if tool.startswith("find_user_id"):
        return Kind("user found", USER_ID)
    # What changes a user's address returns the user, what changes an order's returns the order.
    for part, kind in (("order", ORDER), ("product", PRODUCT), ("user", USER), ("item", VARIANT)):
        if part in tool.split("_"):
            return Kind(part, kind)
    return None


def as_shown(output: Any) -> Any:
    """Return an output with lists in place of records under their identifiers."""
    if not isinstance(output, Mapping):
        return output
    return {name: list(value.values()) if name in KEYED else value for name, value in output.items()}
