"""The window of an Ollama server: it is sent with each request, or the operator reads what is cut."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agents.models import Model, Models
from agents.models.local_chat import LocalChat
from app.composition.windows import fitting
from tests.support.compiled import discovered
from tests.support.loopback import listening
from tests.support.odd_provider import read_request
from tests.support.refusing_server import models, refused


class OllamaLike(LocalChat):
    """A class that sends the window."""

    base_url: str
    num_ctx: int | None = None


async def windows(told: Mapping[str, object], model_at: Any, size: int | None) -> tuple[Model, list[str]]:
    """Return a model of an Ollama that tells this, after it was asked, and what is warned of."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        path = head.split()[1]
        writer.write(refused(200, told[path]) if path in told else refused(404, {}))
        writer.close()

    async with listening(serve) as url:
        model = model_at(url)
        model.window.size = size
        _, lines = await fitting(discovered()[0], Models(model), "en")
    return model, [line for line in lines if "cuts the rest" in line]


SHOWN: dict[str, object] = {"/api/show": {"capabilities": [], "parameters": ""}, "/api/ps": {"models": []}}
LOADED = SHOWN | {"/api/ps": {"models": [{"name": "m", "context_length": 16384}]}}


@pytest.mark.parametrize(
    ("told", "size", "window"), [(SHOWN, None, 4096), (LOADED, None, 16384), (SHOWN, 8192, 8192), (LOADED, 8192, 8192)]
)
async def test_ollama_is_sent_its_window(told: Mapping[str, object], size: int | None, window: int) -> None:
    """It is what was set, else what the server tells, else what it would load; each request says so."""
    model, warned = await windows(told, lambda url: Model("ollama:m", OllamaLike(base_url=url)), size)
    assert model.limited(()).chat.num_ctx == window  # type: ignore[attr-defined]
    assert warned == []


@pytest.mark.parametrize(("told", "size", "is_cut"), [(SHOWN, 8192, True), (LOADED, 8192, False), (SHOWN, None, False)])
async def test_a_window_that_cannot_be_sent_is_warned_of(
    told: Mapping[str, object], size: int | None, is_cut: bool
) -> None:
    """Over /v1 the server cuts what does not fit into its own window, without a word."""
    model, warned = await windows(told, lambda url: models(f"{url}/v1").default, size)
    assert bool(warned) == is_cut
    assert model.window.size == size or model.window.size == 4096
