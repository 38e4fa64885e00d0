"""Answers to an interrupt, in any form that clients send."""

from typing import Any

from fastapi import HTTPException

from agents.events import Interrupt
from agents.toolkit.questions import CHOICE
from agents.toolkit.questions.options import CONFIRM
from app.assistant import Assistant
from app.doors.client_answers import MARK, agreed, text_of

APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


def schema_of(question: Interrupt) -> dict[str, Any]:
    """Return the JSON schema of an answer to a question, as `answer_message` takes it."""
    if question.kind == CONFIRM:
        return APPROVAL
    if question.options:
        options = [{"const": option["id"], "title": option["label"]} for option in question.options]
        return {"type": "string", "oneOf": options}
    if question.fields:
        needed = [field["name"] for field in question.fields if not field.get("optional")]
        fields = {field["name"]: {"type": "string", "title": field["label"]} for field in question.fields}
        return {"type": "object", "properties": fields, "required": needed}
    return {"type": "string"}


async def answer_message(
    assistant: Assistant, thread: str, owner: str, id: str, answer: object, meant: str | None = None
) -> tuple[str, str]:
    """Return the text and the id of an answer's message. An answer: a text, a yes or no, or a form's values by field.

    A repeated answer gets the same id. `meant` is the id of the question; None: the open one.

    Raises:
        HTTPException: no question or another one is open (409), or this does not answer it (422).
    """
    answer = agreed(answer)
    last = await assistant.last_message(thread, owner)
    if last and last.source == CHOICE and last.message_id.rpartition(MARK)[0] == id:
        return answer if isinstance(answer, str) else last.text or "", last.message_id
    question = await assistant.question(thread, owner)
    if question is None:
        raise HTTPException(409, "Nothing is asked in this thread.")
    if meant and meant != question.id:
        raise HTTPException(409, f"Another question is open: {question.id}.")
    text = text_of(question, answer)
    if not await assistant.fits(thread, owner, text):
        raise HTTPException(422, "That does not answer the open question.")
    return text, f"{id}{MARK}{question.id}"
