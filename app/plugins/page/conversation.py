"""A conversation of the page: its news while it is open, and its commands, each with a visit of its own."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import HTMLResponse
from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.conversation.deletion import worded
from agents.errors import Undeleted
from agents.events import Event
from agents.memory.deletions import NOT_ALL
from agents.memory.inbox import PERSON, TranscriptLine
from agents.state import SUPERVISOR
from app.assistant import Turn
from app.doors import slash_commands
from app.doors.http.pages.conversation import DEVICE, Conversation
from app.doors.http.pages.markup import draw
from app.doors.slash_commands.own_data import YES
from app.doors.visit import Visit
from app.security.api_keys import Key
from prompts import sentence, title_of

PAGE = "page-"
"""The name prefix of conversations that begin on the page."""


def address_of(thread: str) -> str:
    """Return the address of a conversation, by its visitor's name of it."""
    return f"/talk/{quote(thread, safe='')}"


@dataclass
class PagePosition:
    """The position of a page in a conversation: the last row of the transcript that it shows.

    `running` are the messages whose answers it reads, `left` those whose turns it has had to remove.
    """

    row: int
    running: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class OwnConversation(Conversation):
    """A visitor's own conversation, with commands and ways to other conversations."""

    visitor: Key

    @property
    def key(self) -> str:
        """Return the holder of the visitor's key."""
        return self.visitor.holder

    async def holder(self) -> str:
        """Return the holder of the conversation: a person, a dialog by its title, or the assistant."""
        facts = await self.assistant.state(self.thread, self.user) or {}
        person, dialog = facts.get("held_by"), facts.get("dialog")
        if person:
            return str(person)
        return title_of(dialog, self.lang) if dialog else sentence("page", "assistant", self.lang)

    async def command(self, text: str, id: str) -> Response | None:
        """Run a command and return its part of the page; None if the text is not a command."""
        call = slash_commands.parse(text)
        if call is None:
            return None
        door = PageDoor(self, id)
        visit = await self._visit(door)
        answer = await slash_commands.run(*call, visit, self.lang)
        if visit.thread != self.thread:
            return HTMLResponse(headers={"HX-Redirect": address_of(door.named(visit.thread))})
        return HTMLResponse(door.begun or self._told(id, text, answer))

    async def forget(self) -> None:
        """Delete the conversation, or the visitor's own part of a shared one; the visitor has confirmed it.

        Raises Undeleted if some of it stays.
        """
        await self.answers.stop(self.thread, self.user)
        answer = await slash_commands.run("forget", YES, await self._visit(PageDoor(self, "")), self.lang)
        if answer == worded("forgotten", NOT_ALL, self.lang):
            raise Undeleted

    async def _visit(self, door: "PageDoor") -> Visit:
        visit = Visit(self.assistant, door, self.thread, self.user, self.lang)
        await visit.state()
        return visit

    def _told(self, id: str, text: str, answer: str) -> Markup:
        """Return a command and its answer as HTML; the transcript keeps neither."""
        return self._drawn(id, self._heard(text), draw("told", self.lang, text=answer), is_kept=False)

    async def shown_lines(self) -> list[TranscriptLine]:
        """Return the transcript without the turns of left branches; dialogs have their titles as speakers."""
        left = await self.assistant.branches.left(self.thread)
        lines = await self.assistant.history(self.thread, self.user)
        return [self._titled(line) for line in lines if line.message_id not in left]

    def _titled(self, line: TranscriptLine) -> TranscriptLine:
        if line.role == "user" or line.metadata.get("source") == PERSON:
            return line
        is_dialog = line.speaker not in ("", SUPERVISOR)
        title = title_of(line.speaker, self.lang) if is_dialog else sentence("page", "assistant", self.lang)
        return replace(line, speaker=title.replace("_", " "))

    async def news(self, place: PagePosition) -> AsyncIterator[bytes]:
        """Yield the new and the left turns since a position as events, and move the position on."""
        left = await self.assistant.branches.left(self.thread)
        if gone := left - place.left:
            yield format_sse_event(event="left", data_str=json.dumps(sorted(gone)))
        place.left = left
        drawn, place.row = await self.log(place.row, place.running)
        place.running = {answer.turn.id for answer in self.answers.running_in(self.thread)}
        if drawn:
            yield format_sse_event(event="news", data_str=drawn, id=str(place.row))


class PageDoor:
    """The door of a command's visit: a conversation of the page."""

    name = DEVICE
    is_traced, has_pages = False, True

    def __init__(self, talk: OwnConversation, id: str) -> None:
        self._talk, self._id = talk, id
        self.begun = Markup()
        """The HTML of the turn that the command has begun."""

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Begin the answer to a turn of this conversation; another conversation gets no greeting."""
        if turn.thread == self._talk.thread:
            is_stored = await self._talk.assistant.message(turn.thread, turn.id) is not None
            own = replace(turn, id=turn.id if is_stored else self._id, device=DEVICE)
            self.begun = await self._talk.begin(own)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the running answer; False if there is none."""
        return await self._talk.answers.stop(thread, self._talk.user)

    async def begin(self, visit: Visit, name: str) -> str:
        """Return the thread of another conversation: a new one, or the one with this name."""
        return self._talk.visitor.inside(name or f"{PAGE}{uuid.uuid4().hex[:12]}")

    def named(self, thread: str) -> str:
        """Return a thread's name in the page's addresses."""
        return self._talk.visitor.outside(thread) or ""

    def here(self, thread: str, lang: str) -> str:
        """Return an empty text: the page shows its conversation anyway."""
        return ""

    async def whisper(self, text: str, lang: str) -> str:
        """Return the text as an answer: the page has no other readers."""
        return text

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Return a document for the page to show."""
        return content
