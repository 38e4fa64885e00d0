"""`orders`: the operator's commands on the shop: match users with customers, set prices, load another shop."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult, Device, Name
from agents.errors import UsageError
from agents.memory import Memory
from agents.toolkit.commands import installation_of, services_of
from dialogs.orders.store import Shop, ShopError, read_records
from dialogs.orders.tools.price_watches import tell_watchers
from dialogs.orders.wording import said

MOST_MONEY = 1e9
command_line = typer.Typer(name="orders")


@command_line.callback(invoke_without_command=True)
def orders(context: typer.Context) -> Awaitable[CommandResult] | None:
    """The shop: who is which customer; match one, set a price, load a shop."""
    return None if context.invoked_subcommand else list_customers(context)


async def list_customers(context: typer.Context) -> CommandResult:
    """Show who is which customer."""
    async with services_of(context) as services:
        rows = await services.get(Shop).matches()
    result = [{"user": user, "device": device, "customer": customer} for user, device, customer in rows]
    lines = [f"{user}{f' ({device})' if device else ''} = {customer}" for user, device, customer in rows]
    return CommandResult(result, lines or [_say(context, "nobody")])


@command_line.command()
async def match(context: typer.Context, user_id: Name, customer: Name, *, device: Device = None) -> CommandResult:
    """Say which customer of the shop a user is.

    Raises:
        UsageError: there is no such customer.
    """
    async with services_of(context) as services:
        try:
            await services.get(Shop).match(user_id, customer, device or "")
        except ShopError:
            raise UsageError(_say(context, "no_customer", customer=repr(customer))) from None
    line = _say(context, "matched", user=user_id, customer=customer)
    return CommandResult({"user": user_id, "device": device, "customer": customer}, [line])


@command_line.command()
async def unmatch(context: typer.Context, user_id: Name) -> CommandResult:
    """Say that a user has no customer.

    Raises:
        UsageError: the user is not a customer.
    """
    async with services_of(context) as services:
        if not await services.get(Shop).unmatch(user_id):
            raise UsageError(_say(context, "not_matched", user=repr(user_id)))
    return CommandResult({"user": user_id}, [_say(context, "unmatched", user=user_id)])


# A price below zero is refused as a price, not as an unknown option.
@command_line.command(context_settings={"ignore_unknown_options": True})
async def price(context: typer.Context, item: Name, price: Annotated[float, typer.Argument()]) -> CommandResult:
    """Change an item's price; those who watch it are told.

    Raises:
        UsageError: there is no such item, or the price is not more than zero.
    """
    if not 0 < price < MOST_MONEY:
        raise UsageError(_say(context, "no_price"))
    async with services_of(context) as services:
        shop = services.get(Shop)
        try:
            product = await shop.set_price(item, price)
        except ShopError:
            raise UsageError(_say(context, "no_item", item=repr(item))) from None
        count = await tell_watchers(shop, services.get(Memory))
    facts = {"item": item, "product": product["name"], "price": price, "told": count}
    return CommandResult(facts, [_say(context, "priced", **facts)])


@command_line.command()
async def load(
    context: typer.Context,
    file: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Replace all records that there are.")] = False,
) -> CommandResult:
    """Load a shop in the schema of tau2-bench's retail environment.

    Raises:
        UsageError: the file holds no shop, or `--yes` is missing.
    """
    records = read_records(Path(file))
    if not yes:
        raise UsageError(_say(context, "replaces"))
    async with services_of(context) as services:
        shop = services.get(Shop)
        await shop.load(records)
        count = await tell_watchers(shop, services.get(Memory))
    counts = {"products": len(records["products"]), "users": len(records["users"]), "orders": len(records["orders"])}
    return CommandResult({**counts, "told": count}, [_say(context, "loaded", **counts)])


def _say(context: typer.Context, key: str, **variables: object) -> str:
    return said(f"operator.{key}", installation_of(context).lang, **variables)
