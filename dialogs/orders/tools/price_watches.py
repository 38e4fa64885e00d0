"""Price watches: tools to set and stop them, and the notice to a user that a product has become cheaper."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict, cast

from langchain_core.tools import tool
from langgraph.store.base import BaseStore, Item
from pydantic import Field

from agents.memory import Memory
from agents.memory.store import namespace_of
from agents.state.speaker_state import Json
from agents.toolkit import Answer, CardList, Entry, Refused, Runtime, result, traits
from agents.toolkit.context import store_of
from agents.toolkit.traits import Items
from agents.toolkit.undo import entered
from dialogs.orders.records import Product
from dialogs.orders.store import Shop, ShopError, ShopRecords, read
from dialogs.orders.tools.choices import is_product
from dialogs.orders.wording import money, said, translated

Words = Annotated[str, Field(min_length=1, max_length=200)]
Price = Annotated[float, Field(gt=0)]
MOST_WATCHES = 50
"""The most price watches of a user."""
MOST_USERS = 100_000
WATCHES = "price_watches"
"""The place of a user's watches in long-term memory, by product."""


class Watch(TypedDict):
    """A watched product: the user gets a notice in this thread when it costs less than `below`."""

    product_id: str
    name: str
    below: float
    thread: str
    lang: str


class PriceWatches(Items):
    """Price watches for the undo log; the key of a watch is its product."""

    name = WATCHES

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the existing watches with these keys."""
        return {key: watch for key, watch in (await _watches(runtime)).items() if key in keys}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a watch back, or take it away."""
        place = namespace_of(runtime.context.user, WATCHES)
        if value is None:
            await store_of(runtime).adelete(place, key)
        else:
            await store_of(runtime).aput(place, key, value)

    def worded(self, value: Json, lang: str) -> str:
        """Return a watch in words."""
        return said("watch", lang, product=translated(value["name"], lang), price=money(value["below"], lang))


ITEMS = PriceWatches()


@traits(effect="write", repeatable=True, undo=ITEMS)
@tool
async def watch_price(product: Words, runtime: Runtime, below: Price | None = None) -> str:
    """Watch a product's price, and tell the user when it drops.

    product: its name.
    below: only under this price.
    """
    lang = runtime.state["lang"]
    if not runtime.context.rings:
        raise Refused(said("refused.nothing_rings", lang))
    watched = await read(runtime, lambda records: _named(records, product, lang))
    price = _least_price(watched)
    if price is None:
        raise Refused(said("refused.sold_out", lang, item=watched["name"]))
    key, watches = watched["product_id"], await _watches(runtime)
    thread = runtime.context.thread
    watch: Json = {**Watch(product_id=key, name=watched["name"], below=below or price, thread=thread, lang=lang)}
    if len(watches.keys() | {key}) > MOST_WATCHES:
        return said("watches_full", lang, most=MOST_WATCHES)
    await entered(runtime, ITEMS, {key: (watches.get(key), watch)})
    await ITEMS.write(runtime, key, watch)
    return said("watched", lang, watch=ITEMS.worded(watch, lang), price=money(price, lang))


@traits(view="cards", private=True)
@tool(response_format="content_and_artifact")
async def list_price_watches(runtime: Runtime) -> Answer:
    """List the products whose price is watched for the user."""
    lang = runtime.state["lang"]
    entries = [Entry(ITEMS.worded(watch, lang)) for watch in (await _watches(runtime)).values()]
    if not entries:
        return result(message=said("watches_none", lang))
    return result(view=CardList(title=said("watches", lang), entries=entries))


@traits(effect="write", repeatable=True, undo=ITEMS)
@tool
async def stop_price_watch(product: Words, runtime: Runtime) -> str:
    """Stop watching a product's price.

    product: its name.
    """
    lang = runtime.state["lang"]
    watched = await read(runtime, lambda records: _named(records, product, lang))
    key = watched["product_id"]
    if watch := (await _watches(runtime)).get(key):
        await entered(runtime, ITEMS, {key: (watch, None)})
        await ITEMS.write(runtime, key, None)
    return said("unwatched", lang, product=translated(watched["name"], lang))


async def tell_watchers(shop: Shop, memory: Memory) -> int:
    """Notify the user of each watch whose product has become cheaper, and end the watch; return their number.

    A process that is killed in between loses no watch and sends no notice twice: a watch ends after its notice, and the
    same watch at the same price has one notice.
    """
    products = await shop.read(lambda db: ShopRecords(db, None).products())
    prices, count = {product["product_id"]: _least_price(product) for product in products}, 0
    for item in await _all_watches(memory.store):
        watch = cast(Watch, item.value)
        price = prices.get(watch["product_id"])
        if price is not None and price < watch["below"]:
            await _tell(memory, item, watch, price)
            await memory.store.adelete(item.namespace, item.key)
            count += 1
    return count


async def _tell(memory: Memory, item: Item, watch: Watch, price: float) -> None:
    lang = watch["lang"]
    text = said("cheaper", lang, product=translated(watch["name"], lang), price=money(price, lang))
    key = f"price-{watch['product_id']}-{item.updated_at.timestamp()}-{price}"
    await memory.notices.add(item.namespace[1], watch["thread"], key, text=text, lang=lang)


async def _all_watches(store: BaseStore) -> list[Item]:
    places = await store.alist_namespaces(prefix=("users",), suffix=(WATCHES,), limit=MOST_USERS)
    return [item for place in places for item in await store.asearch(place, limit=MOST_WATCHES)]


async def _watches(runtime: Runtime) -> Mapping[str, Json]:
    items = await store_of(runtime).asearch(namespace_of(runtime.context.user, WATCHES), limit=MOST_WATCHES + 1)
    return {item.key: item.value for item in items}


def _named(records: ShopRecords, words: str, lang: str) -> Product:
    """Return the only product with these words in its name. Raises ShopError."""
    products = [product for product in records.products() if is_product(product, words, lang)]
    if not products:
        raise ShopError("nothing_called", words=words)
    if len(products) > 1:
        names = ", ".join(translated(product["name"], lang) for product in products)
        raise ShopError("several_called", words=words, names=names)
    return products[0]


def _least_price(product: Product) -> float | None:
    """Return the lowest price of the items in stock; None if there are none."""
    return min((variant["price"] for variant in product["variants"].values() if variant["available"]), default=None)
