"""An answer on its way to a client: whole, or as a stream of events."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.sse import format_sse_event

from agents.events import Event, Message, PrivateMessage
from agents.language.text.clean import safe_json
from app.assistant import Turn
from app.doors.http.answers import Answer
from app.doors.http.exchange import DEVICE, STREAM, Caller, IdempotencyKey, Running, ThreadName
from app.tasks import cancel

ALIVE_EVERY = 15.0
"""Seconds after which a silent stream says that it is alive."""
CLIENT_CLOSED = 499
"""The status, which nobody reads, of a request whose client has gone."""


@dataclass(frozen=True)
class Delivery:
    """A request in a thread that is answered by a turn: who sends it, and in which form the answer goes back."""

    thread: ThreadName
    """What the caller calls the thread."""
    request: Request
    key: Caller
    answers: Running
    accept: Annotated[str, Header()] = ""
    idempotency_key: IdempotencyKey = None
    last_event_id: Annotated[int, Header(ge=0)] = 0

    @property
    def name(self) -> str:
        """The name under which the thread is kept."""
        return self.key.inside(self.thread)

    def user(self, name: str | None) -> str | None:
        """Return the name under which a user is kept."""
        return self.key.inside(name) if name else None

    def id(self, id: str | None = None) -> str:
        """Return the message's id: of the body, of the header, or a new one."""
        return id or self.idempotency_key or uuid.uuid4().hex

    async def answer(
        self, text: str | None, id: str, user: str | None, source: str, lang: str | None = None
    ) -> Response:
        """Return the answer to a message: a stream of events for `Accept: text/event-stream`, else whole.

        Raises Busy or UsageError before a stream begins.
        """
        turn = Turn(thread=self.name, text=text, user=self.user(user), lang=lang, id=id, source=source, device=DEVICE)
        stack = AsyncExitStack()
        answer = await stack.enter_async_context(self.answers.reading(turn))
        headers = {"X-Message-Id": quote(turn.id)}
        if STREAM in self.accept:
            headers |= {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            events = _streamed(answer, self.thread, self.last_event_id, stack)
            return StreamingResponse(events, media_type=STREAM, headers=headers)
        async with stack:
            return await while_there(self.request, _whole(answer, self.thread), headers)


async def while_there(request: Request, work: Coroutine[Any, Any, Response], headers: dict[str, str]) -> Response:
    """Return what is made for a client; give it up when the client goes."""
    making, leaving = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait([making, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not making.done():
            return Response(status_code=CLIENT_CLOSED)
        response = making.result()
        response.headers.update(headers)
        return response
    finally:
        await cancel([making, leaving])


async def _whole(answer: Answer, name: str) -> Response:
    events = [event async for event in answer.read()]
    texts = [event.text for event in events if isinstance(event, Message | PrivateMessage) and event.text]
    return JSONResponse({"events": [plain(event, name) for event in events], "message": "\n\n".join(texts)})


async def _gone(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(answer: Answer, name: str, after: int, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    """Yield the events of an answer as Server-Sent Events, and a sign of life where nothing comes for a while."""
    async with stack:
        events = aiter(answer.read(after))
        coming = asyncio.create_task(_next(events))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=ALIVE_EVERY)
                if not done:
                    yield b": still here\n\n"
                    continue
                event = coming.result()
                if event is None:
                    return
                yield format_sse_event(data_str=safe_json(plain(event, name)), id=str(event.seq))
                coming = asyncio.create_task(_next(events))
        finally:
            await cancel([coming])


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


def plain(event: Event, name: str) -> dict[str, Any]:
    """Return an event of a thread that the caller calls `name`."""
    return {**event.plain(), "thread": name}
