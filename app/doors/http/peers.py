"""The paths of A2A. What speaks it is an extra, which only those who use it install."""

from importlib import import_module
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request

from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.doors.http.exchange import FAULTS

NO_A2A = "A2A is an extra; install it: pip install --require-hashes -r requirements-a2a.txt"
PACKAGES = ("a2a", "google", "sse_starlette")


def make_router(assistant: Assistant, answers: Answers, check: Any) -> APIRouter:
    """Return the paths; `check` lets only those pass who may talk. The card is for everybody."""
    router = APIRouter(responses=FAULTS)
    try:
        service = import_module("app.doors.http.a2a").Service(assistant, answers)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in PACKAGES:
            raise
        service = None

    def installed() -> Any:
        if service is None:
            raise HTTPException(501, NO_A2A)
        return service

    @router.get("/.well-known/agent-card.json")
    async def agent_card(request: Request, speaking: Annotated[Any, Depends(installed)]) -> Any:
        """Tell other agents what the assistant can do, by the protocol A2A."""
        return speaking.card(request)

    @router.post("/a2a", dependencies=[check])
    async def call(request: Request, speaking: Annotated[Any, Depends(installed)]) -> Any:
        """Take the tasks of other agents and tell of them, by JSON-RPC."""
        return await speaking.call(request)

    return router
