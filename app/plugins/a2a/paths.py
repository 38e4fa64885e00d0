"""The paths of A2A. The card is for everybody; a client that gives tasks needs a key with the right to talk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, FastAPI, Request, Response

from app.doors.http.exchange import FAULTS, allowed, served
from app.plugins.a2a.tasks import PATH, Service

router = APIRouter(responses=FAULTS)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Answer other agents during the block."""
    app.state.a2a = Service(app.state.assistant, app.state.answers)
    yield


Peers = Annotated[Service, served("a2a")]


@router.get("/.well-known/agent-card.json", response_model=None)
async def card(request: Request, service: Peers) -> Response:
    """Return the agent card of A2A: the assistant's skills, and the address of its tasks."""
    return service.card(request)


@router.post(PATH, dependencies=[allowed("talk")], response_model=None)
async def call(request: Request, service: Peers) -> Response:
    """Answer a JSON-RPC request of another agent: a new task, or a question about one."""
    return await service.call(request)
