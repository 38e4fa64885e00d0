"""The delivery of an answer to a client: as one body, or as a stream of events."""

import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.sse import format_sse_event
from starlette.types import Send

from agents.events import Event, Message, PrivateMessage
from agents.language.text.clean import safe_json
from app.assistant import Turn
from app.doors.http.answers import Answer
from app.doors.http.exchange import DEVICE, STREAM, Caller, IdempotencyKey, LastEventId, PathName, Running

ALIVE_EVERY = 15.0
"""Seconds without an event after which a stream sends a sign of life."""
STILL_HERE = format_sse_event(comment="still here")
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers that make proxies pass a stream on without buffering."""


@dataclass(frozen=True)
class Delivery:
    """A request that a turn answers: its thread, its caller, and the form of the answer."""

    thread: PathName
    """The caller's name of the thread."""
    key: Caller
    answers: Running
    accept: Annotated[str, Header()] = ""
    idempotency_key: IdempotencyKey = None
    last_event_id: LastEventId = None

    @property
    def name(self) -> str:
        """The thread's name in the database."""
        return self.key.inside(self.thread)

    def id(self, id: str | None = None) -> str:
        """Return the message's id: that of the body, that of the header, or a new one."""
        return id or self.idempotency_key or uuid.uuid4().hex

    async def answer(
        self, text: str | None, id: str, user: str | None, source: str, lang: str | None = None
    ) -> Response:
        """Return the answer to a message: a stream of events for `Accept: text/event-stream`, else one JSON body.

        Raises Busy or UsageError before a stream begins.
        """
        owner = self.key.user(user)
        turn = Turn(thread=self.name, text=text, user=owner, lang=lang, id=id, source=source, device=DEVICE)
        earlier = self.answers.of(turn.thread, turn.id)
        answer = await self.answers.to(turn, self.key.holder)
        # A new answer, as after a restart, numbers its events anew.
        after = self.last_event_id or 0 if answer is earlier else 0
        headers = {"X-Message-Id": quote(turn.id)}
        if STREAM in self.accept:
            return streamed(_frames(answer, self.thread, after), headers)
        return whole(_total(answer, self.thread), headers)


class Pieces(StreamingResponse):
    """A response that starts with its first piece, so that a failure before it becomes an error with a status."""

    async def stream_response(self, send: Send) -> None:
        """Send the pieces."""
        pieces = aiter(self.body_iterator)
        first = await anext(pieces, b"")

        async def all_pieces() -> AsyncIterator[str | bytes | memoryview]:
            yield first
            async for piece in pieces:
                yield piece

        self.body_iterator = all_pieces()
        await super().stream_response(send)


def streamed(frames: AsyncIterator[bytes], headers: Mapping[str, str] = UNBUFFERED) -> StreamingResponse:
    """Return a stream of Server-Sent Events."""
    return Pieces(frames, media_type=STREAM, headers={**headers, **UNBUFFERED})


def whole(content: AsyncIterator[dict[str, Any]], headers: Mapping[str, str]) -> StreamingResponse:
    """Return content as a JSON response; the work on it ends when the client goes."""
    bodies = (JSONResponse(part).body async for part in content)
    return Pieces(bodies, media_type="application/json", headers=headers)


async def _total(answer: Answer, name: str) -> AsyncIterator[dict[str, Any]]:
    events = [event async for event in answer.read()]
    texts = [event.text for event in events if isinstance(event, Message | PrivateMessage) and event.text]
    yield {"events": [plain(event, name) for event in events], "message": "\n\n".join(texts)}


async def _frames(answer: Answer, name: str, after: int) -> AsyncIterator[bytes]:
    """Yield the events of an answer as Server-Sent Events."""
    async for batch in answer.batches(ALIVE_EVERY):
        if not batch:
            yield STILL_HERE
        for event in batch:
            if event.seq > after:
                yield format_sse_event(data_str=safe_json(plain(event, name)), id=str(event.seq))


def plain(event: Event, name: str) -> dict[str, Any]:
    """Return an event as JSON; `name` is the caller's name of the thread."""
    return {**event.plain(), "thread": name}
