"""The paths of the page."""

import hashlib
import mimetypes
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.events import Interrupt
from agents.toolkit.questions import CHOICE
from app.api_keys import holder_of
from app.assistant import Turn
from app.doors.http.exchange import LONGEST_NAME, STREAM, Running, Served, ThreadName
from app.doors.http.page.conversation import DEVICE, Conversation
from app.doors.http.page.guard import SIGN_IN, PageRoute, Visiting
from app.doors.http.page.markup import draw
from app.doors.http.page.session import accepted_language, sign_in, sign_out
from app.doors.http.turns import MARK, UNDO
from app.doors.visit import stop_when_begun
from app.listing import first_line
from app.short_term_memory import COMMAND

MOST_LISTED = 100
"""Conversations in the list."""
FIELD = "field."
"""Begins the names of a question's fields, so that none is taken for another part of the form."""
_ID = re.compile(r"[\w.:-]{8,100}", re.ASCII)
STATIC = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "static").iterdir())}
VERSION = hashlib.sha256(b"".join(STATIC.values())).hexdigest()[:12]
router = APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)


async def _talk(
    request: Request, visitor: Visiting, assistant: Served, answers: Running, thread: ThreadName
) -> Conversation:
    """Return a conversation of the visitor, or one that nobody has begun. Raises HTTPException: it is of others."""
    name = visitor.key.inside(thread)
    users = await assistant.memory.transcript.users_of(name)
    users |= {answer.turn.owner for answer in answers.running_in(name)}
    if users and visitor.user not in users:
        raise HTTPException(404)
    preferred = (await assistant.preferences(visitor.user)).lang
    lang = preferred or accepted_language(request.headers.get("accept-language", ""))
    return Conversation(assistant, answers, name, visitor.user, address_of(thread), lang)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException: they cannot be read."""
    try:
        return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise HTTPException(422) from None


def _new_id(form: Annotated[Mapping[str, str], Depends(_form)]) -> str:
    """Return the id that the page gives to what it sends: sent again, it does nothing twice."""
    id = form.get("id", "")
    if not _ID.fullmatch(id):
        raise HTTPException(422)
    return id


Talk = Annotated[Conversation, Depends(_talk)]
Fields = Annotated[Mapping[str, str], Depends(_form)]
NewId = Annotated[str, Depends(_new_id)]


def address_of(thread: str) -> str:
    """Return the address of a conversation, by the name that its visitor gives it."""
    return f"/talk/{quote(thread, safe='')}"


@router.get("/")
async def new() -> Response:
    """Lead to a conversation that nobody has begun."""
    return Response(status_code=303, headers={"Location": address_of(f"page-{uuid.uuid4().hex[:12]}")})


@router.get("/talk/{thread}")
async def page(talk: Talk, visitor: Visiting) -> str:
    """Return the page with a conversation."""
    log, mark = await talk.log()
    listed = await _listed(talk, visitor)
    name = visitor.key.name
    return draw("page", talk.lang, log=log, mark=mark, listed=listed, address=talk.address, name=name, version=VERSION)


@router.get("/talk/{thread}/list")
async def conversations(talk: Talk, visitor: Visiting) -> str:
    """Return the list of the visitor's conversations."""
    return await _listed(talk, visitor)


@router.get("/talk/{thread}/log", response_model=None)
async def log(talk: Talk, mark: str = "") -> Response:
    """Return all that was said, unless the page has it already."""
    drawn, new_mark = await talk.log()
    if mark == new_mark:
        return Response(status_code=204)
    return HTMLResponse(drawn, headers={"X-Mark": quote(new_mark)})


@router.get("/talk/{thread}/answer")
async def answer(talk: Talk, id: str) -> Response:
    """Stream an answer as HTML; whoever comes late gets it from its beginning."""
    turn = await talk.turn(id)
    stack = AsyncExitStack()
    frames = talk.frames(await stack.enter_async_context(talk.answers.reading(turn)), stack) if turn else _nothing()
    return StreamingResponse(frames, media_type=STREAM, headers={"X-Accel-Buffering": "no"})


@router.post("/talk/{thread}/messages")
async def say(talk: Talk, form: Fields, id: NewId) -> str:
    """Take a message; its answer comes by a stream of its own."""
    text = form.get("text", "").strip()
    if not text:
        raise HTTPException(422)
    return await _begun(talk, text, id, "message")


@router.post("/talk/{thread}/undo")
async def undo(talk: Talk, id: NewId) -> str:
    """Take back what was written last."""
    return await _begun(talk, UNDO, id, COMMAND)


@router.post("/talk/{thread}/choices")
async def choose(talk: Talk, form: Fields, id: NewId) -> str:
    """Answer the open question, once and no other one."""
    full_id = f"{id}{MARK}{form.get('question', '')}"[:LONGEST_NAME]
    if earlier := await talk.turn(full_id):
        return talk.running(earlier)
    question = await talk.assistant.question(talk.thread, talk.user)
    if question is None or question.id != form.get("question"):
        raise HTTPException(409)
    text = _filled(question, form) if question.fields and "choose" not in form else form.get("choose", "")
    if not await talk.assistant.fits(talk.thread, talk.user, text):
        raise HTTPException(422)
    return await _begun(talk, text, full_id, CHOICE)


@router.post("/talk/{thread}/again")
async def again(talk: Talk, id: str) -> str:
    """Try a message again whose answer has failed."""
    turn = await talk.turn(id)
    if turn is None:
        raise HTTPException(404)
    talk.answers.drop(talk.thread, id)
    return await _shown(talk, turn)


@router.post("/talk/{thread}/stop")
async def stop(talk: Talk) -> Response:
    """Stop the answer that is being made; what was said so far is kept."""
    running = [each for each in talk.answers.running_in(talk.thread) if each.turn.owner == talk.user]
    await stop_when_begun(talk.assistant, talk.thread, lambda: all(each.is_over for each in running), talk.user)
    return Response(status_code=204)


@router.get(SIGN_IN)
async def ask_for_key(request: Request) -> str:
    """Return the form that takes a key."""
    lang = accepted_language(request.headers.get("accept-language", ""))
    return draw("sign_in", lang, version=VERSION)


@router.post(SIGN_IN)
async def take_key(request: Request, form: Fields) -> Response:
    """Let the holder of a key in."""
    key = holder_of(form.get("key", "").strip(), request.app.state.keys)
    if key is None or not key.allows("talk"):
        lang = accepted_language(request.headers.get("accept-language", ""))
        return HTMLResponse(draw("wrong_key", lang))
    response = Response(status_code=204, headers={"HX-Redirect": "/"})
    sign_in(request, response, key)
    return response


@router.post("/sign-out")
async def forget_key() -> Response:
    """End the session of this browser."""
    response = Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    sign_out(response)
    return response


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a file of the page; its address changes with it."""
    if name not in STATIC:
        raise HTTPException(404)
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    return Response(STATIC[name], media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"})


async def _begun(talk: Conversation, text: str, id: str, source: str) -> Markup:
    turn = Turn(thread=talk.thread, text=text, user=talk.user, id=id, source=source, device=DEVICE)
    return await _shown(talk, turn)


async def _shown(talk: Conversation, turn: Turn) -> Markup:
    """Begin the answer to a message; return the message, whose answer the page then reads."""
    async with talk.answers.reading(turn):
        return talk.running(turn)


async def _listed(talk: Conversation, visitor: Visiting) -> Markup:
    """Draw the list of the visitor's conversations, the latest first; names that no address can hold are left out."""
    infos = await talk.assistant.threads(talk.user)
    named = [(visitor.key.outside(info.thread), info) for info in infos[:MOST_LISTED]]
    rows = [(address_of(name), first_line(info) or name) for name, info in named if name and "/" not in name]
    return draw("list", talk.lang, rows=rows, here=talk.address)


def _filled(question: Interrupt, form: Mapping[str, str]) -> str:
    """Return what was filled in as a message says it; a single field takes the whole text."""
    values = {field["label"]: " ".join(form.get(FIELD + field["name"], "").split()) for field in question.fields}
    if len(values) == 1:
        return next(iter(values.values()))
    return "\n".join(f"{label}: {value}" for label, value in values.items())


async def _nothing() -> AsyncIterator[bytes]:
    yield format_sse_event(event="over", data_str="")
