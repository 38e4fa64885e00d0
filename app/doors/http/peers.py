"""The paths of A2A. What speaks it is an extra, which only those who use it install."""

from importlib import import_module
from typing import Any

from fastapi import APIRouter, HTTPException

from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.doors.http.exchange import FAULTS

NO_A2A = "A2A is an extra; install it: pip install --require-hashes -r requirements-a2a.txt"
PACKAGES = ("a2a", "google", "sse_starlette")


class Missing:
    """Stands for what is not installed."""

    def card(self) -> None:
        """Raise HTTPException: it is not installed."""
        raise HTTPException(501, NO_A2A)

    call = card


def make_router(assistant: Assistant, answers: Answers, check: Any) -> APIRouter:
    """Return the paths; `check` lets only those pass who may talk. The card is for everybody."""
    router = APIRouter(responses=FAULTS)
    service: Any
    try:
        service = import_module("app.doors.http.a2a").Service(assistant, answers)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in PACKAGES:
            raise
        service = Missing()

    router.add_api_route("/.well-known/agent-card.json", service.card, response_model=None)
    router.add_api_route("/a2a", service.call, methods=["POST"], dependencies=[check], response_model=None)
    return router
