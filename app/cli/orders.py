"""`orders`: what an operator does in the shop: match users with customers, set prices, load another shop."""

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agents.errors import UsageError
from agents.memory import Memory, open_memory
from agents.shop.customers import match as put_match
from agents.shop.customers import matches
from agents.shop.customers import unmatch as drop_match
from agents.shop.loader import fill, fill_with_catalogue, read_records
from agents.shop.price_watch import set_price, tell_watchers
from agents.shop.store import Shop, ShopError
from app.cli.stdout import print_result
from app.sentences import say
from app.settings import Settings


async def list_(options: Namespace, settings: Settings) -> int:
    """Show who is which customer; return the exit code."""
    async with _shop(settings) as memory:
        rows = await memory.database.read(matches)
    result = [{"user": user, "device": device, "customer": customer} for user, device, customer in rows]
    lines = [f"{user}{f' ({device})' if device else ''} = {customer}" for user, device, customer in rows]
    return print_result(options, result, lines or [say("orders.nobody", settings.app_lang)])


async def match(options: Namespace, settings: Settings) -> int:
    """Say which customer a user is; return the exit code.

    Raises:
        UsageError: there is no such customer.
    """
    user, customer = options.user_id, options.customer
    async with _shop(settings) as memory:
        try:
            await memory.database.read(lambda db: Shop(db, None).user(customer))
        except ShopError:
            raise UsageError(say("orders.no_customer", settings.app_lang, customer=repr(customer))) from None
        await memory.database.write(lambda db: put_match(db, user, customer, options.device or ""))
    line = say("orders.matched", settings.app_lang, user=user, customer=customer)
    return print_result(options, {"user": user, "device": options.device, "customer": customer}, [line])


async def unmatch(options: Namespace, settings: Settings) -> int:
    """Say that a user is no customer; return the exit code.

    Raises:
        UsageError: they were none.
    """
    async with _shop(settings) as memory:
        if not await memory.database.write(lambda db: drop_match(db, options.user_id)):
            raise UsageError(say("orders.not_matched", settings.app_lang, user=repr(options.user_id)))
    line = say("orders.unmatched", settings.app_lang, user=options.user_id)
    return print_result(options, {"user": options.user_id}, [line])


async def price(options: Namespace, settings: Settings) -> int:
    """Change an item's price, and let those who watch it be told; return the exit code.

    Raises:
        UsageError: there is no such item, or this is no price.
    """
    if not 0 < options.price < 1e9:
        raise UsageError(say("orders.no_price", settings.app_lang))
    async with _shop(settings) as memory:
        try:
            product = await memory.database.write(lambda db: set_price(db, options.item, options.price))
        except ShopError:
            raise UsageError(say("orders.no_item", settings.app_lang, item=repr(options.item))) from None
        told = await tell_watchers(memory.database, memory.store, memory.reminders)
    facts = {"item": options.item, "product": product["name"], "price": options.price, "told": told}
    return print_result(options, facts, [say("orders.priced", settings.app_lang, **facts)])


async def load(options: Namespace, settings: Settings) -> int:
    """Put the shop of a file in place of the one there is; return the exit code.

    Raises:
        UsageError: the file is no shop, or nobody has said yes.
    """
    records = read_records(Path(options.file))
    if not options.yes:
        raise UsageError(say("orders.replaces", settings.app_lang))
    async with _shop(settings) as memory:
        await memory.database.write(lambda db: fill(db, records))
        told = await tell_watchers(memory.database, memory.store, memory.reminders)
    counts = {kind: len(records[kind]) for kind in ("products", "users", "orders")}
    return print_result(options, {**counts, "told": told}, [say("orders.loaded", settings.app_lang, **counts)])


@asynccontextmanager
async def _shop(settings: Settings) -> AsyncIterator[Memory]:
    async with open_memory(settings.database_url) as memory:
        await memory.database.write(fill_with_catalogue)
        yield memory
