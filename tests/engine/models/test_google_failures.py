"""Failures of Google's models through their own client, over HTTP: each becomes the same word as any provider's."""

import json
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.models.factory import Endpoint, make_model
from agents.models.reply import Listener, reply
from tests.support.odd_provider import HEAD, Provider, refuse

PROMPT: list[AnyMessage] = [SystemMessage("Be kind."), HumanMessage("hello")]


def refusal(status: int, name: str, message: str) -> bytes:
    """Return a failure as Google words it."""
    return refuse(status, {"code": status, "status": name, "message": message})


def stream(body: dict[str, Any]) -> bytes:
    """Return a stream of one event."""
    return HEAD + f"data: {json.dumps(body)}\n\n".encode()


async def trouble_of(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Return the word for a failure, and how often the server was asked."""
    async with Provider.open(answer) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setenv("GOOGLE_API_KEY", "none")
        model = make_model("google_genai:gemini-3-pro-preview", Endpoint(timeout=60, retries=0))
        with pytest.raises(ModelUnavailable) as failure:
            await reply([model], PROMPT, [], Listener("x", lambda _: None))
        return failure.value.trouble, len(server.bodies)


@pytest.mark.parametrize(
    ("status", "name", "message", "trouble"),
    [
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded", "busy"),
        (500, "INTERNAL", "An internal error has occurred", "busy"),
        (503, "UNAVAILABLE", "The model is overloaded", "busy"),
        (401, "UNAUTHENTICATED", "Request had invalid authentication credentials", "key_refused"),
        (403, "PERMISSION_DENIED", "no", "key_refused"),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "key_refused"),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8)",
            "too_long",
        ),
        (400, "INVALID_ARGUMENT", "Request contains an invalid argument", "unavailable"),
        (404, "NOT_FOUND", "models/gemini is not found", "unavailable"),
    ],
)
async def test_statuses_are_sorted_as_everywhere(
    monkeypatch: pytest.MonkeyPatch, status: int, name: str, message: str, trouble: str
) -> None:
    """The status decides, and for a wrong request its words."""
    assert (await trouble_of(refusal(status, name, message), monkeypatch))[0] == trouble


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
        {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "PROHIBITED_CONTENT", "index": 0}]},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"promptFeedback": {"blockReason": "OTHER"}, "candidates": []},
    ],
)
async def test_what_its_filters_take_is_a_refusal(monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]) -> None:
    """A blocked answer and a blocked question are refused, and not asked again."""
    assert await trouble_of(stream(body), monkeypatch) == ("refused", 1)


async def test_an_answer_without_candidates_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says why there is none; the server may do better."""
    assert await trouble_of(stream({"candidates": []}), monkeypatch) == ("busy", 3)


async def test_a_limit_reached_while_thinking_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tokens went into the thinking, those of the second request too, which has room for it."""
    thought = {"content": {"role": "model", "parts": [{"text": "Well", "thought": True}]}, "finishReason": "MAX_TOKENS"}
    assert await trouble_of(stream({"candidates": [thought]}), monkeypatch) == ("cut_length", 2)
