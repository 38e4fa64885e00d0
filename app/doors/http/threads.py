"""The paths of stored threads and users: read, export and delete."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from agents.memory.inbox import TranscriptLine
from agents.memory.store import namespace_of
from agents.memory.thread_list import MOST_LISTED
from agents.toolkit.services import LongTermMemory
from app.assistant import Assistant
from app.assistant.short_term_memory import Content, contents
from app.assistant.system_messages import SystemMessages
from app.composition import check_reach
from app.doors.http.exchange import (
    FAULTS,
    LAST_EVENT,
    NO_THREAD,
    Caller,
    Known,
    Operator,
    PathName,
    Served,
    UserName,
    audited,
)
from app.presentation.lines import conversation_markdown
from prompts import FALLBACK

Written = Literal["markdown", "json"]
router = APIRouter(responses=FAULTS)


Words = Annotated[str, Query(max_length=200, description="In a thread's name, or in what was said last in it.")]
Before = Annotated[int | None, Query(ge=0, le=LAST_EVENT, description="The `next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many threads at most.")]


@router.get("/threads")
async def threads(
    key: Caller,
    assistant: Served,
    *,
    user: UserName = None,
    query: Words = "",
    limit: Limit = MOST_LISTED,
    before: Before = None,
) -> dict[str, Any]:
    """List a page of the threads, or of those in which a user has written, the most recent first.

    `next` is the `before` of the next page; null on the last one. A page of a search may have few threads.
    """
    page = await assistant.memory.threads.page(key.user(user), key.prefix, words=query, before=before, most=limit)
    named = [(key.outside(info.thread), info) for info in page.rows]
    return {
        "threads": [{**asdict(info), "thread": name} for name, info in named if name is not None],
        "next": page.next,
    }


@router.get("/threads/{thread}")
async def state(thread: PathName, key: Caller, assistant: Served, user: UserName = None) -> dict[str, Any]:
    """Return the holder of a thread's conversation, and the open question."""
    facts = await assistant.state(key.inside(thread), key.user(user))
    if facts is None:
        raise HTTPException(404, NO_THREAD)
    return {**facts, "thread": thread}


@router.get("/threads/{thread}/memory")
async def memory(thread: PathName, key: Caller, assistant: Served) -> dict[str, list[Content]]:
    """Return every message of a thread, oldest first."""
    return {"contents": contents(await lines_of(assistant, key.inside(thread)))}


@router.get("/threads/{thread}/export", responses={200: {"content": {"text/markdown": {}, "application/json": {}}}})
async def export(thread: PathName, key: Caller, assistant: Served, form: Written = "markdown") -> Response:
    """Return a thread as readable Markdown, or as JSON with the forms of its dialogs."""
    lines = await lines_of(assistant, key.inside(thread))
    facts = await assistant.state(key.inside(thread)) or {}
    forms, lang = facts.get("forms", {}), facts.get("lang") or FALLBACK
    if form == "json":
        data = {"thread": thread, "contents": contents(lines), "forms": forms}
        if key.allows("operate"):
            data |= (await SystemMessages.of(assistant.memory.store, key.inside(thread))).model_dump()
        return JSONResponse(data)
    return PlainTextResponse(conversation_markdown(thread, lines, forms, lang), media_type="text/markdown")


@router.get("/threads/{thread}/system_messages")
async def system_messages(key: Operator, name: Known, assistant: Served) -> SystemMessages:
    """Return the operator's messages to every speaker of a thread."""
    return await SystemMessages.of(assistant.memory.store, name)


@router.put("/threads/{thread}/system_messages", dependencies=[audited("system_messages")])
async def set_messages(body: SystemMessages, key: Operator, name: Known, assistant: Served) -> SystemMessages:
    """Replace the operator's messages to every speaker of a thread, from the next turn on.

    A running turn keeps the old messages.
    """
    await body.save(assistant.memory.store, name)
    return body


@router.delete("/threads/{thread}", dependencies=[audited("forget")])
async def forget(thread: PathName, key: Caller, assistant: Served) -> dict[str, bool]:
    """Delete every trace of a thread, and all data of its user if it has only one."""
    await check_reach(assistant.memory)
    if not await assistant.forgetting.thread(key.inside(thread)):
        raise HTTPException(404, NO_THREAD)
    return {"forgotten": True}


@router.get("/users/{user}/memory")
async def long_term_memory(user: PathName, key: Caller, assistant: Served) -> dict[str, Any]:
    """Return the long-term memory of a user: entries with turn and time, and remembered forms."""
    name = key.inside(user)
    memories = [entry for memory in assistant.services.every(LongTermMemory) for entry in await memory.entries(name)]
    entries = [{**entry, "thread": key.outside(str(entry["thread"])) or ""} for entry in memories]
    forms = await assistant.memory.store.asearch(namespace_of(name, "forms"), limit=1000)
    return {"user": user, "memory": entries, "forms": {item.key: item.value for item in forms}}


@router.delete("/users/{user}/memory", dependencies=[audited("forget_memory")])
async def forget_memory(user: PathName, key: Caller, assistant: Served) -> dict[str, bool]:
    """Delete the long-term memory of a user; the user's own data (to-dos, settings) and the threads stay."""
    await assistant.forgetting.learnt(key.inside(user))
    return {"forgotten": True}


async def lines_of(assistant: Assistant, thread: str) -> list[TranscriptLine]:
    """Return the transcript of a thread. Raises HTTPException: there is no such thread."""
    lines = await assistant.history(thread)
    if not lines and await assistant.state(thread) is None:
        raise HTTPException(404, NO_THREAD)
    return lines
