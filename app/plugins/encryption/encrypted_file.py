"""Encrypted database files: SQLite with SQLCipher, and one key for the whole file."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, SecretStr, model_validator

from agents.errors import DatabaseError, UnusableDatabase, UsageError
from agents.memory.connection import PLAIN, Connection, Driver, Session
from agents.memory.sqlite_file import PLAIN_START, PREFIX, SqliteBackend, start_of
from agents.plugin import PluginSettings
from app.process.extras import load_extra
from app.settings import Settings, read

KEY = re.compile(r"[0-9a-fA-F]{64}")
NOT_ENCRYPTED = (
    "DATABASE_KEY is set, and {path} is not encrypted; take the key away, or copy the conversations"
    " into an encrypted file first: python -m app migrate --to URL --to-key FILE"
)
NO_DATABASE = (
    "DATABASE_URL: cannot use {path} (file is not a database). If it is encrypted, set DATABASE_KEY;"
    " otherwise restore a copy, or name another file."
)
OTHER_KEY = "DATABASE_KEY is not the key of {path}, or the file is no database; set the key that it was encrypted with."
NOT_BY_KEY = "DATABASE_KEY encrypts a file; PostgreSQL is encrypted by its disk or its provider. Take the key away."
IN_USE = "Another process has the database open; stop it and try again. The key is still the old one."


def read_key(text: str) -> SecretStr:
    """Return the key that a text holds. Raises ValueError if it is not a key; the message does not repeat it."""
    if not KEY.fullmatch(key := text.strip()):
        raise ValueError("write 64 hexadecimal digits, such as `openssl rand -hex 32` prints")
    return SecretStr(key)


def _as_sqlcipher_takes_it(value: SecretStr | None) -> SecretStr | None:
    """Take the 32 bytes of a key, in hexadecimal digits."""
    return read_key(value.get_secret_value()) if value else value


class EncryptionSettings(PluginSettings):
    """The key of the database file."""

    database_key: Annotated[SecretStr | None, AfterValidator(_as_sqlcipher_takes_it)] = None

    @model_validator(mode="after")
    def _is_for_a_file(self) -> Self:
        """Refuse a key that would encrypt nothing."""
        if self.database_key and not read(Settings).database_url.startswith(PREFIX):
            raise ValueError(NOT_BY_KEY)
        return self


class EncryptedFile(SqliteBackend):
    """Opens a file with a key, or a plain one without."""

    def __init__(self, url: str, key: SecretStr | None) -> None:
        super().__init__(url)
        self._key = key

    @property
    def driver(self) -> Driver:
        """The driver of the file: SQLite, or SQLCipher if there is a key.

        Raises:
            UnusableDatabase: there is a key and the file is not encrypted, or the other way round.
            ConfigError: SQLCipher is not installed.
        """
        path, key = self.path, self._key
        start = start_of(path)
        if key is None:
            if start and start != PLAIN_START:
                raise UnusableDatabase(NO_DATABASE.format(path=path))
            return PLAIN
        if start == PLAIN_START:
            raise UnusableDatabase(NOT_ENCRYPTED.format(path=path))
        sqlcipher = load_extra("sqlcipher3.dbapi2", "sqlcipher", "DATABASE_KEY: encryption")

        def unlocked(database: str, **options: Any) -> Session:
            session: Session = sqlcipher.connect(database, **options)
            try:
                # SQLCipher writes to stderr by itself, where a command writes one line.
                session.execute("PRAGMA cipher_log_level = NONE")
                session.execute(f"PRAGMA key = {_literal(key)}")
                session.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlcipher.Error as fault:
                session.close()
                if "not a database" in str(fault):
                    raise UnusableDatabase(OTHER_KEY.format(path=database)) from fault
                raise
            return session

        return Driver(unlocked, sqlcipher.Error)


async def change_key(connection: Connection, new: SecretStr) -> None:
    """Encrypt an encrypted file anew with another key. A process that is killed leaves the old key or the new one.

    Raises:
        UsageError: another process has the file open.
    """
    # A file leaves the mode WAL only while nobody else has it open. The rollback journal then makes all pages
    # one transaction, and the exclusive mode keeps other processes away until the connection is closed.
    alone = ("PRAGMA busy_timeout = 0", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = DELETE")
    try:
        for statement in (*alone, "BEGIN EXCLUSIVE", "COMMIT"):
            await connection.execute(statement)
    except DatabaseError as fault:
        if "locked" in str(fault):
            raise UsageError(IN_USE) from fault
        raise
    await connection.execute(f"PRAGMA rekey = {_literal(new)}")


def _literal(key: SecretStr) -> str:
    # A key as it is. SQLCipher would take half a second at each start to make one of a password.
    return f"\"x'{key.get_secret_value()}'\""
