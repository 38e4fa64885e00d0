"""What the parts of an application offer each other, found by its type."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel

from agents.state.talk import Json

Service = TypeVar("Service")


class Services:
    """Objects that live as long as the application: the database, the settings and the services of each dialog."""

    def __init__(self, *services: object) -> None:
        self._services: list[object] = [*services]

    def add(self, *services: object) -> None:
        """Add services."""
        self._services += services

    def find(self, kind: type[Service]) -> Service | None:
        """Return the service of a type, or of a subclass of it; None if nobody has added one."""
        return next((service for service in self._services if isinstance(service, kind)), None)

    def get(self, kind: type[Service]) -> Service:
        """Return the service of a type. Raises LookupError if nobody has added one."""
        service = self.find(kind)
        if service is None:
            raise LookupError(f"there is no service of the type {kind.__name__}; a dialog's `services` must yield it")
        return service

    def every(self, kind: type[Service]) -> list[Service]:
        """Return all services of a type, in the order in which they were added."""
        return [service for service in self._services if isinstance(service, kind)]


class FieldReader(ABC):
    """Whoever reads the values of forms as people write them; a service that is found by this type."""

    @abstractmethod
    def fitting(self, form: type[BaseModel], owner: str, lang: str, values: Json, now: datetime) -> Json:
        """Return values in the kinds of their fields; `owner` is the dialog or the tool that asks for them."""


class Alarms(ABC):
    """Whoever keeps alarms; a service that is found by this type."""

    @abstractmethod
    async def texts(self, user: str) -> Sequence[str]:
        """Return what the user's alarms to come say, in the user's words."""
