"""Chat models by role: who answers for the supervisor, for each dialog and for the observers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import SecretStr

from agents.language.text.repetition import REPEATS
from agents.models.window import Window

Caching = Literal["none", "key", "marks"]
"""How a provider wants to be asked. "none": it is not asked; many cache all by themselves."""
Choice = Literal["grammar", "guided_choice"]
"""The field in which a server takes the words of which a reply is one: llama.cpp's, vLLM's."""
MARK = {"type": "ephemeral"}

ToolSchema = dict[str, Any]
"""A tool in the form that providers take: `{"type": "function", "function": {…}}`."""
MOST_CHARACTERS = 200_000
"""Characters a reply may have with its thinking and its arguments (about 50,000 tokens): some streams never end."""
LONGEST_REPLY = 600.0
"""Seconds a reply may take in all: some streams never end, and a provider's timeout only counts silence."""
RETRIED_FOR = 25.0
"""Seconds within which tries are made again. The user waits for the first words meanwhile."""
COLD = 300.0
"""Seconds until the first piece of a model that has not answered yet: a server may have to read the whole prompt."""
FEW, THOUGHTFUL = 32, 16_384
"""Tokens of a reply that is one word, and of one by a model that thinks first."""
LIMITS = ("max_tokens", "num_predict", "max_output_tokens")
"""How LangChain's classes call the most tokens of a reply."""
HEADLESS = re.compile(r"(?<![a-z0-9])(r1|qwq|thinking)(?![a-z0-9])", re.IGNORECASE)
"""Names of models whose chat template opens the thinking, so that their text begins inside it."""


def _marked(message: AnyMessage) -> AnyMessage:
    """Return the message with a mark at its end; a message without text cannot carry one."""
    if not message.text:
        return message
    return message.model_copy(update={"content": [{"type": "text", "text": message.text, "cache_control": MARK}]})


def _choice(field: Choice, words: Sequence[str]) -> dict[str, object]:
    rule = " | ".join(json.dumps(word, ensure_ascii=False) for word in words)
    return {field: f"root ::= {rule}" if field == "grammar" else [*words]}


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
    reply_repeats: int = REPEATS
    first_seconds: float = LONGEST_REPLY
    """Seconds until the first piece of a reply, with all that the provider's client tries again."""
    cold_seconds: float = 0
    """The same for a model that has not answered yet."""
    aside_seconds: float = 10
    """Seconds that a reply beside the conversation may take: of an observer, a summary, a question put anew."""
    most_tokens: int | None = None
    """Tokens of a reply, unless the model thinks first, or its server takes no limit."""
    images: bool | None = None
    """Whether it sees pictures; None: as its profile says."""
    window: Window = field(default_factory=Window, compare=False, repr=False)
    choice: Choice | None = None
    """How its server is told that a reply is one of some words; None: it is not."""
    habits: dict[str, float] = field(default_factory=dict, compare=False, repr=False)
    """What its replies have shown of it: "headless" is whether its texts begin inside the thinking, "thoughtful"
    whether it thinks at all, "unlimited" whether its server takes no limit, "slowest" the seconds until a piece.
    "endless" counts its last replies that came to no end. "slots" is how many prompts its server keeps, if known."""

    @property
    def address(self) -> str:
        """The address of an endpoint of OpenAI's kind that is not OpenAI's own, or nothing."""
        return getattr(self.chat, "openai_api_base", None) or ""

    @property
    def key(self) -> str | None:
        """The key of such an endpoint."""
        key = getattr(self.chat, "openai_api_key", None)
        return key.get_secret_value() if isinstance(key, SecretStr) else None

    @property
    def place(self) -> str:
        """The model's name and, where it is known, the address at which it is asked, without a password in it."""
        address = self.address or getattr(self.chat, "base_url", None)
        if not isinstance(address, str) or not address:
            return self.name
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        return f"{self.name} at {parts.scheme}://{host}{parts.path}"

    @property
    def is_headless(self) -> bool:
        """Whether the model's next text is expected to begin inside the thinking."""
        return bool(self.habits.get("headless", HEADLESS.search(self.name) is not None))

    @property
    def has_begun(self) -> bool:
        """Whether it has ever begun a reply."""
        return "slowest" in self.habits

    @property
    def patience(self) -> float:
        """Seconds until the first piece of a reply: a server that was slow once may be so again."""
        return max(self.first_seconds, 3 * self.habits["slowest"] if self.has_begun else self.cold_seconds)

    def outgrow(self, habit: Literal["thoughtful", "unlimited"]) -> bool:
        """Remember that our limit does not suit the model; tell whether that is new, and a reply had one."""
        is_new = self.most_tokens is not None and habit not in self.habits
        self.habits[habit] = True
        return is_new

    def limited(self, words: Sequence[str]) -> Self:
        """Return the model with the limits of a reply, as far as it takes any; `words`: one of them is wanted."""
        update = self._limit(is_word=bool(words))
        if words and self.choice:
            extra = update.get("extra_body") or getattr(self.chat, "extra_body", None) or {}
            update["extra_body"] = {**extra, **_choice(self.choice, words)}
        return replace(self, chat=self.chat.model_copy(update=update)) if update else self

    def _limit(self, *, is_word: bool) -> dict[str, Any]:
        field = next((field for field in LIMITS if field in type(self.chat).model_fields), None)
        if self.most_tokens is None or field is None or self.habits.get("unlimited"):
            return {}
        is_likely = self._profile.get("reasoning_output") or HEADLESS.search(self.name)
        is_thoughtful = self.habits.get("thoughtful", is_likely)
        # A model that never comes to an end gets half as many the next time, and then a quarter.
        room = self.most_tokens >> min(2, max(0, int(self.habits.get("endless", 0)) - 1))
        most = THOUGHTFUL if is_thoughtful else FEW if is_word else room
        most = min(most, self.window.reply or most)
        if self.address and "api.openai.com" not in self.address:
            # Servers of OpenAI's kind know the older name, and not all know the newer one.
            return {"extra_body": {**(getattr(self.chat, "extra_body", None) or {}), "max_tokens": most}}
        return {field: most}

    def bound(self, tools: Sequence[ToolSchema], key: str) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with its tools, and with the key under which the provider keeps a prompt's beginning."""
        options: dict[str, Any] = {"prompt_cache_key": key} if self.caching == "key" and key else {}
        if self.caching == "marks":
            # The provider's client marks the end of the prompt.
            options["cache_control"] = MARK
        if tools and self.parallel_tool_calls is not None:
            options["parallel_tool_calls"] = self.parallel_tool_calls
        if tools:
            # One client empties the parameters that it is given; they belong to all turns and models.
            own = [{**tool, "function": {**tool["function"]}} for tool in tools]
            return self.chat.bind_tools(own, **options)
        return self.chat.bind(**options) if options else self.chat

    def marked(self, prompt: list[AnyMessage]) -> list[AnyMessage]:
        """Mark what the next turn repeats: the system message, and the last message before the newest user message.

        Files beside the newest user message stand in the prompts of this turn only. Nothing is marked for a provider
        that wants no marks.
        """
        if self.caching != "marks":
            return prompt
        newest = max((place for place, message in enumerate(prompt) if isinstance(message, HumanMessage)), default=0)
        return [_marked(message) if place in (0, newest - 1) else message for place, message in enumerate(prompt)]

    @property
    def sees(self) -> bool:
        """Whether the model is shown pictures."""
        return bool(self._profile.get("image_inputs")) if self.images is None else self.images

    @property
    def reads(self) -> bool:
        """Whether the model reads texts at length."""
        return bool(self._profile.get("text_inputs", True))

    @property
    def _profile(self) -> Mapping[str, object]:
        """What LangChain knows of the model; empty for a class without profiles."""
        profile: Mapping[str, object] = getattr(self.chat, "profile", None) or {}
        return profile


@dataclass(frozen=True)
class Models:
    """The model of each role, and what stands in when it fails.

    Roles are "supervisor", "observer" and the dialogs' names; a role without an entry takes `default`.
    """

    default: Model
    roles: Mapping[str, Model] = field(default_factory=dict)
    fallback: Model | None = None

    def __iter__(self) -> Iterator[Model]:
        """Go through all models."""
        return iter((self.default, *self.roles.values(), *([self.fallback] if self.fallback else [])))

    def chain(self, role: str) -> Sequence[Model]:
        """Return the models to try for a role, in order."""
        first = self.roles.get(role, self.default)
        return [first] if self.fallback is None else [first, self.fallback]
