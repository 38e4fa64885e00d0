"""Signed thinking goes back to its provider while a turn's tools are worked on, and nowhere else, over HTTP."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.models.factory import Endpoint, make_models
from app.assistant.run import config_of
from tests.support.endpoint_talk import errors, tools, turn
from tests.support.odd_provider import HEAD, Provider
from tests.support.scripted_assistant import THREAD, said, stage, todos

pytestmark = pytest.mark.needs("planner")

SECRET, SEAL = "They want milk, I think.", "c2VhbA=="
"""A model's reasoning, and its signature (base64)."""
MILK = {"items": ["milk"]}
NAMES = {"anthropic": "claude-opus-4-5", "google_genai": "gemini-3-pro-preview"}


def stream(*events: dict[str, Any]) -> bytes:
    """Return a whole reply of server-sent events, as Anthropic and Google send them."""
    named = [(f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events]
    lines = [f"{name}data: {data}\n\n" for name, data in named]
    return HEAD + "".join(lines).encode()


def anthropic(*blocks: tuple[dict[str, Any], Sequence[dict[str, Any]]], reason: str) -> bytes:
    """Return a reply of Anthropic: each block with its deltas."""
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    ]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": reason, "stop_sequence": None}
    return stream(
        *events,
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def anthropic_call(name: str, args: dict[str, Any]) -> bytes:
    """Return a reply that thinks, in two pieces with a signature, and calls a tool."""
    thinking = [{"type": "thinking_delta", "thinking": part} for part in (SECRET[:9], SECRET[9:])]
    return anthropic(
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [*thinking, {"type": "signature_delta", "signature": SEAL}],
        ),
        ({"type": "redacted_thinking", "data": "cmVk"}, []),
        (
            {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps(args)}],
        ),
        reason="tool_use",
    )


def anthropic_words(text: str) -> bytes:
    """Return a reply of words."""
    return anthropic(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]), reason="end_turn")


def google(*parts: dict[str, Any]) -> bytes:
    """Return a reply of Google in one piece."""
    return stream(
        {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP", "index": 0}]}
    )


def google_call(name: str, args: dict[str, Any]) -> bytes:
    """Return a reply that thinks and calls a tool, whose call is signed."""
    return google(
        {"text": SECRET, "thought": True},
        {"functionCall": {"name": name, "args": args}, "thoughtSignature": SEAL},
    )


def google_words(text: str) -> bytes:
    """Return a reply of words."""
    return google({"text": text})


REPLIES = {"anthropic": (anthropic_call, anthropic_words), "google_genai": (google_call, google_words)}


@pytest.fixture(params=[*NAMES])
def provider(request: pytest.FixtureRequest) -> str:
    """Name a provider that signs its thinking."""
    return str(request.param)


def history(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request."""
    messages: list[dict[str, Any]] = body.get("messages") or body["contents"]
    return messages


async def opened(folder: Path, provider: str, server: Provider, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the application with a model of this provider."""
    address = server.url.removesuffix("/v1")
    for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, address)
    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "none")
    models = make_models(f"{provider}:{NAMES[provider]}", {}, None, Endpoint(timeout=60, retries=0))
    return stage(folder / "talk.db", models)


async def test_thinking_goes_back_with_the_results(
    tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request behind a tool holds the signed thinking unchanged; the next turn's requests hold it if it is text."""
    call, words = REPLIES[provider]
    replies = [call("plan_things", {"brief": "milk"}), call("add_todos", MILK), words("Noted."), words("Gladly.")]
    async with Provider.open(*replies) as server:
        async with await opened(tmp_path, provider, server, monkeypatch) as assistant:
            events = await turn(assistant, "put down something for the week, namely milk")
            assert (tools(events), said(events), errors(events)) == ([("add_todos", True)], ["Noted."], [])
            assert await todos(assistant) == ["milk"]
            await turn(assistant, "12")
            assert SECRET not in str(await assistant.history(THREAD))
            assert SECRET not in str(events)
            assert SECRET not in str(await assistant.graph.aget_state(config_of(THREAD)))
        behind, later = server.bodies[2], server.bodies[3]
    if provider == "anthropic":
        reply = next(message for message in history(behind) if message["role"] == "assistant")
        thought, redacted, used = reply["content"]
        assert thought == {"type": "thinking", "thinking": SECRET, "signature": SEAL}
        assert redacted == {"type": "redacted_thinking", "data": "cmVk"}
        assert (used["type"], used["name"]) == ("tool_use", "add_todos")
    else:
        parts = next(message for message in history(behind) if message["role"] == "model")["parts"]
        [signed] = [part for part in parts if "functionCall" in part]
        assert signed["thoughtSignature"] == SEAL
    returns = provider == "anthropic"
    assert (SECRET in str(later), SEAL in str(later)) == (returns, returns)
