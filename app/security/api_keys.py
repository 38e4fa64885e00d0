"""Keys: who calls, and what they may do."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import SecretStr

Scope = Literal["talk", "operate", "lab"]
"""To talk in threads of one's own; to see and change every thread and user by name; to use the lab."""
SCOPES: Sequence[Scope] = get_args(Scope)
SHORTEST_KEY = 16
"""Characters of a key."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Key:
    """Somebody who may call."""

    name: str
    scopes: frozenset[Scope]
    secret: SecretStr

    @property
    def holder(self) -> str:
        """What its holder is called; without keys it is somebody on this machine."""
        return self.name or "local"

    def allows(self, scope: Scope) -> bool:
        """Tell whether the key has a scope; whoever operates may talk, too."""
        return scope in self.scopes or (scope == "talk" and "operate" in self.scopes)

    @property
    def prefix(self) -> str:
        """How the names begin of all that is this caller's own; empty for whoever operates."""
        return "" if "operate" in self.scopes else f"{self.name}:"

    def inside(self, name: str) -> str:
        """Return the name under which a thread or a user of this caller is kept.

        Whoever operates names every thread and user as it is. What others name is theirs alone.
        """
        return f"{self.prefix}{name}"

    def user(self, name: str | None) -> str | None:
        """Return the name under which a user is kept; None if none is named."""
        return self.inside(name) if name else None

    def outside(self, name: str) -> str | None:
        """Return what the caller calls a thread that is kept so; None if it is not theirs."""
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None


@dataclass(frozen=True)
class FrontEnd:
    """The headers by which a front end tells for whom it speaks, and in which chat."""

    user: str
    chat: str = ""


EVERYTHING = Key("", frozenset(SCOPES), SecretStr(""))
"""Who calls where no keys are set: somebody on this machine."""


def read_keys(text: str) -> tuple[Key, ...]:
    """Return the keys that a setting lists, as in `shop:talk:KEY, ops:talk+operate:KEY`.

    Raises:
        ValueError: they are not written so; the message quotes no key.
    """
    keys = tuple(_key(entry.strip()) for entry in text.split(",") if entry.strip())
    if len({key.name for key in keys}) < len(keys):
        raise ValueError("give each key a name of its own")
    return keys


def read_front_ends(text: str) -> dict[str, FrontEnd]:
    """Return what a setting lists by the names of keys, as in `webui:X-User-Id:X-Chat-Id, other:X-User-Id`.

    Raises:
        ValueError: it is not written so.
    """
    entries = [re.split(r"\s*:\s*", entry.strip()) for entry in text.split(",") if entry.strip()]
    if not all(len(parts) in (2, 3) and all(map(_NAME.fullmatch, parts)) for parts in entries):
        raise ValueError("write key:user header, or key:user header:chat header, for each")
    return {name: FrontEnd(*headers) for name, *headers in entries}


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
    """Return whose key this is; it takes the same time for every wrong one."""
    digest = _digest(secret)
    holders = [key for key in keys if hmac.compare_digest(digest, _digest(key.secret.get_secret_value()))]
    return holders[0] if holders else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
