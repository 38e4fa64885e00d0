"""The paths of long-term memory: what conversations have found out of a user."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from agents.memory.store import namespace_of
from agents.toolkit.long_term import LongTermMemory
from app.doors.http.exchange import FAULTS, LONGEST_NAME, Caller, Served

UserName = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
router = APIRouter(responses=FAULTS)


@router.get("/users/{user}/memory")
async def long_term_memory(user: UserName, key: Caller, assistant: Served) -> dict[str, Any]:
    """Return what is kept of a user for later threads: entries with turn and time, and remembered forms."""
    name = key.inside(user)
    kept = [entry for memory in assistant.services.every(LongTermMemory) for entry in await memory.entries(name)]
    entries = [{**entry, "thread": key.outside(str(entry["thread"])) or ""} for entry in kept]
    forms = await assistant.memory.store.asearch(namespace_of(name, "forms"), limit=1000)
    return {"user": user, "memory": entries, "forms": {item.key: item.value for item in forms}}


@router.delete("/users/{user}/memory")
async def forget_memory(user: UserName, key: Caller, assistant: Served) -> dict[str, bool]:
    """Delete that; what is the user's own (to-dos, settings) and what was said in threads stay."""
    await assistant.forgetting.learnt(key.inside(user))
    return {"forgotten": True}
