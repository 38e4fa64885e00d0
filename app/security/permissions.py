"""The permissions of each user: a setting of the operator, read when a turn is played."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ANYBODY = "*"


@dataclass(frozen=True)
class Permissions:
    """Names of permissions by user id; those of `*` are everybody's."""

    granted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, user: str) -> frozenset[str]:
        """Return the permissions of a user."""
        return self.granted.get(ANYBODY, frozenset()) | self.granted.get(user, frozenset())


NOBODY_MAY = Permissions()
