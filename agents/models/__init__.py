"""Chat models by role: who answers for the supervisor, for each dialog and for the observers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Model:
    """A chat model and the name it goes by in events ("openai:gpt-5-mini")."""

    name: str
    chat: BaseChatModel


@dataclass(frozen=True)
class Models:
    """The model of each role, and what stands in when it fails.

    Roles are "supervisor", "observer" and the dialogs' names; a role without an entry takes `default`.
    """

    default: Model
    roles: Mapping[str, Model] = field(default_factory=dict)
    fallback: Model | None = None

    def chain(self, role: str) -> Sequence[Model]:
        """Return the models to try for a role, in order."""
        first = self.roles.get(role, self.default)
        return [first] if self.fallback is None else [first, self.fallback]
