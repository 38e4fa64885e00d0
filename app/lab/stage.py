"""Conversations on a stage: the installation's assistant, with what is tried in place, on a database of its own."""

import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import Field

from agents.errors import UsageError
from agents.events import Event, Message, ModelEnd, TurnEnd, TurnStart, trace
from agents.models import Models
from agents.models.answer import answer_in
from agents.models.factory import Parameters
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.agent_files.mocks import Mock, Mocked, with_mocks
from app.assistant import Assistant, Turn
from app.composition import discover_checked, make_models, open_assistant
from app.lab.erring import erring
from app.process.logs import silence
from app.remote.yaml_file import NO_TEXTS, ByLanguage, Part
from app.settings import Settings
from app.usage import Price, Tokens

THREAD = "lab"
DEVICE = "lab"
"""The door, as tools and permissions know it."""


class Variant(Part):
    """What a conversation is played with, where it differs from the installation."""

    model: str = ""
    """The model of every role, such as `openai:gpt-5-mini`; empty: as it is set."""
    parameters: Parameters = Parameters()
    """Of every role's model."""
    prompts: Mapping[str, ByLanguage] = Field(default_factory=dict)
    """By dialog: the prompt that takes the place of its own."""
    direct_switch: bool | None = None
    observers_asked: Literal["beside", "first"] | None = None
    mocks: tuple[Mock, ...] = ()
    errs_every: int = Field(default=0, ge=0)
    """After how many replies the model errs once, to see what comes of it; 0: never."""

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of the installation with those of the variant."""
        changed = {name: getattr(self, name) for name in ("direct_switch", "observers_asked")}
        update: dict[str, object] = {name: value for name, value in changed.items() if value is not None}
        if self.parameters != Parameters():
            default = settings.llm_parameters.get("default", Parameters())
            update["llm_parameters"] = {**settings.llm_parameters, "default": self.parameters.over(default)}
        return settings.model_copy(update=update)

    def speakers(self, speakers: Speakers) -> Speakers:
        """Return the speakers with the prompts and the mocks of the variant.

        Raises:
            UsageError: it names a dialog that there is not.
        """
        if unknown := sorted(set(self.prompts) - set(speakers.dialogs)):
            raise UsageError(f"there is no dialog {unknown[0]!r}; there are: {', '.join(speakers.dialogs)}")
        dialogs = {
            name: replace(dialog, roles=self.prompts.get(name, NO_TEXTS) or dialog.roles)
            for name, dialog in speakers.dialogs.items()
        }
        return with_mocks(replace(speakers, dialogs=dialogs), self.mocks)


@dataclass(frozen=True, kw_only=True)
class PlayedTurn:
    """One turn as it went."""

    text: str | None
    trace: str
    """Without the user's line."""
    answer: str
    holder: str
    """Who holds the conversation afterwards."""
    events: Sequence[Event] = field(default=(), repr=False)
    used: Mapping[str, Tokens]
    """What calls of models took, by model."""
    seconds: float
    waits: bool
    """Whether a tool waits for the user."""

    @property
    def calls(self) -> int:
        """The calls of models."""
        return sum(tokens.calls for tokens in self.used.values())

    @property
    def tokens(self) -> int:
        """The tokens that models have read and written."""
        return sum(tokens.input + tokens.output for tokens in self.used.values())

    def price(self, prices: Mapping[str, Price]) -> float:
        """Return what the turn has cost; a model without a price costs nothing."""
        return sum(prices[model].of(tokens) for model, tokens in self.used.items() if model in prices)

    @property
    def comparable(self) -> str:
        """The trace as it would be if the mocks were tools."""
        return trace(event for event in self.events if not isinstance(event, Mocked | TurnStart))


@asynccontextmanager
async def staged(
    settings: Settings,
    variant: Variant | None = None,
    *,
    speakers: Speakers | None = None,
    models: Models | None = None,
    folder: Path | None = None,
) -> AsyncIterator[Assistant]:
    """Open the assistant of a variant on a database of its own, which is gone afterwards unless a folder keeps it.

    Nothing of it reaches the users of the installation. Remote tools are not there, unless they are mocked.

    Raises:
        ConfigError: a model or a setting is wrong.
        UsageError: the variant names a dialog that there is not.
    """
    variant = variant or Variant()
    speakers = variant.speakers(speakers or discover_checked(settings)[0])
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{(folder or Path(scratch)) / 'lab.db'}"
        # What a folder keeps is read by whoever looks into the lab, and outlives a change of the key.
        key = None if folder else settings.database_key
        place = {"database_url": url, "database_key": key}
        own = variant.settings(settings).model_copy(update={**place, "turns_per_hour": 0})
        models = models or make_models(own, speakers, variant.model or None)
        models = erring(models, variant.errs_every) if variant.errs_every else models
        async with open_assistant(own, models=models, remote=False, speakers=speakers) as assistant:
            yield assistant


async def play(
    assistant: Assistant,
    text: str | None,
    *,
    lang: str | None = None,
    thread: str = THREAD,
    source: str = "message",
    user: str | None = None,
    device: str = DEVICE,
) -> PlayedTurn:
    """Play one message to its end, and tell how it went; each thread has a user of its own, unless one is named."""
    begun = time.perf_counter()
    turn = Turn(thread=thread, text=text, user=user, lang=lang, source=source, device=device)
    with silence():
        events = [event async for event in assistant.play(turn)]
    return turn_of(text, events, time.perf_counter() - begun)


def turn_of(text: str | None, events: Sequence[Event], seconds: float) -> PlayedTurn:
    """Return how a turn went, from its events."""
    used: defaultdict[str, Tokens] = defaultdict(Tokens)
    for end in (event for event in events if isinstance(event, ModelEnd)):
        used[end.model].add(Tokens(1, end.input_tokens, end.cached_tokens, end.output_tokens))
    last = next((event for event in reversed(events) if isinstance(event, TurnEnd)), None)
    return PlayedTurn(
        text=text,
        trace=trace(event for event in events if not isinstance(event, TurnStart)),
        answer="\n\n".join(event.text for event in events if isinstance(event, Message)),
        holder=(last.dialog if last else None) or SUPERVISOR,
        events=events,
        used=used,
        seconds=seconds,
        waits=bool(last and last.waiting),
    )


async def ask(settings: Settings, model: str, role: str, text: str) -> str:
    """Return what a model answers, in one line, without its thinking.

    Raises:
        ConfigError: its name or key is wrong.
        UsageError: it does not answer.
    """
    chat = settings.models(model).default.chat
    try:
        reply = await chat.ainvoke([SystemMessage(role), HumanMessage(text)])
    except Exception as failure:
        raise UsageError(f"{model} does not answer ({type(failure).__name__})") from failure
    return " ".join(answer_in(reply.text).split())
