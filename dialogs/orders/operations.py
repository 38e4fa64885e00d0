"""Operations on an order or on a customer's details, by the rules of the shop. Each may raise ShopError.

An operation only changes the records that it has read, so a refused one leaves nothing.
"""

from collections.abc import Sequence

from typing_extensions import Unpack

from dialogs.orders.records import Address, Item, Order, Payment, PaymentMethod, User, Variant
from dialogs.orders.store import ShopError, ShopRecords

GIFT_CARD = "gift_card"
PENDING, DELIVERED = "pending", "delivered"
CHANGED_ONCE = "pending (item modified)"


def cancel(records: ShopRecords, order_id: str, reason: str) -> Order:
    """Cancel a pending order and pay its money back."""
    order = _order(records, order_id, PENDING)
    refunds = [_payment(-amount, id) for id, amount in paid(order).items()]
    order["status"], order["cancel_reason"] = "cancelled", reason
    order["payment_history"] += refunds
    for refund in refunds:
        _pay(records, order, refund["payment_method_id"], -refund["amount"])
    return order


def exchange(
    records: ShopRecords, order_id: str, item_ids: Sequence[str], new_item_ids: Sequence[str], payment_method_id: str
) -> Order:
    """Exchange items of a delivered order for others of the same products."""
    order = _order(records, order_id, DELIVERED)
    owed = round(difference(order, item_ids, replacements(records, order, item_ids, new_item_ids)), 2)
    order["status"] = "exchange requested"
    order["exchange_items"], order["exchange_new_items"] = sorted(item_ids), sorted(new_item_ids)
    order["exchange_payment_method_id"], order["exchange_price_difference"] = payment_method_id, owed
    _check_funds(_method(records, order, payment_method_id), owed)
    return order


def send_back(records: ShopRecords, order_id: str, item_ids: Sequence[str], payment_method_id: str) -> Order:
    """Take items of a delivered order back; the money goes to the payment method that paid, or to a gift card."""
    order = _order(records, order_id, DELIVERED)
    if payment_method_id not in refundable(records, order):
        _method(records, order, payment_method_id)
        raise ShopError("refund_elsewhere")
    taken(order, item_ids)
    order["status"] = "return requested"
    order["return_items"], order["return_payment_method_id"] = sorted(item_ids), payment_method_id
    return order


def change_items(
    records: ShopRecords, order_id: str, item_ids: Sequence[str], new_item_ids: Sequence[str], payment_method_id: str
) -> Order:
    """Change items of a pending order to others of the same products; an order allows this once."""
    order = _order(records, order_id, PENDING)
    variants = replacements(records, order, item_ids, new_item_ids)
    # The sum is not rounded, because recorded shops have unrounded sums.
    owed = difference(order, item_ids, variants)
    for item, variant in zip(taken(order, item_ids), variants, strict=True):
        item["item_id"], item["price"], item["options"] = variant["item_id"], variant["price"], variant["options"]
    order["status"] = CHANGED_ONCE
    order["payment_history"].append(_payment(owed, payment_method_id))
    _pay(records, order, payment_method_id, owed)
    return order


def change_payment(records: ShopRecords, order_id: str, payment_method_id: str) -> Order:
    """Let another payment method pay for a pending order."""
    order = _order(records, order_id, PENDING, CHANGED_ONCE)
    [first, *others] = order["payment_history"]
    if others or first["transaction_type"] != "payment":
        raise ShopError("paid_in_parts")
    if first["payment_method_id"] == payment_method_id:
        raise ShopError("pays_already")
    amount, former = first["amount"], first["payment_method_id"]
    order["payment_history"] += [_payment(amount, payment_method_id), _payment(-amount, former)]
    _pay(records, order, payment_method_id, amount)
    _pay(records, order, former, -amount)
    return order


def change_order_address(records: ShopRecords, order_id: str, **address: Unpack[Address]) -> Order:
    """Send a pending order to another address."""
    order = _order(records, order_id, PENDING, CHANGED_ONCE)
    order["address"] = address
    return order


def change_user_address(records: ShopRecords, user_id: str, **address: Unpack[Address]) -> User:
    """Change a customer's address."""
    user = records.user(user_id)
    user["address"] = address
    return user


def taken(order: Order, item_ids: Sequence[str]) -> list[Item]:
    """Return items of an order by their identifiers; an item that was ordered twice may be named twice.

    Raises:
        ShopError: the order does not have all of these items.
    """
    left, items = list(order["items"]), list[Item]()
    for id in item_ids:
        item = next((item for item in left if item["item_id"] == id), None)
        if item is None:
            raise ShopError("not_in_order")
        left.remove(item)
        items.append(item)
    return items


def replacements(
    records: ShopRecords, order: Order, item_ids: Sequence[str], new_item_ids: Sequence[str]
) -> list[Variant]:
    """Return the new items in place of an order's items: of the same products, and in stock. Raises ShopError."""
    if len(item_ids) != len(new_item_ids):
        raise ShopError("as_many_items")
    variants = []
    for item, id in zip(taken(order, item_ids), new_item_ids, strict=True):
        variant = records.product(item["product_id"])["variants"].get(id)
        if variant is None:
            raise ShopError("other_product", item=item["name"])
        if not variant["available"]:
            raise ShopError("sold_out", item=item["name"])
        variants.append(variant)
    return variants


def difference(order: Order, item_ids: Sequence[str], variants: Sequence[Variant]) -> float:
    """Return the price of turning items of an order into others; an amount below zero is paid back."""
    pairs = zip(taken(order, item_ids), variants, strict=True)
    return sum((variant["price"] - item["price"] for item, variant in pairs), 0.0)


def refundable(records: ShopRecords, order: Order) -> list[str]:
    """Return the payment methods to which the money for an order's items may go back."""
    methods = records.user(order["user_id"])["payment_methods"]
    paid_by = order["payment_history"][0]["payment_method_id"]
    return [id for id, method in methods.items() if id == paid_by or method["source"] == GIFT_CARD]


def paid(order: Order) -> dict[str, float]:
    """Return the amount that each payment method has paid for an order, less refunds; unused methods are left out."""
    sums: dict[str, float] = {}
    for entry in order["payment_history"]:
        amount = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
        sums[entry["payment_method_id"]] = sums.get(entry["payment_method_id"], 0) + amount
    return {id: amount for id, amount in sums.items() if amount > 0}


def _order(records: ShopRecords, id: str, *statuses: str) -> Order:
    order = records.order(id)
    if order["status"] not in statuses:
        raise ShopError("wrong_status", status=order["status"], wanted=statuses[0])
    return order


def _method(records: ShopRecords, order: Order, id: str) -> PaymentMethod:
    methods = records.user(order["user_id"])["payment_methods"]
    if id not in methods:
        raise ShopError("no_payment_method")
    return methods[id]


def _check_funds(method: PaymentMethod, amount: float) -> None:
    if method["source"] == GIFT_CARD and method.get("balance", 0) < amount:
        raise ShopError("not_enough", balance=f"{method.get('balance', 0):.2f}", amount=f"{amount:.2f}")


def _pay(records: ShopRecords, order: Order, id: str, amount: float) -> None:
    """Take an amount from a payment method of the order's customer, or pay it back. Only a gift card has a balance."""
    method = _method(records, order, id)
    _check_funds(method, amount)
    if method["source"] == GIFT_CARD:
        method["balance"] = round(method.get("balance", 0) - amount, 2)


def _payment(amount: float, id: str) -> Payment:
    kind = "payment" if amount > 0 else "refund"
    return {"transaction_type": kind, "amount": abs(amount), "payment_method_id": id}
