"""`rekey`: the database gets another key; and `migrate` with the keys of both databases."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from agents.command_line import CommandResult
from agents.errors import ConfigError, UsageError
from agents.memory.backend import Backend
from agents.memory.sqlite_file import PREFIX
from agents.sources.documents.files import Unreadable, contents
from app.cli.migration import To, copy_to
from app.databases import backend_of
from app.plugins.encryption.encrypted_file import NOT_BY_KEY, EncryptedFile, EncryptionSettings, change_key, read_key
from app.settings import read, read_settings
from prompts import sentence

LARGEST_KEY_FILE = 1_000_000  # Bytes.
NOT_ENCRYPTED = (
    "The database is encrypted, and its copy would not be: whoever can read the copy could read every text."
    " Give a file a key with --to-key, or agree with --readable."
)


def _key_in(file: str) -> SecretStr:
    """Return the key in a file. Raises BadParameter."""
    try:
        return read_key(sys.stdin.read() if file == "-" else contents(Path(file), LARGEST_KEY_FILE).decode("utf-8"))
    except (Unreadable, ValueError) as wrong:
        raise typer.BadParameter(f"{file}: {wrong}") from None


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
        UsageError, ConfigError: as the application's own `migrate`; or the source is encrypted, the target will not
            be, and nobody has agreed to that.
    """
    settings = read_settings()
    if read(EncryptionSettings).database_key and not (to_key or readable):
        raise UsageError(NOT_ENCRYPTED)
    return await copy_to(_target(to, to_key), settings)


def _target(url: str, key: SecretStr | None) -> Backend:
    """Return the backend of the copy: DATABASE_KEY is the key of the source alone."""
    if url.startswith(PREFIX):
        return EncryptedFile(url, key)
    if key:
        raise ConfigError(NOT_BY_KEY)
    return backend_of(url)


async def rekey(new: NewKey) -> None:
    """Encrypt the database with another key than DATABASE_KEY; nothing else may use it meanwhile.

    Raises:
        UsageError: another process has the database open.
        ConfigError: the present key is missing or wrong, or the database is not a file that a key can encrypt.
    """
    settings, key = read_settings(), read(EncryptionSettings).database_key
    if not key:
        raise ConfigError("DATABASE_KEY is not set; it must be the key that the database has now.")
    async with EncryptedFile(settings.database_url, key).connect() as connection:
        await change_key(connection, new)
    # The file must open with the new key before the command reports success.
    async with EncryptedFile(settings.database_url, new).connect():
        sys.stdout.write(sentence("encryption/phrases", "rekeyed", settings.app_lang) + "\n")


command_line = typer.Typer()
for command in (migrate, rekey):
    command_line.command()(command)
