"""Price watches that are met become notices that are due now: the clock that rings tells the user."""

import sqlite3

from langgraph.store.base import BaseStore, Item
from typing_extensions import TypedDict

from agents.memory.connection import Connection
from agents.memory.notices import Notices
from agents.shop.records import Product
from agents.shop.store import Shop, ShopError
from prompts import phrase, table

WATCHES = "price_watches"
"""Where a user's watches stand in long-term memory, by product."""
EACH = 200


class Watch(TypedDict):
    """A product that is watched: the user is told in this thread when it costs less than `below`."""

    product_id: str
    name: str
    below: float
    thread: str
    lang: str


def least_price(product: Product) -> float:
    """Return what a product costs at least. Raises ShopError."""
    prices = [variant["price"] for variant in product["variants"].values() if variant["available"]]
    if not prices:
        raise ShopError("sold_out", item=product["name"])
    return min(prices)


def set_price(db: sqlite3.Connection, item_id: str, price: float) -> Product:
    """Change what an item costs from now on; orders keep what was paid. Raises ShopError."""
    shop = Shop(db, None)
    product = shop.product_of(item_id)
    product["variants"][item_id]["price"] = price
    shop.put("products", product)
    shop.save("", product["product_id"])
    return product


async def tell_watchers(database: Connection, store: BaseStore, notices: Notices) -> int:
    """Add a notice that is due now for each watch that is met, and end the watch; return how many there were.

    A process that is killed in between loses none and tells none twice: a watch goes after its notice is added, and a
    notice of the same watch at the same price is added once.
    """
    prices = await database.read(_prices)
    fired = 0
    for item in await _all(store):
        watch = item.value
        price = prices.get(watch["product_id"])
        if price is not None and price < watch["below"]:
            await _tell(notices, item.namespace[1], item, price)
            await store.adelete(item.namespace, item.key)
            fired += 1
    return fired


async def _tell(notices: Notices, user: str, item: Item, price: float) -> None:
    watch, lang = item.value, item.value["lang"]
    name = table("shop", lang).get("words", {}).get(watch["name"], watch["name"])
    text = phrase("shop_cheaper", lang, product=name, price=phrase("shop_money", lang, amount=f"{price:.2f}"))
    call = f"price-{watch['product_id']}-{item.updated_at.timestamp()}-{price}"
    await notices.add(user, watch["thread"], call, text=text, lang=lang)


async def _all(store: BaseStore) -> list[Item]:
    """Return the watches of all users."""
    spaces = await store.alist_namespaces(prefix=("users",), suffix=(WATCHES,), limit=100_000)
    return [item for space in spaces for item in await store.asearch(space, limit=EACH)]


def _prices(db: sqlite3.Connection) -> dict[str, float]:
    prices: dict[str, float] = {}
    for product in Shop(db, None).products():
        try:
            prices[product["product_id"]] = least_price(product)
        except ShopError:
            continue
    return prices
