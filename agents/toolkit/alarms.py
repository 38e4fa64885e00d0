"""A user's alarms, as a dialog sees them that does not keep them itself."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Alarms(ABC):
    """Whoever keeps alarms; a service that is found by this type."""

    @abstractmethod
    async def texts(self, user: str) -> Sequence[str]:
        """Return what the user's alarms to come say, in the user's words."""
