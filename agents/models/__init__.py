"""Chat models by role: who answers for the supervisor, for each dialog and for the observers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Model:
    """A chat model and the name it goes by in events ("openai:gpt-5-mini")."""

    name: str
    chat: BaseChatModel

    @property
    def wants_facts(self) -> bool:
        """Whether the model reads a prompt's facts (`agents.notes.Facts`) instead of its prose."""
        return bool(getattr(self.chat, "wants_facts", False))


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

    def want_facts(self, role: str) -> bool:
        """Tell whether a model that may be asked for a role wants facts."""
        return any(model.wants_facts for model in self.chain(role))
