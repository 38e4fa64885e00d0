"""What the paths share: the names that callers may use, who calls, and how faults are described."""

from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api_keys import Key
from app.assistant import Assistant
from app.doors.http.answers import Answers

DEVICE = "http"
"""The door, as tools and permissions know it."""
LONGEST_NAME = 200
"""Characters of the name of a thread, a user or a message."""
PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
STREAM = "text/event-stream"
NO_THREAD = "There is no such thread."

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]
ThreadName = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]
UserName = Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]
IdempotencyKey = Annotated[str | None, Header(max_length=LONGEST_NAME)]


class Body(BaseModel):
    """What a request brings; a field that nobody knows is a fault."""

    model_config = ConfigDict(extra="forbid")


def assistant_of(request: Request) -> Assistant:
    """Return the assistant that is served."""
    assistant: Assistant = request.app.state.assistant
    return assistant


def answers_of(request: Request) -> Answers:
    """Return the answers that are being made."""
    answers: Answers = request.app.state.answers
    return answers


def caller(request: Request) -> Key:
    """Return who calls."""
    key: Key = request.state.key
    return key


def operator(request: Request) -> Key:
    """Return who calls. Raises HTTPException: the key may not operate."""
    key = caller(request)
    if not key.allows("operate"):
        raise HTTPException(403, "This key may not operate.")
    return key


Served = Annotated[Assistant, Depends(assistant_of)]
Running = Annotated[Answers, Depends(answers_of)]
Caller = Annotated[Key, Depends(caller)]
Operator = Annotated[Key, Depends(operator)]

FAULTS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}},
    }
    for status, description in {
        400: "The body cannot be read.",
        401: "A key is needed.",
        403: "The key has not this scope, or a page of another site calls.",
        404: "There is no such thread.",
        409: "The id belongs to another message, or nothing is asked.",
        413: "The body is too large.",
        422: "The body is not as it should be.",
        503: "Too much is being done at the moment, or the database cannot be used.",
    }.items()
}
