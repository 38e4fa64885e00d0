"""The stage: a conversation that is tried out stays out of the log, and everything else is still heard."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat
from app.composition import discover
from app.plugins.lab.live import OpenTalks
from app.plugins.lab.played_turn import play
from app.plugins.lab.stage import staged
from app.process.logs import log_on_stderr
from app.settings import Settings
from tests.support.simulated_time import rounds

LOG = logging.getLogger(__name__)


class NoisyChat(LocalChat):
    """Logs an error, waits until it may answer, and logs another error."""

    asked: asyncio.Queue[asyncio.Event] = Field(default_factory=asyncio.Queue)

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return a greeting when the event of this call is set."""
        LOG.error("the model is asked")
        may_answer = asyncio.Event()
        await self.asked.put(may_answer)
        await may_answer.wait()
        LOG.error("the model answers")
        return AIMessage("Hello!", response_metadata={"finish_reason": "stop"})


async def test_silence_holds_for_its_own_play_alone(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """Two plays overlap, and the first one ends first: neither is heard, and all others are heard at any time."""
    chat = NoisyChat()
    with log_on_stderr(detailed=False):
        async with staged(settings, discover()[0], Models(default=Model("noisy", chat))) as assistant:
            plays = [asyncio.create_task(play(assistant, "hello", thread=thread)) for thread in ("first", "second")]
            events = [await chat.asked.get() for _ in plays]
            LOG.error("both plays go on")
            for may_answer, task in zip(events, plays, strict=True):
                may_answer.set()
                assert (await task).answer == "Hello!"
                LOG.error("a play is over")
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("ERROR")] == [
        "ERROR both plays go on",
        "ERROR a play is over",
        "ERROR a play is over",
    ]


async def test_no_talk_is_opened_while_its_agent_is_deleted() -> None:
    """A request for it meanwhile waits, and finds the state afterwards."""
    talks, opened = OpenTalks[str](), list[str]()

    async def open_talk(_: AsyncExitStack) -> str:
        opened.append("clerk")
        return "a talk"

    async with talks.closed("clerk"):
        asking = asyncio.create_task(talks.of("clerk", open_talk))
        await rounds(5)
        assert opened == []
    assert await asking == "a talk"
