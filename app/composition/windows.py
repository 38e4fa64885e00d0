"""Ask model servers how much text a model takes and how many requests run at once, where they tell it."""

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass

import httpx
import jmespath

from agents.conversation.room import fitted
from agents.models import Model, Models
from agents.sources.web.ssrf import BodyRefused, read_body
from agents.toolkit.speaker import Speakers
from app.presentation.texts import say

PATIENCE = 1.5
"""Seconds that a server may take for an answer."""
LARGEST = 1_000_000
"""Bytes of an answer that are read."""
SMALLEST = 512
"""Tokens; a smaller number is no window."""
SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window")
"""The names under which servers list the windows of their models."""
NUM_CTX = re.compile(r"^num_ctx\s+(\d{3,8})$", re.MULTILINE)


@dataclass(frozen=True)
class ServerFacts:
    """What a server tells; None: it does not."""

    window: int | None = None
    """Tokens of a prompt and its reply."""
    slots: int | None = None
    """Requests that run at once."""


async def fetch(client: httpx.AsyncClient, url: str, key: str | None, body: object = None) -> object:
    """Return the JSON that an address answers with, to a GET or to a POST of `body`; None if there is none."""
    headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
    with suppress(httpx.HTTPError, httpx.InvalidURL, BodyRefused, ValueError, RecursionError):
        # No redirect is followed, since it could lead the key elsewhere.
        async with client.stream("POST" if body else "GET", url, headers=headers, json=body) as answer:
            return json.loads(await read_body(answer, LARGEST)) if answer.is_success else None
    return None


async def facts_of(base_url: str, model: str, key: str | None) -> ServerFacts:
    """Return what the server of a model tells: llama.cpp, vLLM, Ollama, and those that list it with their models."""
    base_url = base_url.rstrip("/")
    root = base_url.removesuffix("/v1")
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        props, listed, running, shown = await asyncio.gather(
            fetch(client, f"{root}/props", key),
            fetch(client, f"{base_url}/models", key),
            fetch(client, f"{root}/api/ps", key),
            fetch(client, f"{root}/api/show", key, {"model": model}),
        )
    entries = [_entry(jmespath.search("data", listed), model), _entry(jmespath.search("models", running), model)]
    sizes = [
        jmespath.search("default_generation_settings.n_ctx", props),
        *(jmespath.search(name, entry) for entry in entries for name in SIZES),
        *map(int, NUM_CTX.findall(str(jmespath.search("parameters", shown)))),
    ]
    window = next((size for size in sizes if isinstance(size, int) and size >= SMALLEST), None)
    slots = jmespath.search("total_slots", props)
    return ServerFacts(window, slots if isinstance(slots, int) else None)


async def fitting(speakers: Speakers, models: Models, lang: str) -> tuple[Speakers, list[str]]:
    """Return the speakers as they fit into the windows of their models, and a line for each that does not.

    Servers at addresses of their own are asked how large the windows are that nobody has set.
    """
    await asyncio.gather(*(_ask(model) for model in models if model.window.size is None and model.address))
    speakers, misfits = fitted(speakers, models, lang)
    keys = {name: "check.misfit" for name in speakers.absent}
    return speakers, [say(keys.get(misfit.name, "check.misfit_all"), lang, **asdict(misfit)) for misfit in misfits]


async def _ask(model: Model) -> None:
    model.window.size = (await facts_of(model.address, model.name.partition(":")[2], model.key)).window


def _entry(entries: object, model: str) -> object:
    """Return the entry of a model in a list of models; a server with a single one may call it anything."""
    listed = entries if isinstance(entries, list) else []
    named = (entry for entry in listed if model in (jmespath.search("[id, name, model]", entry) or ()))
    return next(named, listed[0] if len(listed) == 1 else None)
