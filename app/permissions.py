"""What each user may do: a setting of the operator, asked when a turn is played."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ANYBODY = "*"
_WORD = re.compile(r"[\w.:-]+")


@dataclass(frozen=True)
class Permissions:
    """Names of permissions by user id; those of `*` are everybody's."""

    granted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, user: str) -> frozenset[str]:
        """Return what a user may do."""
        return self.granted.get(ANYBODY, frozenset()) | self.granted.get(user, frozenset())


NOBODY_MAY = Permissions()


def read_permissions(text: str) -> dict[str, frozenset[str]]:
    """Read "alice=refund admin; *=read".

    Raises:
        ValueError: an entry is not `user=permission …`, or a user stands there twice.
    """
    granted: dict[str, frozenset[str]] = {}
    for entry in filter(str.strip, text.split(";")):
        user, _, words = (part.strip() for part in entry.partition("="))
        names = words.split()
        if not user or not names or not all(_WORD.fullmatch(name) for name in names):
            raise ValueError(f"write user=permission permission, separated by semicolons, not {entry.strip()!r}")
        if user in granted:
            raise ValueError(f"{user!r} stands there twice")
        granted[user] = frozenset(names)
    return granted
