"""Chat templates of open models, rendered as the `transformers` library renders them."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

Json = dict[str, Any]
PROBE = "probe_tool"
_TOOL: Json = {
    "type": "function",
    "function": {
        "name": PROBE,
        "description": "Probe.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string", "description": "A word."}}},
    },
}


class Refused(Exception):
    """A template refuses the messages; the text is the template's own."""


class _Generation(Extension):
    """`{% generation %}` marks the text for a model's training; rendering ignores it."""

    tags = {"generation"}  # noqa: RUF012  # declared so by the base class

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the body of the block unchanged."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class ChatTemplate:
    """One template of a file. Servers pass arguments of calls as objects or as JSON, whichever it reads."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now(UTC).strftime(form)
        environment.filters["tojson"] = _to_json
        environment.filters["from_json"] = json.loads
        self._template = environment.from_string(path.read_text("utf-8"))

    @property
    def takes_tools(self) -> bool:
        """Whether the template shows the model the tool of a minimal conversation."""
        try:
            return PROBE in self.render([{"role": "user", "content": "Hello"}], [_TOOL])
        except Refused:
            return False

    def render(self, messages: Sequence[Json], tools: Sequence[Json]) -> str:
        """Return the prompt for a model, with the form of arguments that loses less.

        Raises:
            Refused: the template takes neither form.
        """
        renderings, refusals = [], []
        for as_object, empty, offered in product((True, False), ("", None), [tools] if tools else (None, [])):
            shaped = [_shaped(message, as_object=as_object, empty=empty) for message in messages]
            try:
                renderings.append(self._render(shaped, offered))
            except Refused as refusal:
                refusals.append(refusal)
        if not renderings:
            raise refusals[0]
        return min(renderings, key=lambda text: len(lost(text, messages)))

    def _render(self, messages: Sequence[Json], tools: Sequence[Json] | None) -> str:
        try:
            return self._template.render(
                messages=messages,
                tools=tools,
                xml_tools=tools,
                add_generation_prompt=True,
                bos_token="<s>",
                eos_token="</s>",
            )
        except (TemplateError, TypeError, ValueError, LookupError) as fault:
            raise Refused(str(fault).splitlines()[0] if str(fault) else type(fault).__name__) from fault


def read_templates(folder: Path) -> list[ChatTemplate]:
    """Return the templates (`*.jinja`) at or below a folder, by name.

    Raises:
        FileNotFoundError: there is none.
    """
    paths = sorted(folder.rglob("*.jinja"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no chat template (*.jinja)")
    return [ChatTemplate(path) for path in paths]


def lost(prompt: str, messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the places of the messages whose text the prompt lacks; white space and escapes do not count."""
    squeezed = _squeezed(prompt)
    return [place for place, message in enumerate(messages) if _squeezed(message["content"] or "") not in squeezed]


def _squeezed(text: str) -> str:
    return re.sub(r"\\u[0-9a-f]{4}|\\n|[\s\\]", "", json.loads(json.dumps(text)))


def _shaped(message: Json, *, as_object: bool, empty: str | None) -> Json:
    """Return a message in a server's form for the template; `empty` stands for a missing text beside a call."""
    if not message.get("tool_calls"):
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        if as_object
        else call
        for call in message["tool_calls"]
    ]
    return {**message, "content": message["content"] or empty, "tool_calls": calls}


def _raise(message: str) -> None:
    raise TemplateError(message)


def _to_json(value: object, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
