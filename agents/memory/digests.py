"""Digests of names; they outlive the names. Their key is in no table, so the rows alone confirm no guess."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from agents.memory.connection import Session, Tables, missing_migrations
from agents.memory.inbox import storable

KEYED = Tables("digests", {"key_digests": ""})
"""An owner without tables. Its version tells that no digest of an older version, without a key, is left."""
COLUMNS = (("updates", "digest"), ("forgettings", "digest"), ("note_counts", "user_hash"))
UNKEYED = 64
"""Letters of the digests of older versions; those of this one are half as long."""


class Digests:
    """Make digests of names and ids."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, *parts: str) -> str:
        """Return the digest of these names."""
        plain = hashlib.sha256("\0".join(map(storable, parts)).encode()).hexdigest()
        return self._keyed(plain)

    def adopt(self, session: Session) -> bool:
        """Give the digests of older versions the key, inside a transaction; tell whether there could be any."""
        if not missing_migrations(KEYED, session):
            return False
        for table, column in COLUMNS:
            old = f"SELECT DISTINCT {column} FROM {table} WHERE length({column}) = {UNKEYED}"
            for (digest,) in session.execute(old).fetchall():
                values = self._keyed(digest), digest
                session.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", values)
        return True

    def _keyed(self, plain: str) -> str:
        return hmac.new(self._key, plain.encode(), hashlib.sha256).hexdigest()[: UNKEYED // 2]


def secret_file(path: Path) -> Path:
    """Return the file of the key that belongs to a database."""
    return path.with_name(f"{path.name}.secret")


def key_beside(path: Path, key: bytes | None = None) -> bytes:
    """Return the key of a database; a database without one gets this `key`, or a new one.

    The caller keeps other processes away.
    """
    file = secret_file(path)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        # A process that is killed here leaves no half a key.
        fresh = file.with_name(f"{file.name}.new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as writing:
            writing.write(key or secrets.token_bytes(32))
            writing.flush()
            os.fsync(writing.fileno())
        fresh.replace(file)
    return file.read_bytes()
