"""The desk: a person plays the model. Every model call waits for the person's text and tool calls.

Observers always vote "stay", and help queries are not rewritten: both may take seconds only. A step back plays the
earlier messages and replies again on a fresh stage.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, convert_to_openai_messages
from pydantic import Field

from agents.errors import BrokenReply, ModelUnavailable, UselessReply
from agents.events import Error, Interrupt
from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat
from agents.models.reply import Listener, ask
from agents.state import SUPERVISOR
from app.assistant import Assistant
from app.assistant.run import config_of
from app.composition import discover_checked
from app.plugins.lab.desk_session import DeskCall, DeskReply, DeskSession, DeskTurn, Json, reply_of
from app.plugins.lab.folder import LabFolder, lab_folder
from app.plugins.lab.initial_state import staged_from
from app.plugins.lab.played_turn import THREAD, PlayedTurn, play
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.trace_test import test_of
from app.process.tasks import cancel
from app.settings import Settings
from prompts import languages, prompt

LOG = logging.getLogger(__name__)
LONGEST_THOUGHT = 7 * 24 * 3600.0
"""Seconds that a person may think about a reply."""
PATIENCE = 20.0
"""Seconds of waiting for the next model call, or the end of the turn."""
ExportForm = Literal["jsonl", "test"]
"""The form of an exported session: fine-tuning data, or a trace test."""
Answering = Callable[[list[BaseMessage], Sequence[ToolSchema]], Awaitable[AIMessage]]


class DeskChat(LocalChat):
    """A chat model whose replies come from a function."""

    answering: Answering = Field(repr=False)

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the function's reply."""
        return await self.answering(messages, tools)


def desk_model(role: str, answering: Answering) -> Model:
    """Return a model with time limits for a person."""
    chat = DeskChat(answering=answering)
    return Model(f"desk:{role}", chat, reply_seconds=LONGEST_THOUGHT, first_seconds=LONGEST_THOUGHT)


async def stays(messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
    """Vote "stay" for every observer; rewrite no query."""
    if any(messages[0].text.startswith(prompt("help_query", lang)) for lang in languages()):
        raise ModelUnavailable("unavailable", "the desk")
    return reply_of("stay")


@dataclass
class WantedReply:
    """A model call that waits for the person's reply."""

    role: str
    prompt: list[AnyMessage]
    tools: Sequence[ToolSchema]
    reply: asyncio.Future[tuple[str, Sequence[DeskCall]]] = field(repr=False)

    @property
    def messages(self) -> list[Json]:
        """The prompt in OpenAI's form."""
        shown = convert_to_openai_messages(self.prompt)
        return [*shown] if isinstance(shown, list) else [shown]

    def schema(self, tool: str) -> Json:
        """Return the schema of a tool's arguments. Raises UsageError if the call does not offer the tool."""
        for offered in self.tools:
            if offered["function"]["name"] == tool:
                parameters: Json = offered["function"].get("parameters", {})
                return parameters
        raise LabRefusal("tool_not_offered", tool=tool)

    async def check(self, text: str, calls: Sequence[DeskCall]) -> None:
        """Check a reply like a model's own: a broken one would end the turn.

        Raises UsageError: a tool is not offered, there is neither text nor call, or the reply breaks another rule.
        """
        if not text.strip() and not calls:
            raise LabRefusal("no_reply")
        for call in calls:
            self.schema(call.tool)

        async def replied(*_: object) -> AIMessage:
            return reply_of(text, calls)

        try:
            await ask(desk_model(self.role, replied), self.prompt, self.tools, Listener(self.role, lambda _: None))
        except (BrokenReply, UselessReply) as fault:
            raise LabRefusal("wrong_reply", why=fault) from None


class Desk:
    """One session that is being played."""

    def __init__(self, folder: LabFolder, name: str) -> None:
        self.folder, self.name = folder, name
        self.session = folder.read("desk", name, DeskSession)
        self.has_changed_course = False
        """Whether the same replies have led to another course than before; the rest of the session is dropped then."""
        self.question: Interrupt | None = None
        """The open question of a tool to the user."""
        self._waiting: list[WantedReply] = []
        self._queue: deque[DeskReply] = deque()
        """The replies that are played again."""
        self._is_kept = False
        """Whether new turns are written to the file; not while kept ones are played again."""
        self._places: dict[str, int] = {}
        self._moved = asyncio.Event()
        self._turn: asyncio.Task[None] | None = None
        self._stack = AsyncExitStack()
        self.assistant: Assistant

    async def open(self, settings: Settings) -> None:
        """Open a fresh stage, and play the session on it; only later turns are written to the file.

        Raises ConfigError: a setting is wrong.
        """
        session = self.session
        self.session = session.model_copy(update={"turns": ()})
        self._places = {json.dumps(entry, sort_keys=True): place for place, entry in enumerate(session.pool)}
        self.has_changed_course = self._is_kept = False
        speakers = discover_checked(settings)[0]
        roles = {role: desk_model(role, partial(self._answer, role)) for role in (SUPERVISOR, *speakers.dialogs)}
        models = Models(default=roles[SUPERVISOR], roles={**roles, "observer": desk_model("observer", stays)})
        opening = staged_from(session.begins, THREAD, settings, speakers, models)
        self.assistant = await self._stack.enter_async_context(opening)
        self.question = await self.assistant.question(THREAD, session.user)
        for turn in session.turns:
            self._queue = deque(turn.replies)
            self.say(turn.user)
            await self._settled_again()
            if self._queue or self.session.turns[-1].is_over != turn.is_over:
                self.has_changed_course = True
                break
        self._queue.clear()
        self._is_kept = True

    async def close(self) -> None:
        """Break off the running turn, and close the stage."""
        if self._turn:
            await cancel([self._turn])
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    @property
    def wanted(self) -> WantedReply | None:
        """The call of a model that the person answers next."""
        return self._waiting[0] if self._waiting else None

    @property
    def is_running(self) -> bool:
        """Whether a turn is not over."""
        return self._turn is not None and not self._turn.done()

    def say(self, text: str) -> None:
        """Say something as the user. Raises UsageError: the turn before is not over, or there is no text."""
        if self.is_running:
            raise LabRefusal("turn_not_over")
        if not text.strip():
            raise LabRefusal("nothing_said")
        self._change(turns=(*self.session.turns, DeskTurn(user=text)))
        self._save()
        self._turn = asyncio.create_task(self._play(text))
        self._turn.add_done_callback(lambda _: self._moved.set())

    async def reply(self, text: str, calls: Sequence[DeskCall]) -> None:
        """Answer for the model: text, calls, or both. Raises UsageError: no model call waits, or the reply is wrong."""
        wanted = self.wanted
        if wanted is None:
            raise LabRefusal("nothing_waits")
        await wanted.check(text, calls)
        if not wanted.reply.done():
            wanted.reply.set_result((text, calls))
            self._waiting.remove(wanted)

    async def back(self, settings: Settings, steps: int) -> None:
        """Keep the first steps only, and play them again on a fresh stage."""
        await self.close()
        self.session = self.session.cut(steps)
        await self.open(settings)
        self._save()

    async def as_test(self, lang: str) -> str:
        """Return the session as a trace test; a comment names place and reason if the test ends before the session.

        Raises UsageError: nothing of it can be played again.
        """
        if self.session.begins:
            raise LabRefusal("no_test")
        source, remark = await test_of(self.assistant, THREAD, lang, **self.session.who)
        return f"# {remark}\n{source}" if remark else source

    async def settle(self) -> None:
        """Wait until a model call wants its reply, the turn is over, or `PATIENCE` has passed."""
        await self._until(lambda: self.wanted is not None, PATIENCE)

    async def _settled_again(self) -> None:
        """Wait as `settle` does, and also for the call of a dropped draft: it has no kept reply."""
        await self.settle()
        await self._until(lambda: not self._queue, PATIENCE / 4)
        await self.settle()

    async def _until(self, is_reached: Callable[[], bool], seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.is_running and not is_reached():
                    self._moved.clear()
                    await self._moved.wait()

    async def _play(self, text: str) -> None:
        session = self.session
        try:
            played = await play(self.assistant, text, lang=session.lang or None, **session.who)
        except Exception:
            LOG.exception("a turn at the lab's desk failed")
            played = PlayedTurn(text, [Error(code="failed", text="")], 0)
        question = self.question = await self.assistant.question(THREAD, session.user)
        state = await self.assistant.graph.aget_state(config_of(THREAD))
        real = (id for numbers in state.values.get("aliases", {}).values() for id in numbers.values())
        self._change_turn(
            is_over=True,
            answer=played.answer,
            question=question.prompt if question else "",
            options=tuple(option["label"] for option in question.options) if question else (),
            trace=played.trace,
        )
        self._change(identifiers=tuple(dict.fromkeys([*self.session.identifiers, *real])))
        self._save()

    async def _answer(self, role: str, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the kept reply with the prompt of that time, while the session is played again; else the person's."""
        if self._queue and self._queue[0].role == role:
            reply = self._queue.popleft()
        else:
            reply = await self._by_person(role, messages, tools)
        number = sum(len(turn.replies) for turn in self.session.turns)
        self._change_turn(replies=(*self.session.turns[-1].replies, reply))
        self._moved.set()
        self._save()
        return reply.message(number)

    async def _by_person(self, role: str, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> DeskReply:
        """Return the person's reply."""
        reply = asyncio.get_running_loop().create_future()
        wanted = WantedReply(role, messages, tools, reply)  # type: ignore[arg-type]  # prompts have no other kinds
        self._waiting.append(wanted)
        self._moved.set()
        try:
            text, calls = await wanted.reply
        finally:
            if wanted in self._waiting:
                self._waiting.remove(wanted)
        places = {"prompt": self._places_of(wanted.messages), "tools": self._places_of(tools)}
        return DeskReply(role=role, text=text, calls=tuple(calls), **places)

    def _places_of(self, entries: Sequence[Json]) -> tuple[int, ...]:
        """Return the places of messages or tools in the pool; new ones are added."""
        texts = [json.dumps(entry, sort_keys=True) for entry in entries]
        new = [text for text in dict.fromkeys(texts) if text not in self._places]
        self._places |= {text: place for place, text in enumerate(new, len(self.session.pool))}
        self._change(pool=(*self.session.pool, *map(json.loads, new)))
        return tuple(self._places[text] for text in texts)

    def _change_turn(self, **update: object) -> None:
        *earlier, last = self.session.turns
        self._change(turns=(*earlier, last.model_copy(update=update)))

    def _change(self, **update: object) -> None:
        self.session = self.session.model_copy(update=update)

    def _save(self) -> None:
        if self._is_kept:
            self.folder.write("desk", self.name, self.session)


@asynccontextmanager
async def sitting(settings: Settings, name: str) -> AsyncIterator[Desk]:
    """Open a session of the lab's folder, and close it afterwards."""
    desk = Desk(lab_folder(), name)
    try:
        await desk.open(settings)
        yield desk
    finally:
        await desk.close()
