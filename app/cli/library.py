"""`library`: what the media library holds, and who has which profile in it."""

from collections.abc import Awaitable
from typing import Annotated

import typer

from agents.errors import UsageError
from agents.media.library import Holding
from agents.memory import open_memory
from agents.toolkit.command_line import CommandResult
from app.cli.options import Device, Name
from app.composition.media_players import all_holdings
from app.sentences import say
from app.settings import read_settings

application = typer.Typer(name="library")


@application.callback(invoke_without_command=True)
def library(context: typer.Context) -> Awaitable[CommandResult] | None:
    """The media library: its titles; who has which profile."""
    return None if context.invoked_subcommand else list_titles()


@application.command("list")
async def list_titles() -> CommandResult:
    """List all titles, with their files.

    Raises:
        ConfigError: the media folder is none, or Kodi does not answer.
    """
    settings = read_settings()
    async with open_memory(settings.database_url) as memory:
        holdings = await all_holdings(settings, memory)
    holdings = sorted(holdings, key=_order)
    rows = [
        {
            "id": it.title.id,
            "kind": it.title.kind,
            "name": it.title.name,
            "series": it.title.series_name,
            "year": it.title.year,
            "seconds": it.title.duration,
            "file": str(it.path or ""),
            "playable": it.title.kind != "series" and bool(it.path or not it.has_file),
        }
        for it in holdings
    ]
    lines = [
        " · ".join(str(row[name]) for name in ("kind", "series", "name", "year", "file") if row[name])
        + ("" if row["playable"] or row["kind"] == "series" else f" · {say('library.missing', settings.app_lang)}")
        for row in rows
    ]
    return CommandResult(rows, lines or [say("library.empty", settings.app_lang)])


def _order(holding: Holding) -> tuple[str, int, int]:
    title = holding.title
    return title.series_name or title.name, title.season or 0, title.episode or 0


@application.command()
async def viewers() -> CommandResult:
    """List who has which profile."""
    settings = read_settings()
    async with open_memory(settings.database_url) as memory:
        rows = await memory.media.viewers()
    result = [{"user": user, "device": device, "profile": profile, "age": age} for user, device, profile, age in rows]
    lines = [
        f"{user}{f' ({device})' if device else ''} = {profile}{f', {age}' if age is not None else ''}"
        for user, device, profile, age in rows
    ]
    return CommandResult(result, lines or [say("library.nobody", settings.app_lang)])


Age = Annotated[int | None, typer.Option(metavar="YEARS", help="Play nothing for people who are older than this.")]


@application.command()
async def viewer(user_id: Name, profile: Name, *, age: Age = None, device: Device = None) -> CommandResult:
    """Give a user a profile, which several may share."""
    user, settings = user_id, read_settings()
    async with open_memory(settings.database_url) as memory:
        await memory.media.set_viewer(user, device or "", profile, age)
    key = "library.viewer" if age is None else "library.viewer_limited"
    line = say(key, settings.app_lang, user=user, profile=profile, age=age)
    return CommandResult({"user": user, "device": device, "profile": profile, "age": age}, [line])


@application.command("no-viewer")
async def no_viewer(user_id: Name) -> CommandResult:
    """Take a user's profile away.

    Raises:
        UsageError: they had none.
    """
    settings = read_settings()
    async with open_memory(settings.database_url) as memory:
        if not await memory.media.remove_viewer(user_id):
            raise UsageError(say("library.no_viewer", settings.app_lang, user=repr(user_id)))
    line = say("library.removed", settings.app_lang, user=user_id)
    return CommandResult({"user": user_id}, [line])
