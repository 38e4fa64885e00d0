"""Tools that let the user choose what a change of an order is about, or fill it in.

Each returns the argument that another tool wants under the name that it has there.
"""

from typing import Annotated, Literal, TypeVar

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from agents.language.identifiers.spelled_out import spelled
from agents.shop.operations import refundable
from agents.shop.records import Item, ItemId, Order, OrderId, PaymentMethod, Variant
from agents.shop.store import Shop, ShopError
from agents.toolkit import Answer, Option, Runtime, choice, request, traits
from agents.tools.orders.access import own_customer, read
from agents.tools.orders.schemas import CHOSEN_ITEM, CHOSEN_NEW_ITEM, CHOSEN_ORDER, CHOSEN_PAYMENT, CHOSEN_PRODUCT
from agents.tools.orders.wording import (
    is_called,
    item_label,
    items_line,
    method_label,
    money,
    order_title,
    translated,
    variant_label,
)
from prompts import FALLBACK, phrase

T = TypeVar("T")
Words = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


@traits(kind="selector", result=CHOSEN_ORDER, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_order(
    runtime: Runtime, status: Literal["pending", "delivered"] | None = None, words: Words | None = None
) -> Answer:
    """Let the user choose one of their orders. words: what they said of it."""
    lang = runtime.state["lang"]

    def fitting(shop: Shop) -> list[Order]:
        orders = shop.orders_of(shop.user(own_customer(shop)))
        named = [order for order in orders if words is None or _is_order(order, words, lang)]
        return _some([order for order in named if order["status"].startswith(status or "")], words)

    return choice(phrase("shop_which_order", lang), [_order_option(it, lang) for it in await read(runtime, fitting)])


@traits(kind="selector", result=CHOSEN_ITEM, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_item(order_id: OrderId, runtime: Runtime, words: Words | None = None) -> Answer:
    """Let the user choose one of an order's items."""
    lang = runtime.state["lang"]

    def fitting(shop: Shop) -> list[Item]:
        items = {item["item_id"]: item for item in shop.order(order_id)["items"]}.values()
        return _some([item for item in items if words is None or _is_item(item, words, lang)], words)

    options = [
        Option(
            item_label(item, lang),
            {
                "item_id": item["item_id"],
                "product_id": item["product_id"],
                "name": item["name"],
                "price": item["price"],
            },
            money(item["price"], lang),
            item["item_id"],
            {"price": item["price"]},
        )
        for item in await read(runtime, fitting)
    ]
    return choice(phrase("shop_which_item", lang), options)


@traits(kind="selector", result=CHOSEN_NEW_ITEM, always=True)
@tool(response_format="content_and_artifact")
async def choose_new_item(item_id: ItemId, runtime: Runtime) -> Answer:
    """Let the user choose what an item is exchanged for."""
    lang = runtime.state["lang"]

    def others(shop: Shop) -> tuple[str, list[Variant]]:
        product = shop.product_of(item_id)
        there = [it for it in product["variants"].values() if it["available"] and it["item_id"] != item_id]
        if not there:
            raise ShopError("sold_out", item=product["name"])
        return product["name"], there

    name, variants = await read(runtime, others)
    options = [
        Option(
            variant_label(name, variant, lang),
            {"new_item_id": variant["item_id"], "options": variant["options"], "price": variant["price"]},
            money(variant["price"], lang),
            variant["item_id"],
            {"price": variant["price"]},
        )
        for variant in variants
    ]
    return choice(phrase("shop_which_new_item", lang), options)


@traits(kind="selector", result=CHOSEN_PAYMENT, private=True, always=True)
@tool(response_format="content_and_artifact")
async def choose_payment_method(
    order_id: OrderId, runtime: Runtime, purpose: Literal["return", "exchange", "modify"] | None = None
) -> Answer:
    """Let the user choose how an order is paid, or where its money goes back to."""
    lang = runtime.state["lang"]

    def fitting(shop: Shop) -> list[PaymentMethod]:
        order = shop.order(order_id)
        methods = shop.user(order["user_id"])["payment_methods"]
        ids = refundable(shop, order) if purpose == "return" else list(methods)
        return [methods[id] for id in ids]

    options = [
        Option(
            method_label(method, lang), {"payment_method_id": method["id"], "source": method["source"]}, id=method["id"]
        )
        for method in await read(runtime, fitting)
    ]
    return choice(phrase("shop_which_payment", lang), options)


@traits(kind="selector", result=CHOSEN_PRODUCT, always=True)
@tool(response_format="content_and_artifact")
async def choose_product(runtime: Runtime, words: Words | None = None) -> Answer:
    """Let the user choose a product of the shop."""
    lang = runtime.state["lang"]
    products = await read(runtime, Shop.products)
    named = [
        it for it in products if words is None or is_called(words, (it["name"], translated(it["name"], lang)), lang)
    ]
    options = [
        Option(translated(it["name"], lang), {"product_id": it["product_id"], "name": it["name"]}, id=it["product_id"])
        for it in named
    ]
    return choice(phrase("shop_which_product", lang), options)


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
async def ask_address(runtime: Runtime) -> Answer:
    """Let the user fill in an address."""
    return request(phrase("shop_which_address", runtime.state["lang"]))


@traits(kind="breaker", form=Wanted, always=True)
@tool(response_format="content_and_artifact")
async def ask_product(runtime: Runtime) -> Answer:
    """Let the user fill in which product they mean, if they named none."""
    return request(phrase("shop_which_wanted", runtime.state["lang"]))


def _order_option(order: Order, lang: str) -> Option:
    names = [item_label(item, lang) for item in order["items"]]
    value = {"order_id": order["order_id"], "status": order["status"], "items": names}
    return Option(order_title(order, lang), value, items_line(order["items"], lang), order["order_id"])


def _is_order(order: Order, words: str, lang: str) -> bool:
    return order["order_id"] in spelled([words]) or any(_is_item(item, words, lang) for item in order["items"])


def _is_item(item: Item, words: str, lang: str) -> bool:
    return is_called(words, (item_label(item, lang), item_label(item, FALLBACK)), lang)


def _some(named: list[T], words: str | None) -> list[T]:
    if not named and words is not None:
        raise ShopError("nothing_called", words=words)
    return named
