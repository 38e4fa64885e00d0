"""OpenAI-compatible endpoints: the servers of this machine, and a trial of a model's work."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
import jmespath
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.errors import ModelUnavailable
from agents.models import Models
from agents.models.factory import OBSERVER
from agents.models.failures import status
from agents.models.reply import Listener, reply
from app.composition.supervisor_tools import current_time
from app.composition.windows import PATIENCE, fetch
from app.process.logs import silence

PLACES = (("Ollama", 11434), ("LM Studio", 1234), ("vLLM", 8000), ("llama.cpp", 8080))
"""Common servers, and their ports."""
PATIENCE_ELSEWHERE = 5.0
"""The most seconds for another server to list its models."""
REJECTED = (400, 402, 422, 429)
"""The statuses of a server that is there, and does not take the request, or wants to be paid first."""


@dataclass(frozen=True)
class ModelServer:
    """A server that answered, with the models it offers."""

    name: str
    base_url: str
    models: Sequence[str]


async def servers_here() -> list[ModelServer]:
    """Ask the known places on this machine at once and return those that answer."""
    addresses = {name: f"http://127.0.0.1:{port}/v1" for name, port in PLACES}
    # A proxy for outgoing requests would not lead to this machine.
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        answers = await asyncio.gather(*(_models(client, url, None) for url in addresses.values()))
    listed = zip(addresses.items(), answers, strict=True)
    return [ModelServer(name, url, models) for (name, url), models in listed if models is not None]


async def models_of(base_url: str, key: str | None) -> list[str]:
    """Ask an endpoint for its models; empty if it lists none."""
    async with httpx.AsyncClient(timeout=PATIENCE_ELSEWHERE) as client:
        return sorted(await _models(client, base_url, key) or [])


async def _models(client: httpx.AsyncClient, base_url: str, key: str | None) -> list[str] | None:
    """Return the models that an endpoint lists; None if it does not answer with a list."""
    names = jmespath.search("data[].id", await fetch(client, f"{base_url.rstrip('/')}/models", key))
    return None if names is None else [str(name) for name in names]


@dataclass(frozen=True)
class ModelVerdict:
    """The verdict on a model's work."""

    outcome: str
    """"good", "no_tools", or the trouble, as of a turn."""
    cause: str = ""
    """The cause of the trouble for the operator, with the server's own words."""
    is_rejected: bool = False
    """Whether the server answered and found the request wrong."""


async def verdict(models: Models) -> ModelVerdict:
    """Ask as turns do: for a call of a tool, with its result, and for an observer's word. The models learn from it."""
    tools, listener = [convert_to_openai_tool(current_time)], Listener("setup", lambda _: None, thread="setup")
    # Strict templates want a system message, and then the user's.
    prompt: list[AnyMessage] = [
        SystemMessage("You are a helpful assistant who calls tools."),
        HumanMessage("What time is it? Call the tool current_time."),
    ]
    watching = Listener("setup", lambda _: None, role=OBSERVER, thread="setup", words=("stay", "own"))
    with silence():
        try:
            answer = await reply(models.chain("setup"), prompt, tools, listener)
            call = ToolCall(name=current_time.name, args={}, id="callofnow", type="tool_call")
            called = answer if answer.tool_calls else AIMessage("", tool_calls=[call])
            results = [ToolMessage("It is ten.", tool_call_id=call["id"] or "") for call in called.tool_calls]
            for chain, history, offered, speaker in (
                (models.chain("setup"), [*prompt, called, *results], tools, listener),
                (models.chain(OBSERVER), [prompt[0], HumanMessage("Answer with one word: stay")], [], watching),
            ):
                try:
                    await reply(chain, history, offered, speaker)
                except ModelUnavailable as failure:
                    # A model that has answered once may be short of words; a refusal by its server stays one.
                    # But a made-up call lacks the additions of some providers to their own calls.
                    if failure.__cause__ and (speaker is watching or answer.tool_calls):
                        raise
        except ModelUnavailable as failure:
            cause = failure.__cause__
            is_rejected = failure.trouble == "unavailable" and cause is not None and status(cause) in REJECTED
            return ModelVerdict(failure.trouble, failure.cause, is_rejected)
    return ModelVerdict("good" if any(call["name"] == current_time.name for call in answer.tool_calls) else "no_tools")
