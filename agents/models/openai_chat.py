"""Chat completions as OpenAI-compatible servers send them, brought into the form that LangChain reads.

LangChain's client drops thinking and refusals, and loses all calls of a chunk when one has no index.
"""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from agents.models.streamed_reply import IS_OVER


class CompatibleChat(ChatOpenAI):
    """Chat completions of any server that speaks OpenAI's protocol, more or less."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, object] | None
    ) -> ChatGenerationChunk | None:
        delta = _delta(chunk)
        if delta is not None:
            choice = {**chunk["choices"][0], "delta": {**delta, **_calls(delta)}}
            chunk = {**chunk, "choices": [choice, *chunk["choices"][1:]]}
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if generation is None or not isinstance(message := generation.message, AIMessageChunk):
            return generation
        for name in ("reasoning_content", "reasoning", "refusal"):
            if delta and isinstance(delta.get(name), str) and delta[name]:
                message.additional_kwargs[name] = delta[name]
        if chunk.get("choices") == [] and chunk.get("usage"):
            # The price comes after the last piece; some servers never say why the reply ended.
            message.response_metadata[IS_OVER] = True
        return generation


def _delta(chunk: Mapping[str, object]) -> dict[str, object] | None:
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = choice.get("delta") if isinstance(choice, dict) else None
    return delta if isinstance(delta, dict) else None


def _calls(delta: Mapping[str, object]) -> dict[str, object]:
    """Return the tool calls of a piece, each with an index and its arguments as a string."""
    calls = delta.get("tool_calls")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return {}
    return {"tool_calls": [_call(call) for call in calls]}


def _call(call: dict[str, object]) -> dict[str, object]:
    function = call.get("function")
    if not isinstance(function, dict):
        return call
    args = function.get("arguments")
    args = args if args is None or isinstance(args, str) else json.dumps(args)
    return {"index": None, **call, "function": {**function, "arguments": args}}
