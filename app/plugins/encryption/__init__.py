"""Encrypts the database file, where DATABASE_KEY is set (docs/operations.md)."""

from agents.memory.backend import Backend
from agents.plugin import Plugin
from app.plugins.encryption.encrypted_file import EncryptedFile, EncryptionSettings


def backend(settings: EncryptionSettings, url: str) -> Backend:
    """Return the backend of a database file: with the key, or of a plain file where there is none."""
    return EncryptedFile(url, settings.database_key)


plugin = Plugin(
    settings=EncryptionSettings, storage={"sqlite": backend}, command_line="app.plugins.encryption.commands"
)
