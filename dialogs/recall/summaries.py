"""A model's summaries of ended conversations: made beside the conversations, and kept as data."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langchain_core.messages import HumanMessage, SystemMessage

from agents.errors import ConfigError, DatabaseError, ModelUnavailable
from agents.events import Event
from agents.memory import Memory
from agents.memory.inbox import TO, lines_of
from agents.models import Model
from agents.models.factory import Endpoint, Parameters, make_model
from agents.models.reply import Listener, reply
from agents.state.message_notes import notes
from agents.toolkit.services import Services
from dialogs.recall.settings import RecallSettings
from dialogs.recall.store import DueSummary, Recall
from prompts import prompt, sentence

LOG = logging.getLogger(__name__)
SECONDS, LOOKS, MOST_TRIES = 60.0, 2.0, 3
"""The most seconds of a model, the seconds between two looks for ends, and the most tries of an end."""
LEASE_MS = 300_000
"""Milliseconds after which a taken end is taken again: its process has ended, or its model has failed."""
MOST_READ, MOST_LINES, LONGEST_LINE, MOST_TOKENS = 200, 40, 400, 300
"""The most lines of a thread that are read, and that a model gets; characters of each; tokens of the summary."""


@dataclass(frozen=True)
class Summaries:
    """Sums ended conversations up, one after the other."""

    memory: Memory
    recall: Recall
    model: Model

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await asyncio.sleep(LOOKS)
            try:
                while due := await self.recall.claim(LEASE_MS, MOST_TRIES):
                    try:
                        await self.recall.close(due, await self._summary(due))
                    except (ModelUnavailable, TimeoutError) as failure:
                        LOG.warning("thread %s: no summary (%s)", due.thread, type(failure).__name__)
            except DatabaseError:
                LOG.exception("what has ended could not be summed up")

    async def _summary(self, due: DueSummary) -> str:
        """Return a model's summary. Raises ModelUnavailable or TimeoutError; the facts stay as they are."""
        lines = lines_of(due.user, await self.memory.transcript.lines(due.thread, limit=MOST_READ))
        new = [line for line in lines if due.since < line.turn <= due.turn]
        if due.owner.startswith("group "):
            new = [line for line in new if TO in line.metadata]
        texts = [f"{line.role}: {' '.join(line.text.split())[:LONGEST_LINE]}" for line in new[-MOST_LINES:]]
        role = SystemMessage(prompt("recall/summary", due.lang), additional_kwargs=notes(lang=due.lang))
        # The words of people and models must not be read as orders.
        data = HumanMessage(sentence("recall/phrases", "conversation", due.lang, lines="\n".join(texts)))
        async with asyncio.timeout(SECONDS):
            return (await reply([self.model], [role, data], [], Listener("recall", _unheard))).text


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the kept entries; with a model, sum up the conversations that end during the block, or ended before it.

    Raises:
        ConfigError: the model's key or package is missing.
    """
    settings, memory = services.get(RecallSettings), services.get(Memory)
    recall = Recall(memory.database, sums_up=bool(settings.memory_model))
    if not settings.memory_model:
        yield [recall]
        return
    key, url = settings.memory_api_key, settings.memory_base_url or None
    if settings.memory_model.startswith("openai:") and not (key or url):
        raise ConfigError("MEMORY_MODEL: openai: models need MEMORY_API_KEY or MEMORY_BASE_URL")
    endpoint = Endpoint(key=key, base_url=url, timeout=SECONDS, retries=0)
    model = make_model(settings.memory_model, endpoint, Parameters(max_tokens=MOST_TOKENS))
    working = asyncio.create_task(Summaries(memory, recall, model).run())
    try:
        yield [recall]
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def _unheard(_: Event) -> None:
    """Drop an event: no door shows the making of a summary."""
