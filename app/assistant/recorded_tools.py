"""Tools that answer from a record."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ArgsSchema

from agents.events import Images, Sources
from agents.events.views import read_view
from agents.toolkit.context import Runtime, emitter
from agents.toolkit.descriptions import ORIGINAL
from agents.toolkit.result import ToolResult
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import assistant_help

Answer = str | tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], Mapping[str, Any]]
"""A tool's answer: its text, its view, and the `sources` and `images` that it found, as plain data."""
Given = str | tuple[str, ToolResult | None]
"""The return value of a tool, with or without an artifact, according to its `response_format`."""


def with_answers(speakers: Speakers, answers: Mapping[str, Sequence[Answer]]) -> Speakers:
    """Return the speakers with tools that give these answers, in their order, in place of the named ones."""
    stand_ins: dict[str, BaseTool] = {}

    def changed(speaker: Speaker) -> Speaker:
        for tool in speaker.tools:
            if tool.name in answers and tool.name not in stand_ins:
                stand_ins[tool.name] = recorded(tool, answers[tool.name])
        return replace(speaker, tools=[stand_ins.get(tool.name, tool) for tool in speaker.tools])

    help = assistant_help.name
    help_tool = recorded(assistant_help, answers[help]) if help in answers else speakers.help
    return replace(speakers.each(changed), help=help_tool)


def with_absent_tools(speakers: Speakers, absent: Mapping[str, Mapping[str, Sequence[str]]]) -> Speakers:
    """Return the speakers with stand-ins for absent tools (of a service, of a server): by speaker, name and parameters.

    They only have the answers that `with_answers` gives them.
    """

    def changed(speaker: Speaker) -> Speaker:
        outside = absent.get(speaker.name, {})
        return replace(speaker, tools=[*speaker.tools, *(_absent_tool(name, names) for name, names in outside.items())])

    return speakers.each(changed)


def _absent_tool(name: str, parameters: Sequence[str]) -> BaseTool:
    schema = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
    return recorded(StructuredTool(name=name, description=name, args_schema=schema), [])


def recorded(tool: BaseTool, answers: Sequence[Answer]) -> BaseTool:
    """Return a tool that looks the same to the model and gives these answers, one a call; then it raises."""
    left = list(answers)

    async def answer(**given: Any) -> Given:
        if not left:
            raise LookupError(f"{tool.name} was called once more than it was when this was recorded")
        return await give(left.pop(0), tool, given.get("runtime"))

    return in_place_of(tool, answer, tool.args_schema)


def in_place_of(tool: BaseTool, answer: Callable[..., Awaitable[Given]], schema: ArgsSchema | None) -> BaseTool:
    """Return a tool that looks the same to the model and runs a function, which gets the arguments of `schema`."""
    return StructuredTool.from_function(
        coroutine=answer,
        name=tool.name,
        description=tool.description,
        args_schema=schema,
        infer_schema=False,
        response_format=tool.response_format,
        metadata={ORIGINAL: tool, **(tool.metadata or {})},
        tags=tool.tags,
    )


async def give(answer: Answer, tool: BaseTool, runtime: Runtime | None) -> Given:
    """Return a tool's value for an answer; findings of a search become events, and are cited by the same numbers."""
    text, view, findings = (answer, {}, {}) if isinstance(answer, str) else (*answer, {})[:3]
    if findings and runtime:
        call, emit = runtime.tool_call_id or "", emitter(runtime)
        sources = findings["sources"]
        await runtime.state["sources"].enter(call, {int(number): source for number, source in sources.items()})
        emit(Sources(id=call, sources=sources))
        if images := findings.get("images"):
            emit(Images(id=call, images=images))
    outcome = ToolResult(view=read_view(view)) if view else None
    return (text, outcome) if tool.response_format == "content_and_artifact" else text
