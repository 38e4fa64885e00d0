"""Price watches: the user is told, as reminders are, when a product has become cheaper."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.tools import tool
from langgraph.store.base import BaseStore
from pydantic import Field

from agents.memory.store import namespace_of
from agents.shop.price_watch import WATCHES, Watch, least_price
from agents.shop.records import Product
from agents.shop.store import Shop, ShopError
from agents.toolkit import Answer, CardList, Entry, Refused, Runtime, result, traits
from agents.toolkit.undo import entered
from agents.tools.orders.access import read
from agents.tools.orders.wording import is_called, money, translated
from prompts import phrase

Words = Annotated[str, Field(min_length=1, max_length=200)]
Price = Annotated[float, Field(gt=0)]
MOST = 50
"""Price watches that a user may have."""


class PriceWatches:
    """Price watches as they are taken back; the key of one is its product."""

    name = "price_watches"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return those that there are."""
        return {key: value for key, value in (await _watches(runtime)).items() if key in keys}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put one back, or take it away."""
        await _put(runtime, key, value)

    def same(self, one: Any, other: Any) -> bool:
        """Compare what is watched, and below which price."""
        return bool(one == other)

    def worded(self, value: Any, lang: str) -> str:
        """Return a watch in words."""
        return _line(value, lang)


ITEMS = PriceWatches()


@traits(effect="write", repeatable=True, undo=ITEMS)
@tool
async def watch_price(product: Words, runtime: Runtime, below: Price | None = None) -> str:
    """Watch a product's price, and tell the user when it drops. product: its name. below: only under this price."""
    lang, context = runtime.state["lang"], runtime.context
    if not context.rings:
        # Nothing may be promised here.
        raise Refused(phrase("notices_nowhere", lang))
    named = await read(runtime, lambda shop: _named(shop, product, lang))
    price = least_price(named)
    watch: Watch = {
        "product_id": named["product_id"],
        "name": named["name"],
        "below": below or price,
        "thread": context.thread,
        "lang": lang,
    }
    watches = await _watches(runtime)
    if len(watches.keys() | {named["product_id"]}) > MOST:
        return phrase("shop_watches_full", lang, most=MOST)
    await entered(runtime, ITEMS, {named["product_id"]: (watches.get(named["product_id"]), watch)})
    await _put(runtime, named["product_id"], watch)
    return phrase("shop_watched", lang, watch=_line(watch, lang), price=money(price, lang))


@traits(view="cards", private=True)
@tool(response_format="content_and_artifact")
async def list_price_watches(runtime: Runtime) -> Answer:
    """List the products whose price is watched for the user."""
    lang, watches = runtime.state["lang"], await _watches(runtime)
    entries = [Entry(_line(watch, lang)) for watch in watches.values()]
    if not entries:
        return result(message=phrase("shop_watches_none", lang))
    return result(view=CardList(title=phrase("shop_watches", lang), entries=entries))


@traits(effect="write", repeatable=True, undo=ITEMS)
@tool
async def stop_price_watch(product: Words, runtime: Runtime) -> str:
    """Stop watching a product's price. product: its name."""
    lang, watches = runtime.state["lang"], await _watches(runtime)
    named = await read(runtime, lambda shop: _named(shop, product, lang))
    watch = watches.get(named["product_id"])
    if watch is not None:
        await entered(runtime, ITEMS, {named["product_id"]: (watch, None)})
        await _put(runtime, named["product_id"], None)
    return phrase("shop_unwatched", lang, product=translated(named["name"], lang))


def _named(shop: Shop, words: str, lang: str) -> Product:
    """Return the one product that goes by these words. Raises ShopError."""
    products = [it for it in shop.products() if is_called(words, (it["name"], translated(it["name"], lang)), lang)]
    if not products:
        raise ShopError("nothing_called", words=words)
    if len(products) > 1:
        raise ShopError("several_called", words=words, names=", ".join(translated(it["name"], lang) for it in products))
    return products[0]


async def _watches(runtime: Runtime) -> Mapping[str, Any]:
    items = await _store(runtime).asearch(namespace_of(runtime.context.user, WATCHES), limit=MOST + 1)
    return {item.key: item.value for item in items}


async def _put(runtime: Runtime, key: str, value: Any) -> None:
    place = namespace_of(runtime.context.user, WATCHES)
    if value is None:
        await _store(runtime).adelete(place, key)
    else:
        await _store(runtime).aput(place, key, value)


def _store(runtime: Runtime) -> BaseStore:
    assert runtime.store is not None  # the graph is always compiled with a store
    return runtime.store


def _line(watch: Mapping[str, Any], lang: str) -> str:
    product, price = translated(watch["name"], lang), money(watch["below"], lang)
    return phrase("shop_watch", lang, product=product, price=price)
