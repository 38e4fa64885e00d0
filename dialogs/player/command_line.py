"""`library`: the titles of the media library, and the profiles of its users."""

import re
from collections.abc import Awaitable
from typing import Annotated

import typer

from agents.command_line import CommandResult, Device, Name
from agents.errors import ConfigError, UsageError
from agents.toolkit.commands import installation_of, services_of
from dialogs.player.players import MediaPlayer, PlayerError, Players, Title
from dialogs.player.store import MediaStore
from dialogs.player.wording import said

Age = Annotated[int | None, typer.Option(metavar="YEARS", help="Play nothing for people who are older than this.")]
command_line = typer.Typer(name="library")


@command_line.callback(invoke_without_command=True)
def library(context: typer.Context) -> Awaitable[CommandResult] | None:
    """The media library: its titles; who has which profile."""
    return None if context.invoked_subcommand else list_titles(context)


@command_line.command("list")
async def list_titles(context: typer.Context) -> CommandResult:
    """List all titles, with their files.

    Raises:
        ConfigError: Kodi does not answer.
    """
    async with services_of(context) as services:
        titles = await _titles(services.get(Players).of(""))
    rows = [
        {
            "id": title.id,
            "kind": title.kind,
            "name": title.name,
            "series": title.series_name,
            "year": title.year,
            "seconds": title.duration,
            # Kodi's addresses of network shares may hold a password.
            "file": re.sub("://[^/]*@", "://", title.file),
        }
        for title in sorted(titles, key=lambda title: (title.series_name or title.name, title.order))
    ]
    lines = [
        " · ".join(str(row[name]) for name in ("kind", "series", "name", "year", "file") if row[name]) for row in rows
    ]
    return CommandResult(rows, lines or [said("library_empty", installation_of(context).lang)])


@command_line.command()
async def viewers(context: typer.Context) -> CommandResult:
    """List who has which profile."""
    async with services_of(context) as services:
        rows = await services.get(MediaStore).viewers()
    result = [{"user": user, "device": device, "profile": profile, "age": age} for user, device, profile, age in rows]
    lines = [
        f"{user}{f' ({device})' if device else ''} = {profile}{f', {age}' if age is not None else ''}"
        for user, device, profile, age in rows
    ]
    return CommandResult(result, lines or [said("library_nobody", installation_of(context).lang)])


@command_line.command()
async def viewer(
    context: typer.Context, user_id: Name, profile: Name, *, age: Age = None, device: Device = None
) -> CommandResult:
    """Give a user a profile, which several may share."""
    async with services_of(context) as services:
        await services.get(MediaStore).set_viewer(user_id, device or "", profile, age)
    key = "library_viewer" if age is None else "library_viewer_limited"
    line = said(key, installation_of(context).lang, user=user_id, profile=profile, age=age)
    return CommandResult({"user": user_id, "device": device, "profile": profile, "age": age}, [line])


@command_line.command()
async def no_viewer(context: typer.Context, user_id: Name) -> CommandResult:
    """Take a user's profile away.

    Raises:
        UsageError: they had none.
    """
    lang = installation_of(context).lang
    async with services_of(context) as services:
        if not await services.get(MediaStore).remove_viewer(user_id):
            raise UsageError(said("library_no_viewer", lang, user=repr(user_id)))
    return CommandResult({"user": user_id}, [said("library_removed", lang, user=user_id)])


async def _titles(player: MediaPlayer) -> list[Title]:
    """Return all titles, the episodes too. Raises ConfigError if the player does not answer."""
    try:
        titles = list(await player.titles())
        for series in [title for title in titles if title.kind == "series"]:
            titles += await player.episodes(series.id)
    except PlayerError as error:
        raise ConfigError(f"KODI_URL: {error.reason or error}") from None
    return titles
