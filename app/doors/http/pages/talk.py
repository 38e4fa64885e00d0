"""The paths of a talk that is held on a page: messages and their answers, choices, second thoughts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Response
from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.toolkit.questions import CHOICE
from app.assistant.file_reader import FileReader
from app.assistant.short_term_memory import COMMAND
from app.doors.http.delivery import streamed
from app.doors.http.exchange import Reader
from app.doors.http.pages.conversation import Conversation
from app.doors.http.pages.paths import NewId, Sent, SentForm
from app.doors.http.questions import answer_message
from app.doors.http.uploads import with_uploads
from app.doors.slash_commands.talk import UNDO

FIELD = "field."
"""The name prefix of a question's fields, so that none is taken for another part of the form."""


async def _begun(talk: Conversation, form: SentForm, id: str, reader: FileReader) -> Markup:
    """Begin the answer to a message; return it as the page shows it. Raises HTTPException: the message is empty."""
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
        """Stream an answer as HTML; a late reader gets it from its beginning."""
        turn = await talk.turn(id)
        if turn is None:
            return streamed(_nothing())
        # A page that connects again only reads: a failed answer is made again when somebody asks for it.
        return streamed(talk.frames(talk.answers.of(talk.thread, id) or await talk.answer_to(turn)))

    @routes.post(f"{path}/messages", response_model=None)
    async def say(talk: Talking, form: Sent, id: NewId, reader: Reader) -> str | Response:
        """Take a message with the files beside it, whose answer comes by a stream of its own, or a command."""
        ran = None if form.uploads else await talk.command(form.fields.get("text", ""), id)
        return ran or await _begun(talk, form, id, reader)

    @routes.post(f"{path}/choices")
    async def choose(talk: Talking, form: Sent, id: NewId) -> str:
        """Answer the open question, once and no other one."""
        answer, question = form.fields.get("choose", _values(form.fields)), form.fields.get("question", "-")
        text, full_id = await answer_message(talk.assistant, talk.thread, talk.user, id, answer, question)
        return await talk.begin(talk.new(text, full_id, CHOICE))

    @routes.post(f"{path}/stop")
    async def stop(talk: Talking) -> Response:
        """Stop the running answer; its text so far stays."""
        await talk.answers.stop(talk.thread, talk.user)
        return Response(status_code=204)

    _add_second_thoughts(routes, path, conversation)


def _add_second_thoughts(routes: APIRouter, path: str, conversation: Callable[..., Awaitable[Conversation]]) -> None:
    """Add the paths on earlier messages: another try, other words, an undo, a rating."""
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
        """Keep the user's rating of an answer."""
        message = form.fields.get("message", "")
        if await talk.turn(message) is None:
            raise HTTPException(404)
        return await talk.rate(message, form.fields.get("sign", ""), form.fields.get("word", ""))

    @routes.post(f"{path}/undo")
    async def undo(talk: Talking, id: NewId) -> str:
        """Take the last write back."""
        return await talk.begin(talk.new(UNDO, id, COMMAND))

    @routes.post(f"{path}/again")
    async def again(talk: Talking, id: str) -> str:
        """Try a message again whose answer has failed."""
        turn = await talk.turn(id)
        if turn is None:
            raise HTTPException(404)
        return await talk.begin(turn)


def _values(fields: Mapping[str, str]) -> Mapping[str, str]:
    return {name.removeprefix(FIELD): value for name, value in fields.items() if name.startswith(FIELD)}


async def _nothing() -> AsyncIterator[bytes]:
    yield format_sse_event(event="over", data_str="")
