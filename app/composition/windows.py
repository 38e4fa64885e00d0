"""Ask model servers for the window of a model and the number of parallel requests, where they tell it."""

import asyncio
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass

import httpx
import jmespath

from agents.conversation.context_window import fitted
from agents.models import Model, Models
from agents.sources.web.ssrf import BodyRefused, read_body
from agents.toolkit.speaker import Speakers
from app.presentation.texts import say

PATIENCE = 1.5
"""The most seconds for a server's answer."""
LARGEST = 1_000_000
"""The most bytes of an answer that are read."""
SMALLEST = 512
"""The least tokens of a window; a smaller number is not a window."""
SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window")
"""The names under which servers list the windows of their models."""
OLLAMA, OLLAMA_WINDOW = "http://127.0.0.1:11434", 4096
"""Ollama's default address, and its default window in tokens."""
NUM_CTX = re.compile(r"^num_ctx\s+(\d{3,8})$", re.MULTILINE)


@dataclass(frozen=True)
class ServerFacts:
    """The facts from a server; None: it does not tell."""

    window: int | None = None
    """The most tokens of a prompt and its reply together."""
    slots: int | None = None
    """The most requests that run at once."""
    is_ollama: bool = False
    """Whether the server is Ollama, which cuts a long prompt silently."""


async def fetch(client: httpx.AsyncClient, url: str, key: str | None, body: object = None) -> object:
    """Return the JSON answer of an address to a GET, or to a POST of `body`; None if there is none."""
    headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
    with suppress(httpx.HTTPError, httpx.InvalidURL, BodyRefused, ValueError, RecursionError):
        # No redirect is followed, since it could lead the key elsewhere.
        async with client.stream("POST" if body else "GET", url, headers=headers, json=body) as answer:
            return json.loads(await read_body(answer, LARGEST)) if answer.is_success else None
    return None


async def facts_of(base_url: str, model: str, key: str | None) -> ServerFacts:
    """Return the facts from a model's server: llama.cpp, vLLM, Ollama, or one that lists them with its models."""
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
    is_ollama = shown is not None or jmespath.search("models", running) is not None
    return ServerFacts(window, slots if isinstance(slots, int) else None, is_ollama)


async def fitting(speakers: Speakers, models: Models, lang: str) -> tuple[Speakers, list[str]]:
    """Return the speakers cut to the windows of their models, and a line for each that does not fit.

    Servers at addresses of their own, and Ollama, are asked for the windows.
    """
    cuts = await asyncio.gather(*(_ask(model, lang) for model in models if address_of(model)))
    speakers, misfits = fitted(speakers, models, lang)
    keys = {name: "check.misfit" for name in speakers.absent}
    lines = [say(keys.get(misfit.name, "check.misfit_all"), lang, **asdict(misfit)) for misfit in misfits]
    return speakers, [*lines, *dict.fromkeys(filter(None, cuts))]


def address_of(model: Model) -> str:
    """Return the address for questions about a model's server; empty if there is none."""
    if model.sends_window:
        address = getattr(model.chat, "base_url", None) or os.environ.get("OLLAMA_HOST") or OLLAMA
        return str(address if "://" in address else f"http://{address}")
    return model.address


async def _ask(model: Model, lang: str) -> str:
    """Ask a model's server for the window, unless it is set; return a warning if the server cuts at a smaller one."""
    facts = await facts_of(address_of(model), model.name.partition(":")[2], model.key)
    window = facts.window or (OLLAMA_WINDOW if facts.is_ollama else None)
    size = model.window.size = model.window.size or window
    if model.sends_window or not facts.is_ollama or not size or not window or size <= window:
        return ""
    return say("check.window_cut", lang, place=model.place, window=window, size=size)


def _entry(entries: object, model: str) -> object:
    """Return the entry of a model in a list of models; the only entry of a list may have any name."""
    listed = entries if isinstance(entries, list) else []
    named = (entry for entry in listed if model in (jmespath.search("[id, name, model]", entry) or ()))
    return next(named, listed[0] if len(listed) == 1 else None)
