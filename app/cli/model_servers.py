"""OpenAI-compatible endpoints: which ones answer on this machine, and whether a model of one does its work."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx
from langchain_core.messages import HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import SecretStr

from agents.errors import ConfigError, ModelUnavailable
from agents.models.factory import Endpoint, make_model
from agents.models.reply import Listener, reply
from agents.toolkit.supervisor_tools import current_time
from app.logs import silence

PLACES = (("Ollama", 11434), ("LM Studio", 1234), ("vLLM", 8000), ("llama.cpp", 8080))
"""Servers people run, and the ports they listen on."""
PATIENCE = 1.5
"""Seconds that a server on this machine may take to list its models."""
PATIENCE_ELSEWHERE = 5.0
"""Seconds that another server may take to list its models."""
LARGEST_LIST = 1_000_000
"""Bytes of a list of models that are read."""


@dataclass(frozen=True)
class Server:
    """A server that answered, with the models it offers."""

    name: str
    base_url: str
    models: Sequence[str]


async def servers_here() -> list[Server]:
    """Ask the known places on this machine at once and return those that answer."""
    addresses = {name: f"http://127.0.0.1:{port}/v1" for name, port in PLACES}
    # A proxy that serves for the way out would not lead to this machine.
    asked = [_models(url, None, httpx.AsyncClient(timeout=PATIENCE, trust_env=False)) for url in addresses.values()]
    answers = zip(addresses.items(), await asyncio.gather(*asked), strict=True)
    return [Server(name, url, models) for (name, url), models in answers if models is not None]


async def models_of(base_url: str, key: str | None) -> list[str]:
    """Ask an endpoint for its models; empty if it lists none."""
    return sorted(await _models(base_url, key, httpx.AsyncClient(timeout=PATIENCE_ELSEWHERE)) or [])


async def _models(base_url: str, key: str | None, client: httpx.AsyncClient) -> list[str] | None:
    """Return the models that an endpoint lists; None if it does not answer with a list."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with suppress(httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        # No redirect is followed, since it could lead the key elsewhere.
        async with client, client.stream("GET", f"{base_url.rstrip('/')}/models", headers=headers) as answer:
            body = b""
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > LARGEST_LIST:
                    return None
            return [str(model["id"]) for model in json.loads(body)["data"]]
    return None


async def verdict(name: str, base_url: str | None, key: str | None, timeout: float = 60) -> str:
    """Ask the model of that name once to call a tool; return "good", "no_tools", or what is in the way.

    Address and key are those of an "openai:" model. What is in the way is "busy", "cut_length", "key_refused",
    "refused", "too_long" or "unavailable" as for a turn, or "no_key" where one is needed.

    Raises:
        ConfigError: another provider's package or key is missing.
    """
    endpoint = Endpoint(key=SecretStr(key) if key else None, base_url=base_url, timeout=timeout, retries=0)
    question = HumanMessage("What time is it? Call the tool current_time.")
    with silence():
        try:
            chain = [make_model(name, endpoint)]
            tools = [convert_to_openai_tool(current_time)]
            answer = await reply(chain, [question], tools, Listener("setup", lambda _: None))
        except ModelUnavailable as failure:
            return failure.trouble
        except ConfigError as wrong:
            if name.startswith("openai:"):
                return "no_key"
            # A package or a key is missing; the message names it.
            raise wrong from None
    return "good" if any(call["name"] == current_time.name for call in answer.tool_calls) else "no_tools"
