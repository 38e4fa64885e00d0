"""The paths of what is kept of threads: read, exported and forgotten."""

from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from agents.memory.inbox import TranscriptLine
from app.assistant import Assistant
from app.assistant.system_messages import SystemMessages
from app.doors.http.exchange import FAULTS, NO_THREAD, Caller, Operator, Served, ThreadName, UserName
from app.listing import conversation_markdown
from app.short_term_memory import Content, contents
from prompts import FALLBACK

router = APIRouter(prefix="/threads", responses=FAULTS)


@router.get("")
async def threads(key: Caller, assistant: Served, user: UserName = None) -> dict[str, list[dict[str, Any]]]:
    """List the threads, or those in which a user has written, the latest first."""
    infos = await assistant.threads(key.inside(user) if user else None)
    named = [(key.outside(info.thread), info) for info in infos]
    return {"threads": [{**asdict(info), "thread": name} for name, info in named if name is not None]}


@router.get("/{thread}")
async def state(thread: ThreadName, key: Caller, assistant: Served, user: UserName = None) -> dict[str, Any]:
    """Return who holds a thread's conversation, and what is asked."""
    facts = await assistant.state(key.inside(thread), key.inside(user) if user else None)
    if facts is None:
        raise HTTPException(404, NO_THREAD)
    return {**facts, "thread": thread}


@router.get("/{thread}/memory")
async def memory(thread: ThreadName, key: Caller, assistant: Served) -> dict[str, list[Content]]:
    """Return every message of a thread, oldest first."""
    return {"contents": contents(await lines_of(assistant, key.inside(thread)))}


@router.get("/{thread}/export", responses={200: {"content": {"text/markdown": {}, "application/json": {}}}})
async def export(
    thread: ThreadName, key: Caller, assistant: Served, form: Literal["markdown", "json"] = "markdown"
) -> Response:
    """Return a thread to read, or as JSON with the forms of its dialogs."""
    lines = await lines_of(assistant, key.inside(thread))
    facts = await assistant.state(key.inside(thread)) or {}
    forms, lang = facts.get("forms", {}), facts.get("lang") or FALLBACK
    if form == "json":
        data = {"thread": thread, "contents": contents(lines), "forms": forms}
        if key.allows("operate"):
            data |= (await SystemMessages.of(assistant.memory.store, key.inside(thread))).model_dump()
        return JSONResponse(data)
    return PlainTextResponse(conversation_markdown(thread, lines, forms, lang), media_type="text/markdown")


@router.get("/{thread}/system_messages")
async def system_messages(thread: ThreadName, key: Operator, assistant: Served) -> SystemMessages:
    """Return what the operator tells every speaker of a thread."""
    return await SystemMessages.of(assistant.memory.store, key.inside(thread))


@router.put("/{thread}/system_messages")
async def set_system_messages(
    thread: ThreadName, body: SystemMessages, key: Operator, assistant: Served
) -> SystemMessages:
    """Tell every speaker of a thread this, in place of what was told; it holds from the next turn on.

    A turn that runs is not waited for.
    """
    await body.save(assistant.memory.store, key.inside(thread))
    return body


@router.delete("/{thread}")
async def forget(thread: ThreadName, key: Caller, assistant: Served) -> dict[str, bool]:
    """Delete every trace of a thread, and all that is kept of its user if it has only one."""
    if not await assistant.forget(key.inside(thread)):
        raise HTTPException(404, NO_THREAD)
    return {"forgotten": True}


async def lines_of(assistant: Assistant, thread: str) -> list[TranscriptLine]:
    """Return what was said in a thread. Raises HTTPException: there is no such thread."""
    lines = await assistant.history(thread)
    if not lines and await assistant.state(thread) is None:
        raise HTTPException(404, NO_THREAD)
    return lines
