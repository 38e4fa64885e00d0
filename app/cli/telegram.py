"""`telegram`: the bot, and a link that lets somebody in."""

from collections.abc import Coroutine

import typer

from app.doors.telegram import access, service
from app.settings import read_settings

application = typer.Typer(name="telegram")


@application.callback(invoke_without_command=True)
def telegram_or_pair(context: typer.Context) -> Coroutine[object, object, int] | None:
    """Answer in Telegram, as the bot of TELEGRAM_BOT_TOKEN, until stopped."""
    return None if context.invoked_subcommand else service.serve(read_settings())


@application.command()
async def pair() -> int:
    """Print a link that lets its first opener talk to the bot, within an hour."""
    return await access.pair(read_settings())
