"""The paths of the page."""

import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.toolkit.questions import CHOICE
from app.assistant.file_reader import FileReader
from app.assistant.pictures import MOST_PICTURES
from app.assistant.short_term_memory import COMMAND
from app.doors import slash_commands
from app.doors.http.delivery import streamed
from app.doors.http.events import MOST_TABS, EventStream
from app.doors.http.exchange import LAST_EVENT, PathName, Reader, Running, Served
from app.doors.http.page import commands
from app.doors.http.page.conversation import DEVICE, PAGE, Conversation, PagePosition, address_of
from app.doors.http.page.conversations import LONGEST_TITLE, ConversationPage, conversations_of, rename
from app.doors.http.page.guard import (
    COOKIE,
    SIGN_IN,
    Language,
    Visiting,
    links,
    new_router,
    session_of,
    sign_in,
    user_of,
)
from app.doors.http.page.markup import draw
from app.doors.http.questions import answer_message
from app.doors.http.uploads import Upload, with_uploads
from app.doors.slash_commands.talk import UNDO
from app.presentation.listing import conversation_markdown
from app.presentation.tool_card import openings
from app.security.api_keys import holder_of
from app.security.rates import HourlyCount, network_of

FIELD = "field."
"""Begins the names of a question's fields, so that none is taken for another part of the form."""
_ID = re.compile(r"[\w.:-]{8,100}", re.ASCII)
FILES = Path(__file__).parent / "static"


def version_of(folder: Path) -> str:
    """Return what changes with the files of a folder."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()[:12]


VERSION = version_of(FILES)
router = new_router()


async def _talk(
    visitor: Visiting, assistant: Served, answers: Running, thread: PathName, lang: Language
) -> Conversation:
    """Return a conversation of the visitor, or one that nobody has begun. Raises HTTPException: it is of others."""
    name, user = visitor.inside(thread), user_of(visitor)
    users = await assistant.memory.transcript.users_of(name)
    users |= {answer.turn.owner for answer in answers.running_in(name)}
    if users and user not in users:
        raise HTTPException(404)
    lang = (await assistant.preferences(user)).lang or lang
    return Conversation(assistant, answers, name, user, address_of(thread), lang, visitor)


@dataclass(frozen=True)
class SentForm:
    """What a form of the page sends."""

    fields: Mapping[str, str]
    uploads: Sequence[Upload]


async def _form(request: Request) -> SentForm:
    """Return the fields and files of a form. Raises HTTPException: they cannot be read."""
    async with request.form(max_files=MOST_PICTURES, max_fields=100) as sent:
        fields = {name: value for name, value in sent.multi_items() if isinstance(value, str)}
        # Without a chosen file a browser sends one that has no name.
        files = [(name, file) for name, file in sent.multi_items() if not isinstance(file, str) and file.filename]
        uploads = [
            Upload(await file.read(), (file.filename or "")[:100], is_recorded=name == "voice") for name, file in files
        ]
    return SentForm(fields, uploads)


def _new_id(form: Annotated[SentForm, Depends(_form)]) -> str:
    """Return the id that the page gives to what it sends: sent again, it does nothing twice."""
    id = form.fields.get("id", "")
    if not _ID.fullmatch(id):
        raise HTTPException(422)
    return id


Talk = Annotated[Conversation, Depends(_talk)]
Sent = Annotated[SentForm, Depends(_form)]
NewId = Annotated[str, Depends(_new_id)]


@router.get("/")
async def new() -> Response:
    """Lead to a conversation that nobody has begun."""
    return Response(status_code=303, headers={"Location": address_of(f"{PAGE}{uuid.uuid4().hex[:12]}")})


@router.get("/talk/{thread}")
async def page(talk: Talk, visitor: Visiting, reader: Reader, request: Request) -> str:
    """Return the page with a conversation."""
    log, row = await talk.log()
    listed = _list(talk, await conversations_of(talk.assistant, visitor, talk.user))
    modules = [module for module in request.app.state.plugins if hasattr(module, "offer")]
    offers = [module.offer(talk.assistant, talk.lang) for module in modules]
    facts: dict[str, object] = {"name": visitor.name, "takes": reader.kinds, "listed": listed}
    facts["links"] = links(request, visitor, "link", talk.lang)
    facts |= {"openings": openings(talk.assistant.speakers, talk.lang), "longest_title": LONGEST_TITLE}
    facts |= {"holder": await talk.holder(), "version": VERSION, "offers": [offer for offer in offers if offer]}
    facts |= {
        "commands": [(each.name, each.description(talk.lang)) for each in slash_commands.offered(DEVICE, "private")]
    }
    return draw("page", talk.lang, log=log, row=row, address=talk.address, **facts)


@router.get("/talk/{thread}/list")
async def conversations(
    talk: Talk,
    visitor: Visiting,
    before: Annotated[int | None, Query(ge=0)] = None,
    query: Annotated[str, Query(max_length=200)] = "",
) -> str:
    """Return a page of the list of the visitor's conversations, and who holds the one that is open."""
    rows = await conversations_of(talk.assistant, visitor, talk.user, before, query)
    return _list(talk, rows, before, query) + draw("holder", talk.lang, holder=await talk.holder())


@router.post("/talk/{thread}/title")
async def title(talk: Talk, visitor: Visiting, form: Sent) -> str:
    """Call a conversation as its visitor likes; return the list."""
    await rename(talk.assistant.memory.store, talk.thread, talk.user, form.fields.get("title", ""))
    return _list(talk, await conversations_of(talk.assistant, visitor, talk.user))


@router.post("/talk/{thread}/forget")
async def forget(talk: Talk, visitor: Visiting) -> Response:
    """Delete a conversation, after the page has asked."""
    await commands.forget(talk, visitor)
    return Response(status_code=204, headers={"HX-Redirect": "/"})


@router.get("/talk/{thread}/export")
async def export(talk: Talk, thread: PathName) -> Response:
    """Hand a conversation out, to be read."""
    lines = await talk.assistant.history(talk.thread, talk.user)
    facts = await talk.assistant.state(talk.thread, talk.user) or {}
    content = conversation_markdown(thread, lines, facts.get("forms", {}), talk.lang)
    saved = {"Content-Disposition": 'attachment; filename="conversation.md"'}
    return PlainTextResponse(content, headers=saved, media_type="text/markdown")


@router.get("/talk/{thread}/events")
async def events(
    talk: Talk,
    visitor: Visiting,
    request: Request,
    after: Annotated[int, Query(ge=0, le=LAST_EVENT)] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=LAST_EVENT)] = None,
) -> Response:
    """Stream what comes into a conversation behind a row, as HTML; of many pages of a browser the oldest makes room."""
    streams, session = request.app.state.streams, session_of(request)
    tabs = streams.of(session)
    for oldest in tabs[: max(0, len(tabs) - MOST_TABS + 1)]:
        oldest.close(format_sse_event(event="over", data_str=""))
    place = PagePosition(after if last_event_id is None else last_event_id)
    stream = EventStream(talk.thread, session, talk.user, family=visitor.inside(PAGE))
    return streamed(streams.read(stream, partial(talk.news, place)))


async def _begun(talk: Conversation, form: SentForm, id: str, reader: FileReader) -> Markup:
    """Begin the answer to what was sent; return it as the page shows it. Raises HTTPException: nothing was sent."""
    text = form.fields.get("text", "").strip()
    if not text and not form.uploads:
        raise HTTPException(422)
    if turn := await talk.turn(id):
        # Its files were read before, and speech is not heard the same twice.
        return await talk.begin(turn)
    reading = await with_uploads(reader, talk.new(text, id, "message"), form.uploads, talk.lang)
    return await talk.begin(reading.turn, reading.remarks) if reading.turn else talk.left(id, reading.remarks)


def add_talk(routes: APIRouter, path: str, conversation: Callable[..., Awaitable[Conversation]]) -> None:
    """Add the paths of a conversation below `path`; `conversation` gives it to a request."""
    Talking = Annotated[Conversation, Depends(conversation)]  # noqa: N806

    @routes.get(f"{path}/answer")
    async def answer(talk: Talking, id: str) -> Response:
        """Stream an answer as HTML; whoever comes late gets it from its beginning."""
        turn = await talk.turn(id)
        if turn is None:
            return streamed(_nothing())
        # A page that connects again only reads: a failed answer is made again when somebody asks for it.
        return streamed(talk.frames(talk.answers.of(talk.thread, id) or await talk.answers.to(turn, talk.key)))

    @routes.post(f"{path}/messages", response_model=None)
    async def say(talk: Talking, form: Sent, id: NewId, reader: Reader) -> str | Response:
        """Take a message with the files beside it, whose answer comes by a stream of its own, or a command."""
        ran = None if form.uploads else await commands.run(talk, form.fields.get("text", ""), id)
        return ran or await _begun(talk, form, id, reader)

    @routes.post(f"{path}/choices")
    async def choose(talk: Talking, form: Sent, id: NewId) -> str:
        """Answer the open question, once and no other one."""
        answer, question = form.fields.get("choose", _values(form.fields)), form.fields.get("question", "-")
        text, full_id = await answer_message(talk.assistant, talk.thread, talk.user, id, answer, question)
        return await talk.begin(talk.new(text, full_id, CHOICE))

    @routes.post(f"{path}/stop")
    async def stop(talk: Talking) -> Response:
        """Stop the answer that is being made; what was said so far is kept."""
        await talk.answers.stop(talk.thread, talk.user)
        return Response(status_code=204)

    _add_second_thoughts(routes, path, conversation)


def _add_second_thoughts(routes: APIRouter, path: str, conversation: Callable[..., Awaitable[Conversation]]) -> None:
    """Add the paths on what was said before: another try, other words, what is taken back, what one thinks of it."""
    Talking = Annotated[Conversation, Depends(conversation)]  # noqa: N806

    @routes.post(f"{path}/edit")
    async def edit(talk: Talking, form: Sent, id: NewId) -> str:
        """Take a message in place of an earlier one and of all behind it, whose writes are taken back."""
        text, message = form.fields.get("text", "").strip(), form.fields.get("message", "")
        turn = await talk.turn(id) or await talk.edited(message, text, id)
        if turn is None:
            raise HTTPException(404)
        return await talk.begin(turn)

    @routes.post(f"{path}/rating")
    async def rate(talk: Talking, form: Sent) -> str:
        """Keep what the user thinks of an answer."""
        message = form.fields.get("message", "")
        if await talk.turn(message) is None:
            raise HTTPException(404)
        return await talk.rate(message, form.fields.get("sign", ""), form.fields.get("word", ""))

    @routes.post(f"{path}/undo")
    async def undo(talk: Talking, id: NewId) -> str:
        """Take back what was written last."""
        return await talk.begin(talk.new(UNDO, id, COMMAND))

    @routes.post(f"{path}/again")
    async def again(talk: Talking, id: str) -> str:
        """Try a message again whose answer has failed."""
        turn = await talk.turn(id)
        if turn is None:
            raise HTTPException(404)
        return await talk.begin(turn)


add_talk(router, "/talk/{thread}", _talk)


@router.get(SIGN_IN)
async def ask_for_key(lang: Language) -> str:
    """Return the form that takes a key."""
    return draw("sign_in", lang, version=VERSION)


@router.post(SIGN_IN)
async def take_key(request: Request, form: Sent, lang: Language) -> Response:
    """Let the holder of a key in."""
    wrong_keys: HourlyCount = request.app.state.wrong_keys
    address = network_of(request.client.host if request.client else "")
    if wrong_keys.is_reached(address):
        raise HTTPException(429)
    key = holder_of(form.fields.get("key", "").strip(), request.app.state.keys)
    if key is None:
        wrong_keys.admits(address)
    homes = ["/"] * key.allows("talk") + [address for address, _ in links(request, key, "link", lang)] if key else []
    if key is None or not homes:
        return HTMLResponse(draw("wrong_key", lang))
    response = Response(status_code=204, headers={"HX-Redirect": homes[0]})
    sign_in(request, response, key)
    return response


@router.post("/sign-out")
async def forget_key(request: Request) -> Response:
    """End the session of this browser, and its streams."""
    for stream in request.app.state.streams.of(session_of(request)):
        stream.close()
    response = Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a file of the page."""
    return static_file(FILES, name)


def static_file(folder: Path, name: str) -> Response:
    """Return a file whose address changes with it. Raises HTTPException: the folder has no such file."""
    if name not in {path.name for path in folder.iterdir()}:
        raise HTTPException(404)
    return FileResponse(folder / name, headers={"Cache-Control": "public, max-age=31536000, immutable"})


def _list(talk: Conversation, found: ConversationPage, before: int | None = None, query: str = "") -> Markup:
    """Draw a page of the list of conversations; one behind the first is added to it."""
    rows = [(address_of(row.name), row.title, datetime.fromtimestamp(row.active_ms / 1000, UTC)) for row in found.rows]
    facts = {"rows": rows, "here": talk.address, "more": found.next, "query": query, "is_further": before is not None}
    return draw("list" if before is None else "rows", talk.lang, **facts)


def _values(fields: Mapping[str, str]) -> Mapping[str, str]:
    return {name.removeprefix(FIELD): value for name, value in fields.items() if name.startswith(FIELD)}


async def _nothing() -> AsyncIterator[bytes]:
    yield format_sse_event(event="over", data_str="")
