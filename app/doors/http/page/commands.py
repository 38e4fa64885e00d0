"""Slash commands on the page: each run as a visit that lasts for one command."""

import uuid
from collections.abc import Callable
from dataclasses import replace

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from agents.events import Event
from app.assistant import Turn
from app.doors import slash_commands
from app.doors.http.page.conversation import DEVICE, PAGE, Conversation, address_of
from app.doors.slash_commands.own_data import YES
from app.doors.visit import Visit
from app.security.api_keys import Key


class PageDoor:
    """A conversation of the page as the door of such a visit."""

    name = DEVICE
    is_traced, has_pages = False, True

    def __init__(self, talk: Conversation, visitor: Key, id: str) -> None:
        self._talk, self._visitor, self._id = talk, visitor, id
        self.begun = Markup()
        """The turn that the command has begun, as the page shows it."""

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Begin the answer to a turn; another conversation greets nobody."""
        if turn.thread == self._talk.thread:
            is_stored = await self._talk.assistant.message(turn.thread, turn.id) is not None
            own = replace(turn, id=turn.id if is_stored else self._id, device=DEVICE)
            self.begun = await self._talk.begin(own)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that is being made; False if there is none."""
        return await self._talk.answers.stop(thread, self._talk.user)

    async def begin(self, visit: Visit, name: str) -> str:
        """Return the thread of another conversation: a new one, or the one that is called so here."""
        return self._visitor.inside(name or f"{PAGE}{uuid.uuid4().hex[:12]}")

    def named(self, thread: str) -> str:
        """Return the name of a thread in the addresses of the page."""
        return self._visitor.outside(thread) or ""

    def here(self, thread: str, lang: str) -> str:
        """Say nothing: the page shows where it is."""
        return ""

    async def whisper(self, text: str, lang: str) -> str:
        """Answer: nobody else reads along."""
        return text

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Show a document."""
        return content


async def run(talk: Conversation, text: str, id: str) -> HTMLResponse | None:
    """Run a command and return what the page shows of it; None if the text is no command."""
    call = slash_commands.parse(text)
    if call is None or talk.visitor is None:
        return None
    door = PageDoor(talk, talk.visitor, id)
    visit = await _visit(talk, door)
    answer = await slash_commands.run(*call, visit, talk.lang)
    if visit.thread != talk.thread:
        return HTMLResponse(headers={"HX-Redirect": address_of(door.named(visit.thread))})
    return HTMLResponse(door.begun or talk.told(id, text, answer))


async def forget(talk: Conversation, visitor: Key) -> None:
    """Delete a conversation, of one that others share the visitor's own part; who asks has said yes."""
    await talk.answers.stop(talk.thread, talk.user)
    await slash_commands.run("forget", YES, await _visit(talk, PageDoor(talk, visitor, "")), talk.lang)


async def _visit(talk: Conversation, door: PageDoor) -> Visit:
    visit = Visit(talk.assistant, door, talk.thread, talk.user, talk.lang)
    await visit.state()
    return visit
