"""Chat models by role: who answers for the supervisor, for each dialog and for the observers."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import Runnable

from agents.models.thinking import ThinkingFilter

Caching = Literal["none", "key", "marks"]
"""How a provider wants to be asked. "none": it is not asked; many cache all by themselves."""
MARK = {"type": "ephemeral"}


def cache_key(thread: str, role: str) -> str:
    """Return the key that a role's calls in a thread share: requests with one key reach one host. 32 hex digits."""
    return hashlib.sha256(f"{role}\n{thread}".encode()).hexdigest()[:32]


def with_marks(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Mark what the next turn repeats: the system message, and the last message before the newest user message.

    The newest user message carries data that the next turn leaves out, so what follows it is of use in this turn only.
    """
    newest = max((place for place, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    return [_marked(message) if place in (0, newest - 1) else message for place, message in enumerate(messages)]


def _marked(message: AnyMessage) -> AnyMessage:
    """Return the message with a mark at its end; a message without text cannot carry one."""
    if not message.text:
        return message
    return message.model_copy(update={"content": [{"type": "text", "text": message.text, "cache_control": MARK}]})


MOST_CHARACTERS = 200_000
"""Characters a reply may have with its thinking and its arguments (about 50,000 tokens): some streams never end."""
LONGEST_REPLY = 600.0
"""Seconds a reply may take in all: some streams never end, and a provider's timeout only counts silence."""
RETRIED_FOR = 25.0
"""Seconds within which tries are made again. The user waits for the first words meanwhile."""
HEADLESS = re.compile(r"(?<![a-z0-9])(r1|qwq|thinking)(?![a-z0-9])", re.IGNORECASE)
"""Names of models whose chat template opens the thinking, so that their text begins inside it."""


@dataclass
class Habits:
    """What a model's replies have shown of it."""

    is_headless: bool | None = None
    """Whether its texts begin inside the thinking; None: not seen yet."""


@dataclass(frozen=True)
class Model:
    """A chat model and the name it goes by in events ("openai:gpt-5-mini")."""

    name: str
    chat: BaseChatModel
    parallel_tool_calls: bool | None = None
    """Whether a reply may call several tools; None: as the provider does it."""
    caching: Caching = "none"
    reply_length: int = MOST_CHARACTERS
    reply_seconds: float = LONGEST_REPLY
    first_seconds: float = LONGEST_REPLY
    """Seconds until the first piece of a reply, with all that the provider's client tries again."""
    images: bool | None = None
    """Whether it sees pictures; None: as its profile says."""
    habits: Habits = field(default_factory=Habits, compare=False, repr=False)

    @property
    def place(self) -> str:
        """The model's name and, where it is known, the address at which it is asked, without a password in it."""
        address = getattr(self.chat, "openai_api_base", None) or getattr(self.chat, "base_url", None)
        if not isinstance(address, str) or not address:
            return self.name
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        return f"{self.name} at {parts.scheme}://{host}{parts.path}"

    @property
    def is_headless(self) -> bool:
        """Whether the model's next text is expected to begin inside the thinking."""
        is_headless = self.habits.is_headless
        return HEADLESS.search(self.name) is not None if is_headless is None else is_headless

    def learn(self, text: ThinkingFilter) -> None:
        """Remember from a whole text where the thinking begins."""
        if text.unopened:
            self.habits.is_headless = True
        elif text.answer and self.is_headless:
            self.habits.is_headless = text.thought

    def bound(self, tools: Sequence[dict[str, Any]], key: str) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with its tools, and with the key under which the provider keeps a prompt's beginning."""
        options: dict[str, Any] = {"prompt_cache_key": key} if self.caching == "key" and key else {}
        if self.caching == "marks":
            # The provider's client marks the end of the prompt.
            options["cache_control"] = MARK
        if tools and self.parallel_tool_calls is not None:
            options["parallel_tool_calls"] = self.parallel_tool_calls
        if tools:
            return self.chat.bind_tools(tools, **options)
        return self.chat.bind(**options) if options else self.chat

    def marked(self, prompt: list[AnyMessage]) -> list[AnyMessage]:
        """Return the prompt with marks at what the provider is to keep, where it wants marks."""
        return with_marks(prompt) if self.caching == "marks" else prompt

    @property
    def sees(self) -> bool:
        """Whether the model is shown pictures."""
        profile = getattr(self.chat, "profile", None) or {}
        return bool(profile.get("image_inputs")) if self.images is None else self.images

    @property
    def reads(self) -> bool:
        """Whether the model reads texts at length."""
        profile = getattr(self.chat, "profile", None) or {}
        return bool(profile.get("text_inputs", True))


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

    def see(self, role: str) -> bool:
        """Tell whether a model that may be asked for a role sees pictures."""
        return any(model.sees for model in self.chain(role))
