"""Servers of OpenAI's kind that refuse fields and contents of requests, each in a body of its own kind."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import SecretStr

from agents.models import Model, Models
from agents.models.factory import Endpoint, Parameters, make_models
from agents.models.reply import Listener, reply
from tests.support.odd_provider import Answer, Chunk, in_json, words

Body = Callable[[str], object]
"""A function that makes the body of a field's refusal."""
BODIES: dict[str, Body] = {
    "openai": lambda name: {"error": {"message": f"Unknown parameter: '{name}'.", "param": name, "code": "unknown"}},
    "azure": lambda name: {"error": {"message": f"Unrecognized request argument supplied: {name}", "param": None}},
    "groq": lambda name: {"error": {"message": f"property '{name}' is unsupported", "type": "invalid_request_error"}},
    "cerebras": lambda name: {"message": f"body.{name}: property 'body.{name}' is unsupported", "param": "wrong_form"},
    "fastapi": lambda name: {"detail": [{"loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}]},
    "mistral": lambda name: {"message": {"detail": [{"loc": ["body", name], "msg": "Extra inputs are not permitted"}]}},
    "litellm": lambda name: {"error": {"message": f"groq does not support parameters: ['{name}'], for model=m"}},
    "serde": lambda name: {"error": f"unknown field `{name}`, expected one of `model`, `max_tokens`, `temperature`"},
    "jackson": lambda name: f'Unrecognized field "{name}" (3 known properties: "model", "max_tokens", "temperature")',
    "xai": lambda name: {"code": "invalid argument", "error": f"Argument not supported on this model: {_camel(name)}"},
    "gemini": lambda name: [{"error": {"code": 400, "message": f'Unknown name "{name}": Cannot find field.'}}],
    "openrouter": lambda name: {
        "error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"detail": f"{name}: no"})}}
    },
    "words": lambda name: {"detail": f"{name.replace('_', ' ')} are not allowed here"},
    "problem": lambda name: {
        "type": "about:blank",
        "title": "Bad Request",
        "invalid-params": [{"name": name, "reason": "not permitted"}],
    },
    "pointer": lambda name: {"errors": [{"status": "400", "source": {"pointer": f"/{name}"}, "title": "Invalid"}]},
    "ajv": lambda name: [
        {"instancePath": "", "keyword": "additionalProperties", "params": {"additionalProperty": name}, "message": "no"}
    ],
    "zod": lambda name: {"issues": [{"code": "unrecognized_keys", "keys": [name], "path": [], "message": "Bad keys"}]},
    "keys": lambda name: {"errors": {name: ["is not permitted"]}},
    "chinese": lambda name: {
        "Message": f"不支持参数{name}，可用参数：model、messages、temperature、max_tokens、stream_options。"
    },
    "russian": lambda name: {"причина": f"Поле «{name}» неизвестно: есть model, messages, temperature, max_tokens"},
    "sorted": lambda name: {"fehler": f"Unbekannt: {name}. Erlaubt: max_tokens, messages, model, temperature"},
}
PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
refused = in_json
"""A refusal with a status and a body."""
TOOL = {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}


def refusing(*names: str, body: Body = BODIES["openai"], status: int = 400, text: str = "Hello there") -> Answer:
    """Refuse requests with one of these fields, one at a time; answer all others."""

    def answer(request: dict[str, Any]) -> Sequence[Chunk] | bytes:
        name = next((name for name in names if name in request), None)
        return refused(status, body(name)) if name else words(text)

    return answer


def wanting_content(words_of_refusal: str, *, also: str = "") -> Answer:
    """Refuse requests in which a message has no content, or the content `also`."""

    def answer(request: dict[str, Any]) -> Sequence[Chunk] | bytes:
        contents = [message.get("content") for message in request["messages"]]
        return refused(422, {"detail": words_of_refusal}) if {None, "", also} & {*contents} else words("Hello there")

    return answer


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def models(url: str, **parameters: Any) -> Models:
    """Return the models at an address, as they would be made at a start."""
    endpoint = Endpoint(key=SecretStr("key"), base_url=url)
    given = Parameters(**{"temperature": 0.5, "parallel_tool_calls": False, **parameters})
    return make_models("openai:m", {}, None, endpoint, {"default": given})


async def said(model: Model, prompt: list[AnyMessage] = PROMPT, **options: Any) -> str:
    """Return a model's answer to a request with all its extras."""
    return (await reply([model], prompt, [TOOL], Listener("x", lambda _: None, thread="t", **options))).text
