"""Parts that all paths share: types of names, the caller of a request, and the description of errors."""

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from fastapi import Header, HTTPException, Path, Query, Request, params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.assistant.system_messages import SystemMessages
from app.doors.http.answers import Answers
from app.security.api_keys import EVERYTHING, Key, Scope, holder_of
from app.security.audit import Action, deed
from prompts import languages

DEVICE = "http"
"""The door, as tools and permissions know it."""
BETWEEN = "\n\n"
"""The separator between two messages of one answer."""
LONGEST_NAME = 200
"""Characters of the name of a thread, a user or a message."""
MOST_MESSAGES = 2_000
"""Limit of messages in a history that a client sends."""
PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
SLASH = "\x1f"
"""The stand-in for a slash within a name, so that it does not divide a path; no name may have this character."""
STREAM = "text/event-stream"
STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {STREAM: {}}}}
"""OpenAPI's description of a response that may be a stream."""
NO_THREAD = "There is no such thread."
LAST_IS_USERS = "The last message must be the user's."
EMPTY = "The last message is empty."

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]
_Whole = BeforeValidator(lambda part: part.replace(SLASH, "/"))
PathName = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE), _Whole]
UserName = Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]


def _language(tag: str) -> str:
    """Return the language of a tag such as "en-GB". Raises ValueError: there are no texts for it."""
    lang = tag.partition("-")[0].lower()
    if lang not in (there_are := languages()):
        raise ValueError(f"there is no language {tag!r}; there are: {', '.join(there_are)}")
    return lang


Language = Annotated[str, Field(max_length=10, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$"), AfterValidator(_language)]
SentName = BeforeValidator(lambda name: None if isinstance(name, str) and not name.strip() else name)
"""A name without a visible sign counts as absent: front ends send such ones for people whom they do not know."""
IdempotencyKey = Annotated[str | None, Header(max_length=LONGEST_NAME, pattern=PRINTABLE), SentName]


LAST_EVENT = 2**53
"""The largest number of an event; databases limit the size of a number."""
LastEventId = Annotated[int | None, Header(ge=0, le=LAST_EVENT), SentName]


class HttpRefusal(HTTPException):
    """A refusal with a code of its own; `param` is the faulty field of the request."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(status, message)
        self.code, self.param = code, param


def first_fault(failure: RequestValidationError | ValidationError) -> tuple[str, str]:
    """Return the name of a faulty field, as `messages[0].role`, and the fault in words.

    A value that may have several forms is faulty in the form that it comes closest to.
    """
    fault = max(failure.errors(), key=lambda each: len(each["loc"]))
    if fault["type"] == "json_invalid":
        return "", f"The body is not JSON: {fault['ctx']['error']}."
    place = fault["loc"] if isinstance(failure, ValidationError) else fault["loc"][1:]
    if not place:
        return "", "The body must be a JSON object, with `Content-Type: application/json`."
    # pydantic puts the names of its types between those of fields.
    fields = [part for part in place if part != "str" and "[" not in str(part)]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fields).removeprefix(".")
    return name, f"{name}: {fault['msg']}"


def unsupported(message: str, param: str) -> HttpRefusal:
    """Return the refusal of a value that this form does not support."""
    return HttpRefusal(422, message, "unsupported_value", param)


class HistoryRoute(APIRoute):
    """A path whose callers send the whole history: a request may be as large as HISTORY_BYTES."""


class FrontEndRoute(HistoryRoute):
    """A path that pages of ALLOWED_ORIGINS may call, too."""


class Body(BaseModel):
    """The body of a request; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


def served(part: str) -> params.Depends:
    """Return a dependency of a path: a part of the application's state."""

    def part_of(request: Request) -> object:
        return getattr(request.app.state, part)

    return params.Depends(part_of)


def caller(request: Request) -> Key:
    """Return the caller's key."""
    key: Key = request.state.key
    return key


def having(key: Key | None, scope: Scope) -> Key:
    """Return the key if it has the scope. Raises HTTPException: there is no key (401), or it lacks the scope (403)."""
    if key is None:
        raise HTTPException(401, "Send a key: Authorization: Bearer KEY.")
    if not key.allows(scope):
        raise HTTPException(403, f"This key may not {scope}.")
    return key


def key_in(request: Request, scope: Scope) -> Key:
    """Return the key in a request's header. Raises HTTPException: it is unknown, or as `having`."""
    keys = request.app.state.keys
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    holder = holder_of(secret.strip(), keys) if kind.lower() == "bearer" else None
    if secret and keys and holder is None:
        raise HTTPException(401, "This key is not known here.")
    return having(holder if keys else EVERYTHING, scope)


def allowed(scope: Scope) -> params.Depends:
    """Return a dependency that refuses callers without a scope."""

    async def check(request: Request) -> None:
        request.state.key = key_in(request, scope)

    return params.Depends(check)


def operator(request: Request) -> Key:
    """Return the caller's key. Raises HTTPException: the key may not operate."""
    return having(caller(request), "operate")


def who(key: Key) -> str:
    """Return the name of a key's holder in the audit log."""
    return f"http:{key.holder}"


def audited(what: Action) -> params.Depends:
    """Return a dependency that audits an operator's call of a path."""

    async def note(request: Request) -> AsyncIterator[None]:
        key = caller(request)
        if not key.allows("operate"):
            # The audit log leaves out callers with threads and users of their own.
            yield
            return
        thread, user = (request.path_params.get(name, "").replace(SLASH, "/") for name in ("thread", "user"))
        async with deed(request.app.state.assistant.services, who(key), what, thread, user):
            yield

    return params.Depends(note)


Served = Annotated[Assistant, served("assistant")]
Running = Annotated[Answers, served("answers")]
Reader = Annotated[FileReader, served("reader")]
Caller = Annotated[Key, params.Depends(caller)]
Operator = Annotated[Key, params.Depends(operator)]


async def known(thread: PathName, key: Caller, assistant: Served, answers: Running) -> str:
    """Return a thread's name in the database. Raises HTTPException: there is no such thread (404)."""
    memory, name = assistant.memory, key.inside(thread)
    is_spoken_in = answers.running_in(name) or await memory.transcript.last(name)
    # A sentence of the assistant may come first, and an operator may have prepared the thread by a command.
    if not (
        is_spoken_in
        or await memory.transcript.lines(name, limit=1)
        or (await SystemMessages.of(memory.store, name)).texts
    ):
        raise HTTPException(404, NO_THREAD)
    return name


Known = Annotated[str, params.Depends(known)]


CODES: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", "The body cannot be read."),
    401: ("no_key", "A key is needed."),
    403: ("forbidden", "The key has not this scope, or a page of another site calls."),
    404: ("not_found", "There is no such thread."),
    405: ("no_such_method", "The path has not this method."),
    409: ("conflict", "The id belongs to another message, or nothing is asked."),
    413: ("too_large", "The body is too large."),
    422: ("invalid", "The body is not as it should be."),
    429: ("too_many", "Too many messages were sent."),
    500: ("internal", "Something went wrong here."),
    503: ("busy", "Too much is being done at the moment, or the database cannot be used."),
}
"""The code and the meaning of an error, by the status of the response."""
_TEXTS = {"type": "object", "properties": {name: {"type": "string"} for name in ("code", "message")}}
FAULT = {"type": "object", "required": ["error"], "properties": {"error": _TEXTS}}
"""The JSON schema of every error response."""
FAULTS: dict[int | str, dict[str, Any]] = {
    status: {"description": about, "content": {"application/json": {"schema": FAULT}}}
    for status, (_, about) in CODES.items()
}
"""OpenAPI's description of the error responses."""
