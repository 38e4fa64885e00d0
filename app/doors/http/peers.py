"""The paths of A2A. What speaks it is an extra, which only those who use it install."""

from collections.abc import Callable
from typing import NoReturn

from fastapi import APIRouter, HTTPException, params

from agents.errors import ConfigError
from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.doors.http.exchange import FAULTS
from app.process.extras import load_extra


def make_router(assistant: Assistant, answers: Answers, check: params.Depends) -> APIRouter:
    """Return the paths; `check` lets only those pass who may talk. The card is for everybody."""
    router = APIRouter(responses=FAULTS)
    card, call = _endpoints(assistant, answers)
    router.add_api_route("/.well-known/agent-card.json", card, response_model=None)
    router.add_api_route("/a2a", call, methods=["POST"], dependencies=[check], response_model=None)
    return router


def _endpoints(assistant: Assistant, answers: Answers) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return what gives the card, and what takes calls."""
    try:
        service = load_extra("app.doors.http.a2a", "a2a", "A2A").Service(assistant, answers)
        return service.card, service.call
    except ConfigError as missing:
        reason = str(missing)

    def refuse() -> NoReturn:
        """Say how the extra is installed."""
        raise HTTPException(501, reason)

    return refuse, refuse
