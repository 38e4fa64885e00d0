"""Keys: the callers, and their scopes."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import SecretStr

Scope = Literal["talk", "operate", "lab"]
"""The scopes: talk in one's own threads; see and change every thread and user by name; use the lab."""
SCOPES: Sequence[Scope] = get_args(Scope)
SHORTEST_KEY = 16
"""The least characters of a key."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Key:
    """A key, with its holder's name and its scopes."""

    name: str
    scopes: frozenset[Scope]
    secret: SecretStr

    @property
    def holder(self) -> str:
        """The holder's name; without keys it is "local", a person on this machine."""
        return self.name or "local"

    def allows(self, scope: Scope) -> bool:
        """Tell whether the key has a scope; an operator may talk, too."""
        return scope in self.scopes or (scope == "talk" and "operate" in self.scopes)

    @property
    def prefix(self) -> str:
        """The beginning of the names of this caller's own threads and users; empty for an operator."""
        return "" if "operate" in self.scopes else f"{self.name}:"

    def inside(self, name: str) -> str:
        """Return the stored name of a thread or a user of this caller.

        An operator uses the stored names themselves. The names of other callers are in a space of their own.
        """
        return f"{self.prefix}{name}"

    def user(self, name: str | None) -> str | None:
        """Return the stored name of a user; None without a name."""
        return self.inside(name) if name else None

    def outside(self, name: str) -> str | None:
        """Return the caller's name for a stored thread; None if it is not theirs."""
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None


EVERYTHING = Key("", frozenset(SCOPES), SecretStr(""))
"""The caller where no keys are set: a person on this machine."""


def read_keys(text: str) -> tuple[Key, ...]:
    """Return the keys in a setting, as in `shop:talk:KEY, ops:talk+operate:KEY`.

    Raises:
        ValueError: the setting has another form; the message quotes no key.
    """
    keys = tuple(_key(entry.strip()) for entry in text.split(",") if entry.strip())
    if len({key.name for key in keys}) < len(keys):
        raise ValueError("give each key a name of its own")
    return keys


def _key(entry: str) -> Key:
    name, _, rest = entry.partition(":")
    listed, _, secret = rest.partition(":")
    scopes = [scope for scope in SCOPES if scope in listed.split("+")]
    if not _NAME.fullmatch(name) or len(scopes) != len(listed.split("+")) or len(secret) < SHORTEST_KEY:
        raise ValueError(
            f"write name:{'+'.join(SCOPES)}:key for each, with a key of at least {SHORTEST_KEY} characters"
        )
    return Key(name, frozenset(scopes), SecretStr(secret))


def holder_of(secret: str, keys: Sequence[Key]) -> Key | None:
    """Return the key with this secret; every wrong secret takes the same time."""
    digest = _digest(secret)
    holders = [key for key in keys if hmac.compare_digest(digest, _digest(key.secret.get_secret_value()))]
    return holders[0] if holders else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
