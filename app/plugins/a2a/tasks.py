"""A2A: other agents give the assistant tasks. A task's context is a thread, and each of its messages a turn."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from a2a.helpers.proto_helpers import (
    get_data_parts,
    get_text_parts,
    new_data_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext, SimpleRequestContextBuilder
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import ServerCallContextBuilder, StarletteUser
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as types
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from fastapi import HTTPException, Request, Response
from fastapi.responses import JSONResponse
from starlette.authentication import SimpleUser

from agents import events
from agents.errors import UsageError
from agents.events.views import Notice, View
from agents.language.text.clean import safe_json
from agents.memory.inbox import storable
from app.assistant import Assistant, Turn
from app.doors.http.answers import Answers, Busy
from app.doors.http.exchange import DEVICE, EMPTY, LONGEST_NAME, PRINTABLE
from app.security.api_keys import Key
from prompts import FALLBACK, sentence, title_of

MOST_TASKS = 1_000
"""The most tasks that clients can ask for. Tasks are in memory alone; their messages are kept as in every thread."""
MOST_OBJECTS = 10_000
"""The most objects of a request; a message that is played has fewer."""
KEY, PATH = "key", "/a2a"


class Service:
    """Answers the requests of the protocol."""

    def __init__(self, assistant: Assistant, answers: Answers) -> None:
        self._card, tasks = _card(assistant), Tasks(assistant)
        assistant.memory.erasers.append(tasks.erase)
        executor, read = TurnExecutor(assistant, answers), ReadMessages()
        handler = DefaultRequestHandler(executor, tasks, self._card, request_context_builder=read)
        self._dispatcher = JsonRpcDispatcher(handler, PeerContext())

    def card(self, request: Request) -> Response:
        """Return the agent card of A2A: the assistant's skills, and the address of its tasks."""
        shown = types.AgentCard()
        shown.CopyFrom(self._card)
        shown.supported_interfaces[0].url = str(request.base_url.replace(path=PATH))
        return JSONResponse(agent_card_to_dict(shown))

    async def call(self, request: Request) -> Response:
        """Answer a JSON-RPC request of another agent. Raises HTTPException: it has too many objects (413)."""
        # The library takes 30 µs for each; meanwhile nobody else is served.
        if (await request.body()).count(b"{") > MOST_OBJECTS:
            raise HTTPException(413, f"A message may have {MOST_OBJECTS} objects.")
        return await self._dispatcher.handle_requests(request)


ENDED = (
    types.TaskState.TASK_STATE_COMPLETED,
    types.TaskState.TASK_STATE_INPUT_REQUIRED,
    types.TaskState.TASK_STATE_FAILED,
    types.TaskState.TASK_STATE_CANCELED,
)
"""The states of tasks whose message is stored."""


class PeerContext(ServerCallContextBuilder):
    """Names the caller to the protocol: the holder of a key, who sees no tasks of others."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context of a call, with its caller."""
        key: Key = request.state.key
        user = StarletteUser(SimpleUser(key.name))
        return ServerCallContext(user=user, state={KEY: key, "headers": dict(request.headers)})


class Tasks(InMemoryTaskStore):
    """The latest tasks; those of a thread are forgotten with it, here or by another process."""

    def __init__(self, assistant: Assistant) -> None:
        super().__init__()
        self._transcript = assistant.memory.transcript
        self._kept: OrderedDict[str, tuple[str, ServerCallContext]] = OrderedDict()

    async def save(self, task: types.Task, context: ServerCallContext) -> None:
        """Keep a task, and drop the oldest of too many."""
        await super().save(task, context)
        self._kept[task.id] = _thread(context, task.context_id), context
        while len(self._kept) > MOST_TASKS:
            oldest, (_, owner) = self._kept.popitem(last=False)
            await self.delete(oldest, owner)

    async def get(self, task_id: str, context: ServerCallContext) -> types.Task | None:
        """Return a task of the caller, unless its thread was forgotten."""
        task = await super().get(task_id, context)
        if task is not None and task.status.state in ENDED:
            await self._drop_forgotten({self._kept[task_id][0]} if task_id in self._kept else set())
            task = await super().get(task_id, context)
        return task

    async def list(self, params: types.ListTasksRequest, context: ServerCallContext) -> types.ListTasksResponse:
        """List the tasks of the caller, without those whose threads were forgotten."""
        ended = [task for task in (await super().list(params, context)).tasks if task.status.state in ENDED]
        await self._drop_forgotten({self._kept[task.id][0] for task in ended if task.id in self._kept})
        return await super().list(params, context)

    async def _drop_forgotten(self, threads: Collection[str]) -> None:
        for thread in threads:
            if await self._transcript.last(thread) is None:
                await self.erase(thread, ())

    async def erase(self, thread: str, users: Collection[str]) -> None:
        """Drop the tasks of a thread."""
        for id in [id for id, (name, _) in self._kept.items() if storable(name) == storable(thread)]:
            await self.delete(id, self._kept.pop(id)[1])


class ReadMessages(SimpleRequestContextBuilder):
    """Reads messages before their tasks begin."""

    async def build(self, context: ServerCallContext, params: Any = None, *args: Any, **fields: Any) -> RequestContext:
        """Return the context of a message.

        Raises:
            InvalidParamsError: the message is not a user's, it is empty, or an id cannot be stored.
            ContentTypeNotSupportedError: it has a file.
        """
        built = await super().build(context, params, *args, **fields)
        if message := built.message:
            ids = (message.message_id, built.context_id or "")
            if not all(re.fullmatch(PRINTABLE, id) and len(id) <= LONGEST_NAME for id in ids):
                raise InvalidParamsError(f"Ids have 1 to {LONGEST_NAME} printable characters.")
            if message.role != types.ROLE_USER:
                raise InvalidParamsError("A message must be the user's.")
            if any(part.WhichOneof("content") in ("raw", "url") for part in message.parts):
                raise ContentTypeNotSupportedError("Files are not read; texts and data are.")
            if not _text(message).strip():
                raise InvalidParamsError(EMPTY)
        return built


def _text(message: types.Message) -> str:
    """Return the texts of a message, and its data as JSON."""
    return "\n".join([*get_text_parts(message.parts), *map(safe_json, get_data_parts(message.parts))])


class TurnExecutor(AgentExecutor):
    """Plays the messages of tasks as turns."""

    def __init__(self, assistant: Assistant, answers: Answers) -> None:
        self._assistant, self._answers = assistant, answers
        self._writers: dict[str, TaskWriter] = {}
        """The writer of each task's answer, by the task's id."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Play a message to its end. A client that goes does not stop it: it may ask for its task later."""
        message = context.message or types.Message()
        task, thread_id = context.task_id or "", context.context_id or ""
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        updater = TaskUpdater(event_queue, task, thread_id)
        await updater.start_work()
        thread = _thread(context.call_context, thread_id)
        turn = Turn(thread=thread, text=_text(message), id=message.message_id, device=DEVICE, rings=False)
        try:
            key: Key = context.call_context.state[KEY]
            answer = await self._answers.to(turn, key.holder)
            writer = self._writers[task] = TaskWriter(turn.id, updater)
            try:
                async for event in answer.read():
                    await writer.take(event)
                question = await self._assistant.question(thread, turn.owner)
                await writer.end(question.prompt if question else "")
            finally:
                self._writers.pop(task).over.set()
        except (Busy, UsageError) as failure:
            await updater.reject(new_text_message(str(failure) or "Too many answers are being made."))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the answer in progress; its text so far is kept."""
        task, thread_id = context.task_id or "", context.context_id or ""
        writer = self._writers.get(task)
        if writer:
            writer.is_stopped = True
        await self._answers.stop(_thread(context.call_context, thread_id))
        if writer:
            # The text so far is sent before the end of the task.
            await writer.over.wait()
        else:
            await TaskUpdater(event_queue, task, thread_id).cancel()


class TaskWriter:
    """Writes the events of a turn as those of a task: a message is an artifact, an open question the status."""

    def __init__(self, id: str, updater: TaskUpdater) -> None:
        self._id, self._updater = id, updater
        self._count, self._shown, self._asked = 1, False, ""
        """The number of the artifact, whether some of it was sent, and the question in full."""
        self._failure: events.Error | None = None
        self.is_stopped, self.over = False, asyncio.Event()

    async def take(self, event: events.Event) -> None:
        """Write the next event to the task."""
        match event:
            case events.Token(text=text):
                await self._add(new_text_part(text), append=self._shown)
                self._shown = True
            case events.Interrupt(prompt=prompt):
                self._asked = prompt
            case events.Message(text=text) if self._asked and event.shown:
                self._asked = text
            case events.Message(text=text):
                await self._finish(text)
                self.is_stopped |= event.interrupted
            case Notice(message=text):
                await self._finish(text)
            case events.Sources() | events.Images() | View():
                await self._add(new_data_part(event.body()), name=event.type)
                self._count += 1
            case events.Error(code=code, text=text) if code in events.CUT:
                await self._finish(text)
            case events.Error(code=events.RETRY):
                self._shown = False
            case events.Error(code=code) if code != events.REBUILT:
                self._failure = event

    async def end(self, question: str) -> None:
        """Write the end of the turn; `question` is the one that still waits for the user."""
        if self._failure:
            await self._updater.failed(new_text_message(self._failure.text))
        elif text := self._asked or question:
            await self._updater.requires_input(new_text_message(text))
        elif self.is_stopped:
            await self._updater.cancel()
        else:
            await self._updater.complete()

    async def _finish(self, text: str) -> None:
        """Send a message whole, in place of its pieces: readers would see breaks between them."""
        if text:
            await self._add(new_text_part(text))
        self._count, self._shown = self._count + 1, False

    async def _add(self, part: types.Part, *, append: bool = False, name: str | None = None) -> None:
        await self._updater.add_artifact([part], f"{self._id}-{self._count}", name, append=append)


def _card(assistant: Assistant) -> types.AgentCard:
    """Return the assistant's agent card: each dialog is a skill."""
    shown = types.AgentCard(
        name=sentence("page", "title", FALLBACK),
        description=sentence("page", "welcome_more", FALLBACK),
        version="1",
        capabilities=types.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/markdown", "application/json"],
    )
    for name, use in assistant.dialogs.items():
        shown.skills.add(id=name, name=title_of(name, FALLBACK).replace("_", " "), description=use, tags=[name])
    binding = TransportProtocol.JSONRPC.value
    shown.supported_interfaces.add(url=PATH, protocol_binding=binding, protocol_version=PROTOCOL_VERSION_1_0)
    shown.security_schemes["key"].http_auth_security_scheme.scheme = "Bearer"
    shown.security_requirements.add().schemes["key"].list.extend(())
    return shown


def _thread(context: ServerCallContext, name: str) -> str:
    key: Key = context.state[KEY]
    return key.inside(name)
