"""`orders`: what an operator does in the shop: match users with customers, set prices, load another shop."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from agents.errors import UsageError
from agents.memory import Memory, open_memory
from agents.shop.customers import match as put_match
from agents.shop.customers import matches
from agents.shop.customers import unmatch as drop_match
from agents.shop.loader import fill, fill_with_catalogue, read_records
from agents.shop.price_watch import set_price, tell_watchers
from agents.shop.store import Shop, ShopError
from agents.toolkit.command_line import CommandResult
from app.cli.options import Device, Name
from app.sentences import say
from app.settings import Settings, read_settings

application = typer.Typer(name="orders")


@application.callback(invoke_without_command=True)
def orders(context: typer.Context) -> Awaitable[CommandResult] | None:
    """The shop: who is which customer; match one, set a price, load a shop."""
    return None if context.invoked_subcommand else list_customers()


async def list_customers() -> CommandResult:
    """Show who is which customer."""
    settings = read_settings()
    async with _shop(settings) as memory:
        rows = await memory.database.read(matches)
    result = [{"user": user, "device": device, "customer": customer} for user, device, customer in rows]
    lines = [f"{user}{f' ({device})' if device else ''} = {customer}" for user, device, customer in rows]
    return CommandResult(result, lines or [say("orders.nobody", settings.app_lang)])


@application.command()
async def match(user_id: Name, customer: Name, *, device: Device = None) -> CommandResult:
    """Say which customer of the shop a user is.

    Raises:
        UsageError: there is no such customer.
    """
    user, settings = user_id, read_settings()
    async with _shop(settings) as memory:
        try:
            await memory.database.read(lambda db: Shop(db, None).user(customer))
        except ShopError:
            raise UsageError(say("orders.no_customer", settings.app_lang, customer=repr(customer))) from None
        await memory.database.write(lambda db: put_match(db, user, customer, device or ""))
    line = say("orders.matched", settings.app_lang, user=user, customer=customer)
    return CommandResult({"user": user, "device": device, "customer": customer}, [line])


@application.command()
async def unmatch(user_id: Name) -> CommandResult:
    """Say that a user is no customer.

    Raises:
        UsageError: they were none.
    """
    settings = read_settings()
    async with _shop(settings) as memory:
        if not await memory.database.write(lambda db: drop_match(db, user_id)):
            raise UsageError(say("orders.not_matched", settings.app_lang, user=repr(user_id)))
    line = say("orders.unmatched", settings.app_lang, user=user_id)
    return CommandResult({"user": user_id}, [line])


# A price below zero is refused as a price, not as an option that there is not.
@application.command(context_settings={"ignore_unknown_options": True})
async def price(item: Name, price: Annotated[float, typer.Argument()]) -> CommandResult:
    """Change an item's price; those who watch it are told.

    Raises:
        UsageError: there is no such item, or this is no price.
    """
    settings = read_settings()
    if not 0 < price < 1e9:
        raise UsageError(say("orders.no_price", settings.app_lang))
    async with _shop(settings) as memory:
        try:
            product = await memory.database.write(lambda db: set_price(db, item, price))
        except ShopError:
            raise UsageError(say("orders.no_item", settings.app_lang, item=repr(item))) from None
        told = await tell_watchers(memory.database, memory.store, memory.reminders)
    facts = {"item": item, "product": product["name"], "price": price, "told": told}
    return CommandResult(facts, [say("orders.priced", settings.app_lang, **facts)])


@application.command()
async def load(
    file: Name, *, yes: Annotated[bool, typer.Option("--yes", help="Replace all records that there are.")] = False
) -> CommandResult:
    """Load a shop in the schema of tau2-bench's retail environment.

    Raises:
        UsageError: the file is no shop, or nobody has said yes.
    """
    settings, records = read_settings(), read_records(Path(file))
    if not yes:
        raise UsageError(say("orders.replaces", settings.app_lang))
    async with _shop(settings) as memory:
        await memory.database.write(lambda db: fill(db, records))
        told = await tell_watchers(memory.database, memory.store, memory.reminders)
    counts = {kind: len(records[kind]) for kind in ("products", "users", "orders")}
    return CommandResult({**counts, "told": told}, [say("orders.loaded", settings.app_lang, **counts)])


@asynccontextmanager
async def _shop(settings: Settings) -> AsyncIterator[Memory]:
    async with open_memory(settings.database_url) as memory:
        await memory.database.write(fill_with_catalogue)
        yield memory
