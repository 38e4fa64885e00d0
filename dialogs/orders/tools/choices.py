"""Tools that let the user choose the parts of a change of an order, or fill them in.

Each returns the argument of another tool, under its name there.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from agents.events.views import MOST_ENTRIES
from agents.language.identifiers import spelled
from agents.toolkit import Answer, Option, Runtime, choice, request, traits
from dialogs.orders import records, wording
from dialogs.orders.operations import refundable
from dialogs.orders.records import Item, ItemId, Order, OrderId, PaymentMethod, Product, Variant
from dialogs.orders.store import ShopError, ShopRecords, read
from dialogs.orders.wording import item_label, money, said
from prompts import FALLBACK

T = TypeVar("T")
Words = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


@traits(kind="selector", result=records.CHOSEN_ORDER, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_order(
    runtime: Runtime, status: Literal["pending", "delivered"] | None = None, words: Words | None = None
) -> Answer:
    """Let the user choose one of their orders.

    status: only those.
    words: what the user called it, such as an item in it.
    """
    lang = runtime.state["lang"]

    def fitting(shop: ShopRecords) -> Sequence[Order]:
        called_orders = _called(
            shop.own_orders(),
            words,
            lambda order, words: _is_order(order, words, lang),
            lambda order: f"{order['order_id']} ({wording.items_line(order['items'], lang)})",
        )
        with_status = [order for order in called_orders if order["status"].startswith(status or "")]
        if words and called_orders and not with_status:
            raise ShopError("wrong_status", status=called_orders[0]["status"], wanted=status)
        return with_status

    def option(order: Order) -> Option:
        items = [item_label(item, lang) for item in order["items"]]
        value = {"order_id": order["order_id"], "status": order["status"], "items": items}
        return Option(
            wording.order_title(order, lang), value, wording.items_line(order["items"], lang), order["order_id"]
        )

    return choice(said("which_order", lang), [*map(option, await read(runtime, fitting))])


@traits(kind="selector", result=records.CHOSEN_ITEM, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_item(order_id: OrderId, runtime: Runtime, words: Words | None = None) -> Answer:
    """Let the user choose one of an order's items.

    order_id: as listed.
    words: what the user called the item.
    """
    lang = runtime.state["lang"]

    def fitting(shop: ShopRecords) -> Sequence[Item]:
        items = {item["item_id"]: item for item in shop.order(order_id)["items"]}
        return _called(
            [*items.values()],
            words,
            lambda item, words: _is_item(item, words, lang),
            lambda item: item_label(item, lang),
        )

    def option(item: Item) -> Option:
        value = {name: item[name] for name in ("item_id", "product_id", "name", "price")}
        price = item["price"]
        return Option(item_label(item, lang), value, money(price, lang), item["item_id"], {"price": price})

    return choice(said("which_item", lang), [*map(option, await read(runtime, fitting))])


@traits(kind="selector", result=records.CHOSEN_NEW_ITEM, always=True)
@tool(response_format="content_and_artifact")
async def choose_new_item(item_id: ItemId, runtime: Runtime) -> Answer:
    """Let the user choose what an item is exchanged for.

    item_id: the item that goes back.
    """
    lang = runtime.state["lang"]
    product = await read(runtime, lambda shop: _with_others(shop, item_id))

    def option(variant: Variant) -> Option:
        id, price = variant["item_id"], variant["price"]
        value = {"new_item_id": id, "options": variant["options"], "price": price}
        return Option(
            wording.variant_label(product["name"], variant, lang), value, money(price, lang), id, {"price": price}
        )

    return choice(said("which_new_item", lang), [*map(option, product["variants"].values())])


@traits(kind="selector", result=records.CHOSEN_PAYMENT, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_payment_method(
    order_id: OrderId,
    runtime: Runtime,
    purpose: Literal["return", "exchange", "modify"] | None = None,
    words: Words | None = None,
) -> Answer:
    """Let the user choose how an order is paid, or where its money goes back to.

    order_id: as listed.
    purpose: what for.
    words: its name, if the user gave one ("gift card").
    """
    lang = runtime.state["lang"]

    def fitting(shop: ShopRecords) -> Sequence[PaymentMethod]:
        order = shop.order(order_id)
        methods = shop.user(order["user_id"])["payment_methods"]
        usable = [methods[id] for id in (refundable(shop, order) if purpose == "return" else methods)]
        methods_called = _called(
            usable,
            words,
            lambda method, words: wording.is_called(words, labels(method), lang),
            lambda method: wording.method_label(method, lang),
        )
        # "My card" does not mean a gift card.
        first = [it for it in methods_called if words and wording.begins(words, labels(it), lang)]
        return first or methods_called

    def labels(method: PaymentMethod) -> Sequence[str]:
        return wording.method_label(method, lang), wording.method_label(method, FALLBACK), method["source"]

    def option(method: PaymentMethod) -> Option:
        label = wording.method_label(method, lang)
        value = {"payment_method_id": method["id"], "source": method["source"], "name": label}
        return Option(label, value, id=method["id"], facts={"source": method["source"].replace("_", " ")})

    return choice(said("which_payment", lang), [*map(option, await read(runtime, fitting))])


@traits(kind="selector", result=records.CHOSEN_PRODUCT, always=True)
@tool(response_format="content_and_artifact")
async def choose_product(runtime: Runtime, words: Words | None = None) -> Answer:
    """Let the user choose a product of the shop.

    words: what the user called it.
    """
    lang = runtime.state["lang"]
    products = await read(runtime, ShopRecords.products)

    def option(product: Product) -> Option:
        value = {"product_id": product["product_id"], "name": product["name"]}
        return Option(wording.translated(product["name"], lang), value, id=product["product_id"])

    fitting = [product for product in products if words is None or is_product(product, words, lang)]
    return choice(said("which_product", lang), [*map(option, fitting)])


class NewAddress(BaseModel):
    """An address as a user fills it in."""

    address1: Text
    address2: str = ""
    city: Text
    state: str = ""
    country: Text
    zip: Text


class Wanted(BaseModel):
    """The product that a price watch is about."""

    product: Text


@traits(kind="breaker", form=NewAddress, always=True)
@tool(response_format="content_and_artifact")
async def ask_address(runtime: Runtime, address1: str = "", city: str = "", zip: str = "") -> Answer:
    """Let the user fill in an address, but for the given parts.

    address1: street and house.
    city: city.
    zip: zip code.
    """
    return request(said("which_address", runtime.state["lang"]))


@traits(kind="breaker", form=Wanted, always=True)
@tool(response_format="content_and_artifact")
async def ask_product(runtime: Runtime) -> Answer:
    """Let the user fill in which product they mean, if they named none."""
    return request(said("which_wanted", runtime.state["lang"]))


def is_product(product: Product, words: str, lang: str) -> bool:
    """Tell whether the name of a product has all of the user's significant words."""
    return wording.is_called(words, (product["name"], wording.translated(product["name"], lang)), lang)


def _is_order(order: Order, words: str, lang: str) -> bool:
    return order["order_id"] in spelled([words]) or any(_is_item(item, words, lang) for item in order["items"])


def _is_item(item: Item, words: str, lang: str) -> bool:
    return wording.is_called(words, (item_label(item, lang), item_label(item, FALLBACK)), lang)


def _called(
    entries: Sequence[T], words: str | None, fits: Callable[[T, str], bool], label: Callable[[T], str]
) -> Sequence[T]:
    """Return the entries that fit the user's words, all entries without words.

    Raises ShopError if no entry fits; it names the existing ones.
    """
    if words is None:
        return entries
    fitting = [entry for entry in entries if fits(entry, words)]
    if not fitting:
        names = "; ".join(label(entry) for entry in entries[:MOST_ENTRIES])
        raise ShopError("only_called", words=words, names=names or "–")
    return fitting


def _with_others(shop: ShopRecords, item_id: str) -> Product:
    """Return the product of an item with only its other items in stock. Raises ShopError if there are none."""
    product = shop.product_of(item_id)
    others = {id: variant for id, variant in product["variants"].items() if variant["available"] and id != item_id}
    if not others:
        raise ShopError("sold_out", item=product["name"])
    return {**product, "variants": others}
