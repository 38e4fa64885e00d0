"""The paths of A2A. What speaks it is an extra, which only those who use it install."""

from importlib import import_module
from typing import NoReturn

from fastapi import APIRouter, HTTPException, params

from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.doors.http.exchange import FAULTS

NO_A2A = "A2A is an extra; install it: pip install --require-hashes -r requirements-a2a.txt"
PACKAGES = ("a2a", "google", "sse_starlette")


def make_router(assistant: Assistant, answers: Answers, check: params.Depends) -> APIRouter:
    """Return the paths; `check` lets only those pass who may talk. The card is for everybody."""
    try:
        service = import_module("app.doors.http.a2a").Service(assistant, answers)
        card, call = service.card, service.call
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in PACKAGES:
            raise
        card = call = _refuse
    router = APIRouter(responses=FAULTS)
    router.add_api_route("/.well-known/agent-card.json", card, response_model=None)
    router.add_api_route("/a2a", call, methods=["POST"], dependencies=[check], response_model=None)
    return router


def _refuse() -> NoReturn:
    """Say that it is not installed."""
    raise HTTPException(501, NO_A2A)
