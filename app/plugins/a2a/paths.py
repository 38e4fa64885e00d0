"""The paths of A2A. The card is for everybody; whoever gives tasks must have a key that may talk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response

from app.doors.http.exchange import FAULTS, allowed
from app.plugins.a2a.tasks import PATH, Service

router = APIRouter(responses=FAULTS)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Answer other agents during the block."""
    app.state.a2a = Service(app.state.assistant, app.state.answers)
    yield


@router.get("/.well-known/agent-card.json", response_model=None)
async def card(request: Request) -> Response:
    """Tell other agents what the assistant can do, and where it is asked for it, by the protocol A2A."""
    return a2a_of(request).card(request)


@router.post(PATH, dependencies=[allowed("talk")], response_model=None)
async def call(request: Request) -> Response:
    """Take the tasks of other agents and tell of them, by JSON-RPC."""
    return await a2a_of(request).call(request)


def a2a_of(request: Request) -> Service:
    """Return what answers a request."""
    service: Service = request.app.state.a2a
    return service
