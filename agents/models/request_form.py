"""The form of requests that the server at an address takes, as its refusals have taught it."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage

from agents.models.refusal import Refusal
from agents.models.thinking import CALL_FIELDS, FIELDS
from agents.models.wordings import named_in, says, wording

LIMITS = ("max_tokens", "num_predict", "max_output_tokens")
"""The names in LangChain's classes for the most tokens of a reply."""
SPELLINGS = ("max_tokens", "max_completion_tokens")
"""The names of that limit for servers of OpenAI's kind; not all know both."""
LIMIT = re.compile(r"max_(?:completion_|new_|output_)?tokens|num_predict|maxoutputtokens", re.IGNORECASE)
FILLERS: dict[str, str] = {"empty_content": " ", "blank_content": "…"}
"""Contents of a message that servers refuse, and the text in their place."""
SYSTEM = "system_role"
"""The name of the role of the first message, which some models do not know; the text then stands before the user's."""
SYNONYMS: Mapping[str, Collection[str]] = {
    "stream": ("streaming",),
    "stream_options": ("include_usage",),
    "reasoning": ("think", "thinking"),
    "reasoning_effort": ("reasoning", "effort", "thinking"),
}
"""Servers' other names of fields that a client writes for us."""
SWITCHES: Mapping[str, str] = {"stream": "is_streamed", "stream_options": "stream_usage"}
"""Fields of requests, by the field of the class that switches them on."""
KEPT = re.compile(
    r"^(model|model_name|output_version)$|api_key|api_base|base_url|timeout|retries|client|profile|stream"
)
"""Fields of LangChain's classes, not of a request."""
THINKING = re.compile(r"(?a:\b((?:reasoning|thinking|thought)_(?:content|text|details|blocks?))\b)")
"""Names of fields of thinking. In any language, a name that a request did not have is a field that it lacks."""
TRIED_FOR = 5.0
"""Seconds that a request waits for the lesson of another one."""
BLANK = " "
"""The text in a wanted field of another model's reply. An empty text counts as none."""
MOST_COPIES = 20
"""Copies of models that are kept: one for each set of words that a reply may be."""
CLAUSE = re.compile(r"[;:!?](?=\s|$)|\.(?=\s|$)|[。；：！？，\n]")
"""The end of a part of a sentence, in any language."""


@dataclass
class RequestForm:
    """The form of requests to a model at an address; all callers share one."""

    without: set[str] = field(default_factory=set)
    """Names of refused fields, as they stand in requests, and of refused contents and forms."""
    most: int | None = None
    """Tokens of the longest reply that the server lets anybody ask for, if it has refused more."""
    wanted: set[str] = field(default_factory=set)
    """Names of fields that every reply in a request must have."""
    taken: set[str] = field(default_factory=set)
    """Names of the parts of requests that were answered."""
    _trial: asyncio.Future[None] | None = None
    _copies: dict[tuple[int, str], tuple[BaseChatModel, BaseChatModel]] = field(default_factory=dict)

    @asynccontextmanager
    async def trial(self, names: Callable[[], set[str]]) -> AsyncIterator[Callable[[], None]]:
        """Let one request at a time have new names; yield the function to call when it is answered.

        The others wait for its lesson, so that they are not refused the same part.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(TRIED_FOR):
                while (others := self._trial) and not others.done() and names() - self.taken:
                    await asyncio.wait([others])
        had, own = names(), asyncio.get_running_loop().create_future()
        if had - self.taken:
            self._trial = own

        def answered() -> None:
            self.taken |= had
            own.cancel()

        try:
            yield answered
        finally:
            own.cancel()

    def copied(self, chat: BaseChatModel, update: Mapping[str, object]) -> BaseChatModel:
        """Return a chat model with these fields, the same one each time, since LangChain spells out each new one."""
        key = id(chat), repr(update)
        if key not in self._copies:
            if len(self._copies) == MOST_COPIES:
                self._copies.clear()
            self._copies[key] = chat, chat.model_copy(update=update)
        return self._copies[key][1]

    def omitted(self, chat: BaseChatModel) -> dict[str, Any]:
        """Return the fields of a chat model that have to change, the limit of a reply apart."""
        update: dict[str, Any] = {}
        if not self.without:
            return update
        for name, info in type(chat).model_fields.items():
            value = getattr(chat, name)
            if isinstance(value, dict) and name in ("extra_body", "model_kwargs"):
                update[name] = {key: each for key, each in value.items() if key not in self.without}
            elif value is not None and name not in LIMITS and self.without & {name, info.alias}:
                update[name] = None
        switches = {field: False for name, field in SWITCHES.items() if name in self.without}
        return update | {field: off for field, off in switches.items() if field in type(chat).model_fields}

    def fitted(self, prompt: list[AnyMessage]) -> list[AnyMessage]:
        """Return the prompt without the contents and fields that the server refuses, and with those that it wants."""
        if not (self.without or self.wanted):
            return prompt
        role, first = prompt[:2]
        if SYSTEM in self.without and isinstance(role, SystemMessage):
            prompt = [first.model_copy(update={"content": f"{role.text}\n\n{first.text}"}), *prompt[2:]]
        filler = next((FILLERS[name] for name in reversed(FILLERS) if name in self.without), "")
        blank, fitted = dict.fromkeys(self.wanted, BLANK), list[AnyMessage]()
        for message in prompt:
            extras, update = message.additional_kwargs, dict[str, object]()
            if filler and not message.content:
                update["content"] = filler
            if isinstance(message, AIMessage) and (blank or extras):
                own = self._taken({**blank, **extras.get(FIELDS, {})})
                beside = {id: self._taken(fields) for id, fields in extras.get(CALL_FIELDS, {}).items()}
                update["additional_kwargs"] = {**extras, FIELDS: own, CALL_FIELDS: beside}
            fitted.append(message.model_copy(update=update) if update else message)
        return fitted

    def _taken(self, fields: Mapping[str, object]) -> dict[str, object]:
        return {name: value for name, value in fields.items() if name not in self.without}


def extras_of(chat: BaseChatModel) -> set[str]:
    """Return the names of the fields that a chat model sends beside the model's name, the messages and the tools."""
    fields, names = type(chat).model_fields.keys() - BaseChatModel.model_fields.keys(), set[str]()
    for name in chat.model_fields_set & fields:
        value = getattr(chat, name)
        if name in ("extra_body", "model_kwargs"):
            names |= {*(value or ())}
        elif value is not None and not KEPT.search(name):
            names.add(name)
    return names | {name for name, field in SWITCHES.items() if getattr(chat, field, False)}


def wanted_field(refusal: Refusal, names: Collection[str]) -> str:
    """Return the name of the field that a refusal wants in every reply, or nothing; `names` are in the request."""
    text = "\n".join([*refusal.fields, refusal.words])
    missing = (name for name in THINKING.findall(text) if name not in names)
    return named_in("wanted", text) or next(missing, "")


def refused(refusal: Refusal, names: Iterable[str], *, is_sure: bool) -> set[str]:
    """Return those of the names that a refusal is about; any name of the limit stands for all its names.

    A refusal names the refused fields before the accepted ones. In any language a list of accepted fields has `model`
    and `messages` in it. If it is not sure that this is a refusal, a word of everyday sentences ("stream") does not
    count.
    """
    names = [name for name in names if is_sure or "_" in name or name in refusal.fields]
    advice = wording("advice").search(refusal.words)
    clauses = [
        clause for text in (refusal.words[: advice and advice.start()], refusal.words) for clause in CLAUSE.split(text)
    ]
    named = (
        {name for name in names if _is_named(name, text, is_sure=is_sure)}
        for text in ("\n".join(refusal.fields), *map(_before_list, clauses), "\n".join(refusal.keys))
    )
    first = next(filter(None, named), set[str]())
    # A refusal of the options of a stream mostly has the word "stream" in it.
    return first - {"stream"} if "stream_options" in first else first


def _before_list(clause: str) -> str:
    """Return a clause, or the part of it before a list of accepted fields."""
    listed = [place for name in ("model", "messages") if (place := re.search(rf"(?a:\b{name}\b)", clause))]
    return clause[: min(place.start() for place in listed)] if len(listed) > 1 else clause


def refused_content(refusal: Refusal, prompt: Iterable[AnyMessage], before: Collection[str]) -> set[str]:
    """Return the name of the refused content, if the prompt had such a content; else nothing."""
    is_about = re.search(r"(?a:\bcontent\b)", "\n".join(refusal.fields)) or (
        says("content", refusal.words) and says("empty", refusal.words)
    )
    if not is_about or all(message.content for message in prompt):
        return set()
    return {next(iter(name for name in FILLERS if name not in before), "")} - {""}


def _is_named(name: str, text: str, *, is_sure: bool) -> bool:
    if LIMIT.fullmatch(name):
        return LIMIT.search(text) is not None
    squeezed, words = re.sub(r"[ _-]", "", text).casefold(), re.findall(r"(?a:\w+)", text.casefold())
    spellings = (name, *(SYNONYMS.get(name, ()) if is_sure else ()))
    return any(each in words or ("_" in each and each.replace("_", "") in squeezed) for each in spellings)
