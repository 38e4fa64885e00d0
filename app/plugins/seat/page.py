"""The pages of a person in the assistant's place: who calls, what was said, an answer, and the way back."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from agents.errors import UsageError
from agents.memory.inbox import TranscriptLine
from app.assistant import Assistant
from app.doors.http.exchange import PathName, Served, audited, having
from app.doors.http.page.conversations import MOST_SEARCHED as MOST_LISTED
from app.doors.http.page.drawing import Drawing
from app.doors.http.page.guard import Language, PageRoute, Visiting, new_router
from app.doors.http.page.markup import draw as draw_of_page
from app.doors.http.page.markup import drawn, make_templates
from app.doors.http.page.router import VERSION, NewId, Sent
from app.plugins.seat.paths import person
from app.plugins.seat.place import Operator as Person
from app.plugins.seat.seats import Seats, take_seat
from app.presentation.listing import first_line
from prompts import sentence, table

MOST_LINES = 200
"""Lines of a conversation that are shown."""
SEAT = "/seat"

TEMPLATES = make_templates(Path(__file__).parent / "templates")


def draw(name: str, lang: str, /, **values: object) -> Markup:
    """Return a template of the seat, or of the page, as HTML."""
    own = table("seat/page", lang)

    def text(key: str, **facts: object) -> str:
        return sentence("seat/page" if key in own else "page", key, lang, **facts)

    return drawn(TEMPLATES, name, lang, text, **values)


def link(lang: str) -> tuple[str, str]:
    """Return the address and the name of the pages, for the menu of whoever operates."""
    return SEAT, sentence("seat/page", "seat", lang)


def offer(assistant: Assistant, lang: str) -> tuple[str, str] | None:
    """Return what a user can say by a button of the page, and the button's label; None where nobody can be called."""
    return ("/person", sentence("seat/page", "call", lang)) if assistant.services.get(Seats).wait else None


class SeatRoute(PageRoute):
    """A path of the seat."""

    conflict = "seat/page", "seat"


router = new_router(SeatRoute, SEAT)


def _operator(request: Request, visitor: Visiting) -> Person:
    """Return who the person is. Raises HTTPException: the key may not operate."""
    request.state.key = having(visitor, "operate")
    return person(visitor)


Operator = Annotated[Person, Depends(_operator)]


@router.get("")
async def seat(operator: Operator, lang: Language, assistant: Served) -> str:
    """Return the page with the calls and the latest conversations."""
    return await _page(assistant, lang, "", Markup())


@router.get("/list")
async def listed(operator: Operator, lang: Language, assistant: Served) -> str:
    """Return the calls, who holds what, and the latest conversations."""
    return await _listed(assistant, lang)


@router.get("/talk/{thread}")
async def talk(thread: PathName, operator: Operator, lang: Language, assistant: Served) -> str:
    """Return the page with one conversation."""
    return await _page(assistant, lang, thread, await _drawn(assistant, thread, operator, lang))


@router.get("/talk/{thread}/log", response_model=None)
async def log(thread: PathName, operator: Operator, lang: Language, assistant: Served, mark: str = "") -> Response:
    """Return what was said, unless the page has it already."""
    lines = await assistant.history(thread)
    if mark == _mark(lines):
        return Response(status_code=204)
    return HTMLResponse(_log(thread, lines, lang))


@router.post("/talk/{thread}/take", dependencies=[Depends(_operator), audited("seat_taken")])
async def take(thread: PathName, operator: Operator, form: Sent, lang: Language, assistant: Served) -> str:
    """Take a conversation over; one that somebody else holds is shown with that name."""
    try:
        await take_seat(assistant, thread, operator, force="force" in form.fields)
    except UsageError:
        if await assistant.services.get(Seats).of(thread) is None:
            raise
    return await _drawn(assistant, thread, operator, lang)


@router.post("/talk/{thread}/messages", dependencies=[Depends(_operator), audited("seat_said")])
async def say(thread: PathName, operator: Operator, form: Sent, id: NewId, lang: Language, assistant: Served) -> str:
    """Say something to the user."""
    if not (text := form.fields.get("text", "")).strip():
        raise HTTPException(422)
    await assistant.services.get(Seats).say(thread, operator, text, id)
    return await _drawn(assistant, thread, operator, lang)


@router.post("/talk/{thread}/back", dependencies=[Depends(_operator), audited("seat_left")])
async def back(thread: PathName, operator: Operator, form: Sent, lang: Language, assistant: Served) -> str:
    """Hand a conversation back, with a note for the assistant."""
    await assistant.services.get(Seats).hand_back(thread, operator, form.fields.get("note", ""))
    return await _drawn(assistant, thread, operator, lang)


async def _page(assistant: Assistant, lang: str, thread: str, drawn: Markup) -> Markup:
    listed = await _listed(assistant, lang)
    return draw("seat", lang, listed=listed, drawn=drawn, thread=thread, version=VERSION)


async def _listed(assistant: Assistant, lang: str) -> Markup:
    """Draw the calls and held conversations, the longest waiting first, then the latest others."""
    seats = {seat.thread: seat for seat in await assistant.services.get(Seats).all()}
    infos = {info.thread: info for info in await assistant.threads()}
    others = [thread for thread in infos if thread not in seats][:MOST_LISTED]
    titles = {thread: first_line(infos[thread]) if thread in infos else "" for thread in (*seats, *others)}
    rows = [(_address(thread), title or thread, seats.get(thread)) for thread, title in titles.items()]
    return draw("seat_list", lang, rows=rows)


async def _drawn(assistant: Assistant, thread: str, operator: Person, lang: str) -> Markup:
    lines = await assistant.history(thread)
    if not lines:
        raise HTTPException(404)
    seat = await assistant.services.get(Seats).of(thread)
    # Somebody else may have the same name.
    own = operator.name if seat and seat.holder_id == operator.id else None
    facts = {"seat": seat, "operator": own, "address": _address(thread)}
    return draw("seat_talk", lang, thread=thread, log=_log(thread, lines, lang), **facts)


def _log(thread: str, lines: list[TranscriptLine], lang: str) -> Markup:
    """Draw what was said; it asks for what is new itself."""

    def drawn(line: TranscriptLine) -> Markup:
        if line.role == "user":
            return draw_of_page("heard", lang, text=line.text, source=line.metadata.get("source", ""), beside=[])
        return Drawing(line.speaker, lang, is_past=True).past([line])

    shown = Markup().join(map(drawn, lines[-MOST_LINES:]))
    return draw("seat_log", lang, said=shown, address=_address(thread), mark=_mark(lines))


def _mark(lines: list[TranscriptLine]) -> str:
    return f"{len(lines)}-{lines[-1].at_ms if lines else 0}"


def _address(thread: str) -> str:
    return f"{SEAT}/talk/{quote(thread, safe='')}"
