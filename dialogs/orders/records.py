"""The records of a shop, in the schema of tau2-bench's retail environment, and the schemas of its tools' results."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.language.identifiers import MARK, Opaque

UserId = Annotated[str, Opaque("user")]
OrderId = Annotated[str, Opaque("order")]
ProductId = Annotated[str, Opaque("product")]
ItemId = Annotated[str, Opaque("item")]
PaymentId = Annotated[str, Opaque("payment method")]
Kind = Literal["users", "orders", "products"]
Schema = dict[str, Any]
TEXT, MONEY = {"type": "string"}, {"type": "number"}
OPTIONS = {"type": "object", "additionalProperties": TEXT}


class Address(TypedDict):
    """Where a parcel goes."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class Variant(TypedDict):
    """An item that a product is sold as: a size, a colour. The price is in the shop's currency."""

    item_id: ItemId
    options: dict[str, str]
    available: bool
    price: float


class Product(TypedDict):
    """A product with all its items."""

    name: str
    product_id: ProductId
    variants: dict[ItemId, Variant]


class Item(TypedDict):
    """An item of an order, at the price that was paid."""

    name: str
    product_id: ProductId
    item_id: ItemId
    price: float
    options: dict[str, str]


class PaymentMethod(TypedDict):
    """How a user pays; only a gift card has a balance."""

    source: str
    id: PaymentId
    brand: NotRequired[str]
    last_four: NotRequired[str]
    balance: NotRequired[float]


class Name(TypedDict):
    """A customer's name."""

    first_name: str
    last_name: str


class User(TypedDict):
    """A customer of the shop."""

    user_id: UserId
    name: Name
    address: Address
    email: str
    payment_methods: dict[PaymentId, PaymentMethod]
    orders: list[OrderId]


class Fulfillment(TypedDict):
    """A parcel with some of an order's items."""

    tracking_id: list[str]
    item_ids: list[ItemId]


class Payment(TypedDict):
    """Money that was paid, or paid back."""

    transaction_type: str
    amount: float
    payment_method_id: PaymentId


class Order(TypedDict):
    """An order. What was exchanged or returned is noted on it; the items themselves stay."""

    order_id: OrderId
    user_id: UserId
    address: Address
    items: list[Item]
    status: str
    fulfillments: list[Fulfillment]
    payment_history: list[Payment]
    cancel_reason: NotRequired[str | None]
    exchange_items: NotRequired[list[ItemId] | None]
    exchange_new_items: NotRequired[list[ItemId] | None]
    exchange_payment_method_id: NotRequired[PaymentId | None]
    exchange_price_difference: NotRequired[float | None]
    return_items: NotRequired[list[ItemId] | None]
    return_payment_method_id: NotRequired[PaymentId | None]


class Database(TypedDict):
    """A whole shop, each record under its identifier."""

    products: dict[str, Product]
    users: dict[str, User]
    orders: dict[str, Order]


def _record(kind: Any, brief: str) -> Schema:
    """Return the schema of a record; `brief` is its text for models, since the whole would fill the prompt."""
    return {**TypeAdapter(kind).json_schema(), "$comment": brief}


def _opaque(kind: str) -> Schema:
    return {"type": "string", MARK: kind}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


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
CHOSEN_PAYMENT = _object(payment_method_id=PAYMENT_ID, source=TEXT, name=TEXT)
CHOSEN_PRODUCT = _object(product_id=PRODUCT_ID, name=TEXT)
