"""The path of a thread's new events, for clients with a key and for the EventSource of a browser."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.sse import format_sse_event

from agents.language.text.clean import safe_json
from app.assistant import Assistant
from app.assistant.thread_events import END, number_of
from app.doors.http.delivery import plain, streamed
from app.doors.http.events import EventStream
from app.doors.http.exchange import FAULTS, STREAMED, LastEventId, PathName, Served, having, key_in
from app.doors.http.pages.guard import session_of, visitor_of
from app.security.api_keys import Key


def _listener(request: Request) -> tuple[Key, str]:
    """Return the key and the counter of a listener, from a key or from the session of a browser, which sends no key."""
    if not request.headers.get("authorization"):
        return having(visitor_of(request, request.app.state.keys), "talk"), session_of(request)
    key = key_in(request, "talk")
    return key, f"key {key.name}"


Listener = Annotated[tuple[Key, str], Depends(_listener)]
router = APIRouter(responses=FAULTS)


@router.get("/threads/{thread}/events", response_class=Response, responses=STREAMED)
async def events(
    thread: PathName,
    listener: Listener,
    assistant: Served,
    request: Request,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream the new events of a thread, or those after `Last-Event-ID`, also after a restart."""
    (key, holder), streams = listener, request.app.state.streams
    name = key.inside(thread)
    streams.admit(holder)
    if (place := last_event_id) is None:
        last = await assistant.memory.transcript.lines(name, limit=1)
        place = number_of(last[0].row, END) if last else 0
    stream = EventStream(name, holder)
    return streamed(streams.read(stream, _Reading(assistant, stream, thread, place).frames))


@dataclass
class _Reading:
    """A client's position in a thread; `name` is the client's name of the thread."""

    assistant: Assistant
    stream: EventStream
    name: str
    place: int

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield the new events."""
        for event in await self.assistant.events(self.stream.thread, self.place):
            self.place = event.seq
            yield format_sse_event(data_str=safe_json(plain(event, self.name)), id=str(event.seq))
