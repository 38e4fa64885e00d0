"""Chat models by role: of the supervisor, of each dialog and of the observers."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import SecretStr

from agents.language.text.repetition import REPEATS
from agents.models.attempts import attempts
from agents.models.failures import is_other_form, is_refusal, is_sure, names_pictures
from agents.models.refusal import refusal_of
from agents.models.request_form import (
    LIMITS,
    SPELLINGS,
    SYSTEM,
    RequestForm,
    extras_of,
    refused,
    refused_content,
    wanted_field,
)
from agents.models.thinking import CALL_FIELDS, FIELDS
from agents.models.window import Window
from agents.models.wordings import named_in, says

Caching = Literal["none", "key", "marks"]
"""The way in which a request asks a provider to cache. "none": it does not ask; many cache all by themselves."""
Choice = Literal["grammar", "guided_choice"]
"""The field of a request for the only words that a reply may be: llama.cpp's, vLLM's."""
MARK = {"type": "ephemeral"}
FREE = "local:"
"""The prefix of the names of free models; nobody needs to count their tokens."""

Stream = Callable[[list[AnyMessage]], AsyncIterator[AIMessage]]
ToolSchema = dict[str, Any]
"""A tool in the form that providers take: `{"type": "function", "function": {…}}`."""


@dataclass(frozen=True)
class ModelRequest:
    """A call of a model, for `around_model_call`: of a speaker, an observer, or beside the conversation."""

    speaker: str
    role: str
    """The role of the model: "supervisor", "observer", or the name of a dialog."""
    thread: str
    model: str
    """The name of the first model that is asked, such as "openai:gpt-5-mini"."""
    messages: Sequence[AnyMessage]
    tools: Sequence[ToolSchema]


AskModel = Callable[[ModelRequest], Awaitable[AIMessage]]
AroundModelCall = Callable[[ModelRequest, AskModel], Awaitable[AIMessage]]
"""Returns the reply; a hook that does not call its second argument answers in place of the model."""
MOST_CHARACTERS = 200_000
"""Characters of a reply with its thinking and its arguments (about 50,000 tokens): some streams never end."""
LONGEST_REPLY = 600.0
"""Seconds a reply may take in all: some streams never end, and a provider's timeout only counts silence."""
COLD = 300.0
"""Seconds until the first piece of a model that has not answered yet: a server may have to read the whole prompt."""
FEW, THOUGHTFUL = 32, 16_384
"""Tokens of a reply of one word, and of a reply by a model that thinks first."""
HEADLESS = re.compile(r"(?<![a-z0-9])(r1|qwq|thinking)(?![a-z0-9])", re.IGNORECASE)
"""Names of models with a chat template that opens the thinking: their text begins inside it."""


def _marked(message: AnyMessage) -> AnyMessage:
    """Return the message with a mark at its end; a message without text cannot carry one."""
    blocks = [{"type": "text", "text": message.text, "cache_control": MARK}]
    return message.model_copy(update={"content": blocks}) if message.text else message


@dataclass(frozen=True)
class Model:
    """A chat model and its name in events ("openai:gpt-5-mini")."""

    name: str
    chat: BaseChatModel
    parallel_tool_calls: bool | None = None
    """Whether a reply may call several tools; None: the provider decides."""
    caching: Caching = "none"
    reply_length: int = MOST_CHARACTERS
    reply_seconds: float = LONGEST_REPLY
    reply_repeats: int = REPEATS
    gap_seconds: float | None = None
    """Seconds of a try until its first piece, and of a reply between two pieces; None: the client's own limit."""
    retries: int = 0
    """The number of further tries with a server that is busy or cannot be reached."""
    first_seconds: float = LONGEST_REPLY
    """Seconds until the first piece of a reply, all further tries included."""
    cold_seconds: float = 0
    """The same for a model that has not answered yet."""
    aside_seconds: float = 10
    """Seconds of a reply beside the conversation: by an observer, a summary, a question put anew."""
    most_tokens: int | None = None
    """Tokens of a reply, unless the model thinks first, or its server takes no limit."""
    images: bool | None = None
    """Whether it sees pictures; None: its profile decides."""
    window: Window = field(default_factory=Window, compare=False, repr=False)
    choice: Choice | None = None
    """The field that tells its server the only words that a reply may be; None: there is none."""
    form: RequestForm = field(default_factory=RequestForm, compare=False, repr=False)
    around: AroundModelCall | None = field(default=None, compare=False, repr=False)
    """The hooks around a reply, where this model is asked first; None if there is none."""
    other: Callable[[], BaseChatModel] | None = field(default=None, compare=False, repr=False)
    """Makes the model in the other one of OpenAI's two forms."""
    habits: dict[str, float] = field(default_factory=dict, compare=False, repr=False)
    """Facts that its replies have shown: "headless" is whether its texts begin inside the thinking, "thoughtful"
    whether it thinks at all, "slowest" the seconds until a piece, "says_why" whether it has given the reason why a
    reply ended. "endless" counts its last replies without an end. "slots" is the number of prompts that its server
    keeps, if known."""

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
    def secrets(self) -> Sequence[str]:
        """The keys that its requests carry, of whatever provider."""
        values = (getattr(self.chat, name) for name in type(self.chat).model_fields)
        return [value.get_secret_value() for value in values if isinstance(value, SecretStr) and value]

    @property
    def place(self) -> str:
        """The model's name and, where it is known, its address, without a password in it."""
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

    @property
    def sends_window(self) -> bool:
        """Whether each request tells its server the size of the window to load: Ollama's own form."""
        return "num_ctx" in type(self.chat).model_fields

    @property
    def wire(self) -> Literal["responses", "chat"]:
        """The one of OpenAI's two forms that its requests have, if they have one."""
        return "responses" if getattr(self.chat, "use_responses_api", False) else "chat"

    @property
    def in_form(self) -> Self:
        """The model in the form that its server takes."""
        return replace(self, chat=self.other(), other=None) if self.other and self.wire in self.form.without else self

    def change_form(self) -> Collection[str]:
        """Ask in the other form from now on; return the name of this one, if there is another."""
        if self.other is None:
            return ()
        self.form.without.add(self.wire)
        return {self.wire}

    def outgrow(self) -> bool:
        """Remember that the model thinks first; tell whether that is new and a reply had a limit of ours."""
        is_new = self.most_tokens is not None and "thoughtful" not in self.habits
        self.habits["thoughtful"] = True
        return is_new

    def lesson(
        self, failure: BaseException, prompt: Sequence[AnyMessage], before: Collection[str]
    ) -> tuple[str, set[str]]:
        """Return the name of a field that replies lack, and the names of the request's parts that a failure is about.

        `before` are the names that this request did without.
        """
        refusal, names = refusal_of(failure), self.extras(prompt, before)
        # LangChain's own classes send no such fields.
        writes_fields = "is_streamed" in type(self.chat).model_fields
        wanted = wanted_field(refusal, {*names, *self.form.without}) if writes_fields else ""
        about = refused(refusal, names, is_sure=is_sure(failure)) or refused_content(refusal, prompt, before)
        if not about and SYSTEM not in before and is_sure(failure) and says("system", refusal.words):
            about = {SYSTEM}
        return wanted, about

    def learn(self, failure: BaseException, prompt: Sequence[AnyMessage], before: Collection[str]) -> set[str]:
        """Do from now on without the parts that a failure is about, or with the field that it wants; return names."""
        wanted, names = self.lesson(failure, prompt, before)
        if wanted and wanted not in self.form.wanted:
            self.form.wanted.add(wanted)
            return {f"replies that lack {wanted}"}
        if names & {*self._spellings} and (most := named_in("window", refusal_of(failure).words)):
            sent = self._most(is_word=False)
            if sent and int(most) < sent:
                self.form.most = int(most)
                return {f"a limit of a reply above {most} tokens"}
        self.form.without |= names
        return names

    def teaches(self, failure: Exception, prompt: Sequence[AnyMessage]) -> bool:
        """Tell whether a failure, of any status, names a part that the next request should do without."""
        if not is_refusal(failure):
            return False
        shows = any(isinstance(message, HumanMessage) and isinstance(message.content, list) for message in prompt)
        is_lesson = any(self.lesson(failure, prompt, self.form.without))
        return (
            is_lesson or (shows and names_pictures(failure)) or (bool(self.other) and is_other_form(failure, self.wire))
        )

    def extras(self, prompt: Sequence[AnyMessage], before: Collection[str]) -> set[str]:
        """Return the names of a request's parts beside model, messages and tools, less those in `before`."""
        # One name of a limit is given up at a time: the server may know another.
        limit = next((name for name in self._spellings if name not in before), "")
        names = extras_of(self.chat) - {*SPELLINGS, *LIMITS} | {*self._options("some"), self.choice or "", limit}
        for extra in (message.additional_kwargs for message in prompt):
            names |= {*extra.get(FIELDS, ())}.union(*extra.get(CALL_FIELDS, {}).values())
        return names - {*before, ""}

    def give_up_limit(self, before: Collection[str]) -> set[str]:
        """Do without any limit from now on; return its names if that is new to a request that did without `before`."""
        spellings = {*self._spellings} if self._most(is_word=False) else set()
        self.form.without |= spellings
        return spellings - {*before}

    def limited(self, words: Sequence[str]) -> Self:
        """Return the model as its server takes it, with the limits of a reply; the reply is one of `words`, if any."""
        update, extra, field = self.form.omitted(self.chat), dict[str, object](), self._field
        if field and (limit := self._most(is_word=bool(words))):
            name = next((name for name in self._spellings if name not in self.form.without), None)
            if name is None:
                update |= {field: None} if self.most_tokens is None else {}
            elif name == (type(self.chat).model_fields[field].alias or field) or len(self._spellings) == 1:
                # The class writes this name.
                update[field] = limit
            else:
                update[field], extra[name] = None, limit
        if self.window.size and self.sends_window:
            # Ollama would load less, and cut a longer prompt without a word.
            update["num_ctx"] = self.window.size
        if words and self.choice and self.choice not in self.form.without:
            rule = " | ".join(json.dumps(word, ensure_ascii=False) for word in words)
            extra[self.choice] = f"root ::= {rule}" if self.choice == "grammar" else [*words]
        if extra:
            update["extra_body"] = {**(update.get("extra_body", getattr(self.chat, "extra_body", None)) or {}), **extra}
        return replace(self, chat=self.form.copied(self.chat, update)) if update else self

    @property
    def _field(self) -> str | None:
        """The field of the chat model that limits a reply."""
        return next((field for field in LIMITS if field in type(self.chat).model_fields), None)

    @property
    def _spellings(self) -> Sequence[str]:
        """The names under which the limit may go to the server, the first one first."""
        fields, field = type(self.chat).model_fields, self._field
        if self.wire == "responses":
            return ["max_output_tokens"]
        if field is None or "extra_body" not in fields:
            return [field] if field else []
        # Servers of OpenAI's kind know the older name, and not all know the newer one.
        is_foreign = self.most_tokens is not None and self.address and "api.openai.com" not in self.address
        return SPELLINGS if is_foreign or fields[field].alias is None else SPELLINGS[::-1]

    def _most(self, *, is_word: bool) -> int | None:
        """Return the most tokens of a reply; None: no limit."""
        if self.most_tokens is None:
            given: int | None = getattr(self.chat, self._field) if self._field else None
            return given and min(given, self.form.most or given)
        is_likely = self._profile.get("reasoning_output") or HEADLESS.search(self.name)
        is_thoughtful = self.habits.get("thoughtful", is_likely)
        # A model that never comes to an end gets half as many the next time, and then a quarter.
        room = self.most_tokens >> min(2, max(0, int(self.habits.get("endless", 0)) - 1))
        most = THOUGHTFUL if is_thoughtful else FEW if is_word else room
        return min(most, self.window.reply or most, self.form.most or most)

    def bound(self, tools: Sequence[ToolSchema], key: str) -> Stream:
        """Return the stream of a reply, with these tools; the provider keeps a prompt's beginning under `key`."""
        omitted = self.form.without if tools else {*self.form.without, "parallel_tool_calls"}
        options = {name: option for name, option in self._options(key).items() if name not in omitted}
        # One client empties the parameters that it is given; they belong to all turns and models.
        own = [{**tool, "function": {**tool["function"]}} for tool in tools]
        runnable = self.chat.bind_tools(own, **options) if own else self.chat.bind(**options)
        return partial(attempts, runnable, self.retries, self.gap_seconds, self.teaches)

    def _options(self, key: str) -> dict[str, Any]:
        """Return the other options of a request with tools, by the names of the provider's client."""
        options: dict[str, Any] = {
            "prompt_cache_key": key if self.caching == "key" and key else None,
            # The provider's client marks the end of the prompt.
            "cache_control": MARK if self.caching == "marks" else None,
            "parallel_tool_calls": self.parallel_tool_calls,
        }
        return {name: option for name, option in options.items() if option is not None}

    def marked(self, prompt: list[AnyMessage]) -> list[AnyMessage]:
        """Mark the part of a prompt that the next turn repeats, if the provider wants marks.

        The marks are on the system message, and on the last message before the newest user message: the files of that
        one are not repeated.
        """
        if self.caching != "marks" or "cache_control" in self.form.without:
            return prompt
        newest = max((place for place, message in enumerate(prompt) if isinstance(message, HumanMessage)), default=0)
        return [_marked(message) if place in (0, newest - 1) else message for place, message in enumerate(prompt)]

    @property
    def sees(self) -> bool:
        """Whether the model sees pictures."""
        return bool(self._profile.get("image_inputs")) if self.images is None else self.images

    @property
    def reads(self) -> bool:
        """Whether the model reads texts at length."""
        return bool(self._profile.get("text_inputs", True))

    @property
    def _profile(self) -> Mapping[str, object]:
        """LangChain's profile of the model; empty for a class without profiles."""
        profile: Mapping[str, object] = getattr(self.chat, "profile", None) or {}
        return profile


@dataclass(frozen=True)
class Models:
    """The model of each role, and the fallback when it fails.

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

    def each(self, change: Callable[[Model], Model]) -> "Models":
        """Return the models, each as a function changes it."""
        roles = {role: change(model) for role, model in self.roles.items()}
        return Models(change(self.default), roles, self.fallback and change(self.fallback))
