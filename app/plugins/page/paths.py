"""The paths of the chat page."""

import uuid
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Header, HTTPException, Query, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.sse import format_sse_event
from markupsafe import Markup

from app.doors import slash_commands
from app.doors.http.delivery import streamed
from app.doors.http.events import MOST_TABS, EventStream
from app.doors.http.exchange import LAST_EVENT, PathName, Reader, Running, Served
from app.doors.http.pages.conversation import DEVICE
from app.doors.http.pages.guard import Language, Visiting, links, new_router, session_of, user_of
from app.doors.http.pages.markup import make_draw
from app.doors.http.pages.paths import VERSION, Sent
from app.doors.http.pages.talk import add_talk
from app.plugins.page.conversation import PAGE, OwnConversation, PagePosition, address_of
from app.plugins.page.conversations import LONGEST_TITLE, ConversationPage, conversations_of, rename, title_in
from app.presentation.lines import conversation_markdown
from app.presentation.tool_card import openings
from prompts import sentence

SCOPE = "talk"
UPLOADS = "/talk/"
TEXTS = "page/phrases"
draw = make_draw(Path(__file__).parent / "templates", TEXTS)
router = new_router()


def home(lang: str) -> tuple[str, str]:
    """Return the address of a new conversation, and the text of the link to it."""
    return "/", sentence(TEXTS, "new", lang)


async def _talk(
    visitor: Visiting, assistant: Served, answers: Running, thread: PathName, lang: Language
) -> OwnConversation:
    """Return a conversation of the visitor, or a new one. Raises HTTPException: it belongs to others."""
    name, user = visitor.inside(thread), user_of(visitor)
    users = await assistant.memory.transcript.users_of(name)
    users |= {answer.turn.owner for answer in answers.running_in(name)}
    if users and user not in users:
        raise HTTPException(404)
    lang = (await assistant.preferences(user)).lang or lang
    return OwnConversation(assistant, answers, name, user, address_of(thread), lang, visitor)


Talk = Annotated[OwnConversation, Depends(_talk)]


@router.get("/")
async def new() -> Response:
    """Redirect to a new conversation."""
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
    """Return a page of the list of the visitor's conversations, and the holder of the open one."""
    rows = await conversations_of(talk.assistant, visitor, talk.user, before, query)
    return _list(talk, rows, before, query) + draw("holder", talk.lang, holder=await talk.holder())


@router.post("/talk/{thread}/title")
async def title(talk: Talk, visitor: Visiting, form: Sent) -> str:
    """Set the title of a conversation; return the list."""
    await rename(talk.assistant.memory.store, talk.thread, talk.user, form.fields.get("title", ""))
    return _list(talk, await conversations_of(talk.assistant, visitor, talk.user))


@router.post("/talk/{thread}/forget")
async def forget(talk: Talk) -> Response:
    """Delete a conversation; the page has asked for confirmation."""
    await talk.forget()
    return Response(status_code=204, headers={"HX-Redirect": "/"})


@router.get("/talk/{thread}/export")
async def export(talk: Talk, thread: PathName) -> Response:
    """Return a conversation as a Markdown file."""
    lines = await talk.shown_lines()
    facts = await talk.assistant.state(talk.thread, talk.user) or {}
    title = await title_in(talk.assistant.memory.store, talk.thread, talk.user, lines) or thread
    content = conversation_markdown(title, lines, facts.get("forms", {}), talk.lang)
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
    """Stream a conversation's news after a row as HTML; a browser with too many open pages loses the oldest stream."""
    streams, session = request.app.state.streams, session_of(request)
    tabs = streams.of(session)
    for oldest in tabs[: max(0, len(tabs) - MOST_TABS + 1)]:
        oldest.close(format_sse_event(event="over", data_str=""))
    place = PagePosition(after if last_event_id is None else last_event_id)
    stream = EventStream(talk.thread, session, talk.user, family=visitor.inside(PAGE))
    return streamed(streams.read(stream, partial(talk.news, place)))


add_talk(router, "/talk/{thread}", _talk)


def _list(talk: OwnConversation, page: ConversationPage, before: int | None = None, query: str = "") -> Markup:
    """Render a page of the list of conversations; each page after the first extends the list."""
    rows = [(address_of(row.name), row.title, datetime.fromtimestamp(row.active_ms / 1000, UTC)) for row in page.rows]
    facts = {"rows": rows, "here": talk.address, "more": page.next, "query": query, "is_further": before is not None}
    return draw("list" if before is None else "rows", talk.lang, **facts)
