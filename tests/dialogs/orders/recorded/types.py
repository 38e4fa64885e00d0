"""Recorded calls of a shop, with the opaque identifiers marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialogs.orders.records import ITEM_ID, ORDER, ORDER_ID, PAYMENT_ID, PRODUCT, PRODUCT_ID, USER, USER_ID, VARIANT

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of result."""

    name: str
    schema: Schema


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _with_lists(schema: Schema) -> Schema:
    """Return the schema of a record with lists in place of records under their identifiers."""
    inner = schema["properties"]
    lists = {name: _many(inner[name]["additionalProperties"]) for name in KEYED if name in inner}
    return {**schema, "properties": {**inner, **lists}}


KEYED = ("variants", "payment_methods")
"""Fields in which the shop keeps records under their identifiers, which the records repeat."""
KINDS = {"order": ORDER, "product": _with_lists(PRODUCT), "user": _with_lists(USER), "item": VARIANT}
ARGUMENTS: Mapping[str, Schema] = {
    "user_id": USER_ID,
    "order_id": ORDER_ID,
    "product_id": PRODUCT_ID,
    "item_id": ITEM_ID,
    "item_ids": _many(ITEM_ID),
    "new_item_ids": _many(ITEM_ID),
    "payment_method_id": PAYMENT_ID,
}


def result_kind(tool: str) -> Kind | None:
    """Return the kind of a tool's result; None if there is no identifier in it."""
    if tool.startswith("find_user_id"):
        return Kind("user found", USER_ID)
    # What changes a user's address returns the user, what changes an order's returns the order.
    part = next((part for part in KINDS if part in tool.split("_")), None)
    return Kind(part, KINDS[part]) if part else None


def as_shown(output: Any) -> Any:
    """Return an output with lists in place of records under their identifiers."""
    if not isinstance(output, Mapping):
        return output
    return {name: list(value.values()) if name in KEYED else value for name, value in output.items()}
