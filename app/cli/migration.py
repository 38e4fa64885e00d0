"""`migrate`, `rekey` and `compact`: a database moves, gets another key, or is written anew."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from agents.errors import ConfigError, UsageError
from agents.toolkit.commands import CommandResult
from app.cli.invocation import given_text
from app.cli.progress import progress_bar
from app.composition.databases import connected, is_postgres
from app.composition.migration import copy
from app.presentation.texts import say
from app.security.encryption import change_key, read_key
from app.settings import read_settings

NOT_ENCRYPTED = (
    "The database is encrypted, and its copy would not be: whoever can read the copy could read every text."
    " Give a file a key with --to-key, or agree with --readable."
)


def _key_in(file: str) -> SecretStr:
    """Return the key in a file. Raises BadParameter."""
    try:
        return read_key(sys.stdin.read() if file == "-" else given_text(Path(file)))
    except UsageError as fault:
        raise typer.BadParameter(str(fault)) from None
    except ValueError as wrong:
        raise typer.BadParameter(f"{file}: {wrong}") from None


To = Annotated[str, typer.Option("--to", metavar="URL", help="An empty database: postgresql://… or sqlite:///….")]
ToKey = Annotated[
    SecretStr | None,
    typer.Option(parser=_key_in, metavar="FILE", help="Encrypt the target with the key in this file; - is stdin."),
]
Readable = Annotated[
    bool, typer.Option("--readable", help="Agree that the copy of an encrypted database is not encrypted.")
]
NewKey = Annotated[
    SecretStr, typer.Argument(parser=_key_in, metavar="FILE", help="A file with the new key; - is stdin.")
]


async def migrate(*, to: To, to_key: ToKey = None, readable: Readable = False) -> CommandResult:
    """Copy everything in DATABASE_URL to another database; run it again after an interruption.

    Raises:
        UsageError: the target holds conversations already, or the source is of another version of this program; or the
            source is encrypted, the target will not be, and nobody has agreed to that.
        ConfigError: one of the databases cannot be used.
    """
    settings = read_settings()
    if settings.database_key and not (to_key or readable):
        raise UsageError(NOT_ENCRYPTED)
    with progress_bar() as advance:
        # The door's own table. Its libraries are slow to load.
        others = [import_module("app.doors.http.callbacks").TABLES]
        keys = {"key": settings.database_key, "target_key": to_key}
        counts = await copy(settings.database_url, to, others, advance, **keys)
    tables = {name: count for name, count in counts.items() if count}
    lines = [say("migrated_table", settings.app_lang, table=name, count=count) for name, count in tables.items()]
    facts = {"rows": sum(counts.values()), "tables": len(tables)}
    return CommandResult({"tables": counts}, [*lines, say("migrated", settings.app_lang, **facts)])


async def rekey(new: NewKey) -> None:
    """Encrypt the database with another key than DATABASE_KEY; nothing else may use it meanwhile.

    Raises:
        UsageError: another process has the database open.
        ConfigError: the present key is missing or wrong, or the database is none that a key encrypts.
    """
    settings = read_settings()
    if not settings.database_key:
        raise ConfigError("DATABASE_KEY is not set; it must be the key that the database has now.")
    async with connected(settings.database_url, settings.database_key) as connection:
        await change_key(connection, new)
    # The file must open with the new key before anybody is told so.
    async with connected(settings.database_url, new):
        sys.stdout.write(say("rekeyed", settings.app_lang) + "\n")


async def compact() -> CommandResult:
    """Write the database file anew, without remains of what was forgotten; others wait meanwhile.

    Raises:
        ConfigError: the database cannot be used, or its server does this by itself.
    """
    settings = read_settings()
    if is_postgres(settings.database_url):
        raise ConfigError("DATABASE_URL: PostgreSQL does this by itself; VACUUM FULL does it at once.")
    async with connected(settings.database_url, settings.database_key) as connection:
        [(before,)] = await connection.execute("PRAGMA page_count")
        await connection.execute("VACUUM")
        await connection.truncate()
        [(after,)] = await connection.execute("PRAGMA page_count")
        [(size,)] = await connection.execute("PRAGMA page_size")
    facts = {"before": before * size, "after": after * size}
    return CommandResult(facts, [say("compacted", settings.app_lang, **{k: f"{v:,}" for k, v in facts.items()})])
