"""Front ends that speak for people: their users, their chats, and the typed part of a message."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import HTTPException, Request, params

from app.doors.http.exchange import LONGEST_NAME, PRINTABLE, caller
from app.plugins.openai_api import OpenAISettings

WRAPPED = "### Task:\nRespond to the user query"
"""The beginning of Open WebUI's templates for files, search results and knowledge."""
QUERIES: Sequence[tuple[str, str]] = (("<user_query>\n", "\n</user_query>"), ("\n</context>\n", ""))
"""The texts before and behind the user's words in them. No text of a document stands behind the last occurrence."""
RESULT = re.compile(r"\nTool `[^`\n]{1,200}` Output: ")
"""The beginning of a tool's result that Open WebUI adds behind the user's words."""
TASKS = (
    "### Task:",
    "You have been provided with a set of responses from various models to the latest user query:",
    "Your task is to reflect the speaker's likely facial expression",
)
"""The beginnings of templates without typed words: for titles and queries, for merging answers, for a face."""
TAG = re.compile(r"<(/?[A-Za-z][\w-]{0,100})")
CLOSING = re.compile(r"</[A-Za-z][\w-]{0,100}>")
MOST_BLOCKS = 20
"""The most elements that are read before the words."""
OF_PERSON = re.compile("user|query|question|prompt|input|message|request", re.IGNORECASE)
"""A part of the names of elements that may hold typed words."""
SPACE = re.compile(r"\s*")
PASSING = "local:"
"""The beginning of Open WebUI's id for a chat that it does not keep; several such chats share one id."""


@dataclass(frozen=True)
class FrontEndUser:
    """The user and the chat of a front end's request, in the caller's names; None: unknown."""

    user: str | None
    chat: str | None


def front_end_user(request: Request) -> FrontEndUser:
    """Return the user and the chat of a request. Raises HTTPException: a name is not valid (422)."""
    settings: OpenAISettings = request.app.state.assistant.services.get(OpenAISettings)
    front_end = settings.front_ends.get(caller(request).holder)
    names = (
        [request.headers.get(header, "").strip() or None for header in (front_end.user, front_end.chat)]
        if front_end
        else []
    )
    if any(name and (len(name) > LONGEST_NAME or not re.fullmatch(PRINTABLE, name)) for name in names):
        raise HTTPException(422, "A header names nobody: it is too long, or has signs that no name has.")
    user, chat = names or (None, None)
    return FrontEndUser(user, None if chat and chat.startswith(PASSING) else chat)


ForWhom = Annotated[FrontEndUser, params.Depends(front_end_user)]


def unwrapped(text: str) -> tuple[str, str]:
    """Return the typed part of a text, and the rest: foreign text.

    In an unknown template the typed part cannot be found, so all of it is the rest.
    """
    begin = _behind_blocks(text)
    if begin and text[begin:].lstrip().startswith(WRAPPED):
        words, foreign = unwrapped(text[begin:].lstrip())
        return (words, text[:begin] + foreign) if words else ("", text)
    if begin and not CLOSING.search(text, begin):
        return text[begin:].strip(), text[:begin]
    result = RESULT.search(text)
    if not text.startswith(WRAPPED):
        typed = text[: result.start()] if result else text
        is_unknown = typed.startswith(TASKS) or _has_block(typed)
        return ("", text) if is_unknown else (typed.strip() if result else typed, text[len(typed) :])
    stripped = text.rstrip()
    for before, behind in QUERIES:
        begin = stripped.rfind(before) + len(before)
        # A tool's result may hold the end of a context, and a document may look like the result of a tool.
        if begin >= len(before) and stripped.endswith(behind) and not result:
            typed = stripped[begin : len(stripped) - len(behind)].strip()
            start = _behind_blocks(typed)
            # A list of files may stand within the template, before the words.
            start = 0 if CLOSING.search(typed, start) else start
            return typed[start:].strip(), text[:begin] + typed[:start]
    return "", text


def _behind_blocks(text: str) -> int:
    """Return the end of the multi-line elements at the beginning of a text; 0 if one of them may hold typed words.

    An element ends with its last closing tag: its content may have such a tag as well.
    """
    begin = 0
    for _ in range(MOST_BLOCKS):
        space = SPACE.match(text, begin)
        opening = TAG.match(text, space.end() if space else begin)
        if opening is None:
            break
        closing = f"</{opening[1]}>"
        end = text.rfind(closing, begin)
        if "\n" not in text[begin : max(end, begin)] or OF_PERSON.search(opening[1]):
            return 0
        begin = end + len(closing)
    return begin if text[begin:].strip() else 0


def _has_block(text: str) -> bool:
    """Tell whether a text has a multi-line element, as in XML and HTML."""
    opened = set[str]()
    for line in text.splitlines():
        end = line.rstrip()
        closing = TAG.match(end, end.rfind("<")) if end.endswith(">") else None
        if closing and closing[1].removeprefix("/") in opened and closing[1].startswith("/"):
            return True
        if opening := TAG.match(line):
            opened.add(opening[1])
    return False
