"""`library`: what the media library holds, and who has which profile in it."""

from argparse import Namespace

from agents.errors import UsageError
from agents.media.library import Holding
from agents.memory import open_memory
from app.cli.stdout import print_result
from app.composition.media_players import all_holdings
from app.sentences import say
from app.settings import Settings


async def list_(options: Namespace, settings: Settings) -> int:
    """Show the titles of the library; return the exit code.

    Raises:
        ConfigError: the media folder is none, or Kodi does not answer.
    """
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
    return print_result(options, rows, lines or [say("library.empty", settings.app_lang)])


def _order(holding: Holding) -> tuple[str, int, int]:
    title = holding.title
    return title.series_name or title.name, title.season or 0, title.episode or 0


async def viewers(options: Namespace, settings: Settings) -> int:
    """Show who has which profile; return the exit code."""
    async with open_memory(settings.database_url) as memory:
        rows = await memory.media.viewers()
    result = [{"user": user, "device": device, "profile": profile, "age": age} for user, device, profile, age in rows]
    lines = [
        f"{user}{f' ({device})' if device else ''} = {profile}{f', {age}' if age is not None else ''}"
        for user, device, profile, age in rows
    ]
    return print_result(options, result, lines or [say("library.nobody", settings.app_lang)])


async def viewer(options: Namespace, settings: Settings) -> int:
    """Give a user a profile, with an age limit if there is to be one; return the exit code."""
    user, profile, age = options.user_id, options.profile, options.age
    async with open_memory(settings.database_url) as memory:
        await memory.media.set_viewer(user, options.device or "", profile, age)
    key = "library.viewer" if age is None else "library.viewer_limited"
    line = say(key, settings.app_lang, user=user, profile=profile, age=age)
    return print_result(options, {"user": user, "device": options.device, "profile": profile, "age": age}, [line])


async def no_viewer(options: Namespace, settings: Settings) -> int:
    """Take a user's profile away; return the exit code.

    Raises:
        UsageError: they had none.
    """
    async with open_memory(settings.database_url) as memory:
        if not await memory.media.remove_viewer(options.user_id):
            raise UsageError(say("library.no_viewer", settings.app_lang, user=repr(options.user_id)))
    line = say("library.removed", settings.app_lang, user=options.user_id)
    return print_result(options, {"user": options.user_id}, [line])
