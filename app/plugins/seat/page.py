"""The pages of a person in the assistant's place: calls, conversations, an answer, and the handback."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

from fastapi import Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, Field

from agents.errors import UsageError
from agents.memory.inbox import TranscriptLine
from agents.memory.thread_list import MOST_LISTED
from app.assistant import Assistant
from app.doors.http.exchange import LAST_EVENT, PathName, Served, audited, caller, having
from app.doors.http.pages.answer_renderer import AnswerRenderer
from app.doors.http.pages.guard import LASTS, Language, PageRoute, Visiting, links, new_router
from app.doors.http.pages.markup import draw as draw_of_page
from app.doors.http.pages.markup import make_draw
from app.doors.http.pages.paths import VERSION, NewId, Sent
from app.plugins.seat.place import Operator as Person
from app.plugins.seat.place import Seat
from app.plugins.seat.seats import LONGEST_NAME, Seats, named, take_seat
from app.presentation.lines import first_line
from app.security.api_keys import Key
from prompts import sentence

MOST_LINES = 200
"""The most shown lines of a conversation."""
SEAT = "/seat"
SCOPE = "operate"
NAME = "dialogs_operator"
"""The cookie with the name of this browser's operator, for users."""
NEWS = {"HX-Trigger": "seat-news"}
"""The header that makes the page ask at once for new lines."""

draw = make_draw(Path(__file__).parent / "templates", "seat/page")


def link(lang: str) -> tuple[str, str]:
    """Return the address and the name of the pages, for an operator's menu."""
    return SEAT, sentence("seat/page", "seat", lang)


def offer(assistant: Assistant, lang: str) -> tuple[str, str] | None:
    """Return the command of the page's button that calls a person, and its label; None where nobody can be called."""
    return ("/person", sentence("seat/page", "call", lang)) if assistant.services.get(Seats).wait else None


class WaitingRow(NamedTuple):
    """A row of the list, on a conversation that a person holds, or to which one is called."""

    holder: str = ""
    reason: str = ""
    minutes: int | None = None
    """The minutes of somebody's wait; None if nobody waits."""
    ring: str = ""
    """The identity of the row's ring, which the page rings once; empty if this operator has nothing to do."""


class SeatRoute(PageRoute):
    """A path of the seat."""

    conflict = "seat/page", "seat"


router = new_router(SeatRoute, SEAT)


UNNAMED = "operator"
"""The name of a person who gives none, and whose key has none."""


def person(key: Key, name: str | None = None) -> Person:
    """Return the operator: the key's name or, where several people share a key, the given name."""
    id = f"key {key.name}"
    return Person(name or key.name or UNNAMED, id if name in (None, key.name) else f"{id}: {name}")


def _operator(request: Request, visitor: Visiting) -> Person:
    """Return the operator. Raises HTTPException: the key may not operate."""
    request.state.key = having(visitor, "operate")
    return person(visitor, unquote(request.cookies.get(NAME, ""))[:LONGEST_NAME] or None)


Operator = Annotated[Person, Depends(_operator)]


class ListQuery(BaseModel):
    """A request for the list: the open conversation, the searched words, and the beginning of the page."""

    here: str = Field(default="", max_length=400)
    query: str = Field(default="", max_length=200)
    before: int | None = Field(default=None, ge=0, le=LAST_EVENT)
    mark: str = Field(default="", max_length=12)
    """The mark of the list that the page shows."""


@router.get("")
async def seat(request: Request, operator: Operator, lang: Language, assistant: Served) -> str:
    """Return the page with the calls and the latest conversations."""
    return await _page(request, assistant, lang, operator)


@router.get("/list")
async def listed(
    operator: Operator, lang: Language, assistant: Served, query: Annotated[ListQuery, Query()]
) -> Response:
    """Return calls, held conversations, and a page of the others, unless the browser shows just that."""
    drawn = await _listed(assistant, lang, operator, query)
    return Response(status_code=204) if query.mark == _mark(drawn) else HTMLResponse(_marked(drawn))


@router.post("/name")
async def rename(
    request: Request, operator: Operator, visitor: Visiting, form: Sent, lang: Language, assistant: Served
) -> Response:
    """Change the name of this browser's operator for users; an empty name is that of the key."""
    name = form.fields.get("name", "").strip()
    try:
        renamed = person(visitor, named(Person(name, "")).name if name else None)
    except UsageError as wrong:
        raise HTTPException(422) from wrong
    await assistant.services.get(Seats).rename(operator, renamed)
    response = HTMLResponse(draw("seat_name", lang, operator=renamed, is_saved=True))
    options: dict[str, Any] = {"httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}
    response.set_cookie(NAME, quote(name and renamed.name), max_age=LASTS, path=SEAT, **options)
    return response


@router.get("/talk/{thread}")
async def talk(thread: PathName, request: Request, operator: Operator, lang: Language, assistant: Served) -> str:
    """Return the page with one conversation."""
    return await _page(request, assistant, lang, operator, thread)


@router.get("/talk/{thread}/log")
async def log(
    thread: PathName,
    operator: Operator,
    lang: Language,
    assistant: Served,
    after: Annotated[int, Query(ge=0, le=LAST_EVENT)] = 0,
) -> Response:
    """Return the lines after a row, for the end of the page's log; status 204 without new lines."""
    lines = await assistant.memory.transcript.lines(thread, after=after, limit=MOST_LINES)
    if not lines:
        return Response(status_code=204)
    return HTMLResponse(_said(lines, lang) + _news(thread, lines, lang, is_added=True))


@router.post("/talk/{thread}/take", dependencies=[Depends(_operator), audited("seat_taken")])
async def take(thread: PathName, operator: Operator, form: Sent, lang: Language, assistant: Served) -> Response:
    """Take a conversation over; that of another holder is shown with the holder's name."""
    try:
        await take_seat(assistant, thread, operator, force="force" in form.fields)
    except UsageError:
        if await assistant.services.get(Seats).of(thread) is None:
            raise
    return HTMLResponse(await _foot(assistant, thread, operator, lang), headers=NEWS)


@router.post("/talk/{thread}/messages", dependencies=[Depends(_operator), audited("seat_said")])
async def say(thread: PathName, operator: Operator, form: Sent, id: NewId, assistant: Served) -> Response:
    """Say something to the user."""
    if not (text := form.fields.get("text", "")).strip():
        raise HTTPException(422)
    await assistant.services.get(Seats).say(thread, operator, text, id)
    return Response(status_code=204, headers=NEWS)


@router.post("/talk/{thread}/back", dependencies=[Depends(_operator), audited("seat_left")])
async def back(thread: PathName, operator: Operator, form: Sent, lang: Language, assistant: Served) -> Response:
    """Hand a conversation back, with a note for the assistant."""
    await assistant.services.get(Seats).hand_back(thread, operator, form.fields.get("note", ""))
    return HTMLResponse(await _foot(assistant, thread, operator, lang), headers=NEWS)


async def _page(request: Request, assistant: Assistant, lang: str, operator: Person, thread: str = "") -> Markup:
    lines = await assistant.memory.transcript.lines(thread, limit=MOST_LINES) if thread else []
    if thread and not lines:
        raise HTTPException(404)
    facts: dict[str, object] = {"thread": thread, "operator": operator, "version": VERSION}
    facts["homes"] = links(request, caller(request), "home", lang)
    facts["listed"] = _marked(await _listed(assistant, lang, operator, ListQuery(here=thread)))
    if thread:
        facts["title"] = next((line.text for line in lines if line.role == "user"), thread)
        facts |= {"said": _said(lines, lang), "news": _news(thread, lines, lang)}
        facts["foot"] = await _foot(assistant, thread, operator, lang)
        facts["links"] = links(request, caller(request), "thread_link", thread, lang)
    return draw("seat", lang, **facts)


async def _listed(assistant: Assistant, lang: str, operator: Person, query: ListQuery) -> Markup:
    """Draw the calls and held conversations, the longest waiting first, then a page of the others."""
    seats = {seat.thread: seat for seat in await assistant.services.get(Seats).all()}
    threads = assistant.memory.threads
    page = await threads.page(words=query.query, before=query.before, most=MOST_LISTED)
    first = {thread: await threads.info(thread) for thread in seats}
    infos = {**first, **{info.thread: info for info in page.rows if info.thread not in seats}}
    now_ms = round(assistant.memory.now() * 1000)
    rows = [
        (_address(name), (info and first_line(info)) or name, _waiting(seats.get(name), operator, now_ms))
        for name, info in infos.items()
    ]
    return draw("seat_list", lang, rows=rows, query=query, here=query.here and _address(query.here), more=page.next)


def _mark(drawn: Markup) -> str:
    return hashlib.sha256(drawn.encode()).hexdigest()[:12]


def _marked(drawn: Markup) -> Markup:
    """Return the list with its mark, so that an unchanged list stays while somebody clicks into it."""
    return drawn + Markup('<input type="hidden" name="mark" value="{}">').format(_mark(drawn))


def _waiting(seat: Seat | None, operator: Person, now_ms: int) -> WaitingRow:
    if seat is None:
        return WaitingRow()
    since_ms = seat.waits_ms if seat.holder else seat.since_ms
    minutes = None if since_ms is None else max(0, now_ms - since_ms) // 60_000
    # A call is for everybody, an unanswered message for the holder of the conversation.
    is_own = since_ms is not None and seat.holder_id in ("", operator.id)
    return WaitingRow(seat.holder or "☎", seat.reason, minutes, f"{seat.thread} {since_ms}" if is_own else "")


async def _foot(assistant: Assistant, thread: str, operator: Person, lang: str) -> Markup:
    """Draw the controls of a conversation."""
    seat = await assistant.services.get(Seats).of(thread)
    # Another operator may have the same name.
    is_own = bool(seat and seat.holder_id == operator.id)
    return draw("seat_foot", lang, seat=seat, is_own=is_own, address=_address(thread))


def _said(lines: list[TranscriptLine], lang: str) -> Markup:
    def line_drawn(line: TranscriptLine) -> Markup:
        if line.role == "user":
            return draw_of_page("heard", lang, text=line.text, source=line.metadata.get("source", ""), beside=[])
        return AnswerRenderer(line.speaker, lang, is_past=True).past([line])

    return Markup().join(map(line_drawn, lines))


def _news(thread: str, lines: list[TranscriptLine], lang: str, *, is_added: bool = False) -> Markup:
    """Draw the element that asks for the lines behind these."""
    return draw("seat_news", lang, address=_address(thread), row=lines[-1].row, is_added=is_added)


def _address(thread: str) -> str:
    return f"{SEAT}/talk/{quote(thread, safe='')}"
