"""The paths of the page."""

import hashlib
import mimetypes
import uuid
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, File, Form, HTTPException, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, StreamingResponse

from agents.sources.attachments import kind_of as picture_kind
from agents.sources.attachments.transcriber import kind_of as recording_kind
from agents.sources.documents.reading import LARGEST_ATTACHED
from agents.sources.web.fetcher import NotFetched as NoPicture
from agents.state.person import Origin, Quoted
from agents.toolkit.questions import CHOICE
from agents.toolkit.questions.options import naming
from app.api_keys import holder_of
from app.assistant import Turn
from app.assistant.file_reader import FileReader, NotFetched
from app.doors.http.conversations import LONGEST_NAME, MARK, STREAM, UNDO, Name, Running, Served, ThreadName
from app.doors.http.page.conversation import DEVICE, Conversation
from app.doors.http.page.guard import SIGN_IN, PageRoute, Visiting
from app.doors.http.page.markup import draw
from app.doors.http.page.pictures import picture
from app.doors.http.page.session import accepted_language, sign_in, sign_out
from app.doors.visit import stop_when_begun
from app.listing import first_line
from app.short_term_memory import COMMAND
from prompts import card, language, languages, phrase, title_of

UPLOADS = "/messages"
"""Ends the path that takes files."""
MOST_FILES = 10
MOST_UPLOADED = LARGEST_ATTACHED + 1_000_000
"""Bytes of a message with its files."""
MOST_LISTED = 100
"""Conversations in the list."""
STATIC = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "static").iterdir())}
VERSION = hashlib.sha256(b"".join(STATIC.values())).hexdigest()[:12]
router = APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)


async def _talk(
    request: Request, visitor: Visiting, assistant: Served, answers: Running, thread: str = ""
) -> Conversation:
    """Return a conversation of the visitor, or one that nobody has begun. Raises HTTPException: it is of others."""
    name = visitor.key.inside(thread)
    users = await assistant.memory.transcript.users_of(name) if thread else set()
    users |= {answer.turn.owner for answer in answers.running_in(name)}
    if users and visitor.user not in users:
        raise HTTPException(404)
    preferred = (await assistant.preferences(visitor.user)).lang
    lang = preferred or accepted_language(request.headers.get("accept-language", ""))
    return Conversation(assistant, answers, name, visitor.user, thread, lang)
