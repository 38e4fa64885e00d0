"""What the tools of the shop return, as JSON schemas; opaque identifiers are marked in the records' types."""

from typing import Any

from pydantic import TypeAdapter

from agents.language.identifiers import MARK
from dialogs.orders.records import Order, Product, User, Variant

Schema = dict[str, Any]


def _record(kind: Any, brief: str) -> Schema:
    """Return the schema of a record; `brief` is what a model is told of it, since the whole would fill the prompt."""
    return {**TypeAdapter(kind).json_schema(), "$comment": brief}


def _opaque(kind: str) -> Schema:
    return {"type": "string", MARK: kind}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


TEXT, MONEY = {"type": "string"}, {"type": "number"}
OPTIONS = {"type": "object", "additionalProperties": TEXT}
USER_ID, ORDER_ID, PRODUCT_ID = _opaque("user"), _opaque("order"), _opaque("product")
ITEM_ID, PAYMENT_ID = _opaque("item"), _opaque("payment method")
ORDER = _record(
    Order,
    "{order_id, user_id, status, address, items: [{item_id, product_id, name, options, price}], payment_history: "
    "[{amount, payment_method_id}], …}",
)
CHANGED_ORDER = {**ORDER, "$comment": "the order"}
USER = _record(User, "{user_id, name, email, address, payment_methods: {id: {source, …}}, orders: [order_id]}")
CHANGED_USER = {**USER, "$comment": "the customer"}
PRODUCT = _record(Product, "{product_id, name, variants: {item_id: {options, available, price}}}")
VARIANT = TypeAdapter(Variant).json_schema()
PRODUCTS = _many(_object(product_id=PRODUCT_ID, name=TEXT))
ORDERS = _many(_object(order_id=ORDER_ID, status=TEXT, items=_many(TEXT), total=MONEY))
CHOSEN_ORDER = _object(order_id=ORDER_ID, status=TEXT, items=_many(TEXT))
CHOSEN_ITEM = _object(item_id=ITEM_ID, product_id=PRODUCT_ID, name=TEXT, price=MONEY)
CHOSEN_NEW_ITEM = _object(new_item_id=ITEM_ID, options=OPTIONS, price=MONEY)
CHOSEN_PAYMENT = _object(payment_method_id=PAYMENT_ID, source=TEXT)
CHOSEN_PRODUCT = _object(product_id=PRODUCT_ID, name=TEXT)
