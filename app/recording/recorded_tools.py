"""Tools that give recorded answers, for a conversation that is played again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from agents.events import Images, Sources
from agents.events.views import read_view
from agents.toolkit.bound_tools import assistant_help
from agents.toolkit.context import emitter
from agents.toolkit.result import ToolResult
from agents.toolkit.runtime import Runtime
from agents.toolkit.speaker import Speaker, Speakers

Answer = str | tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], Mapping[str, Any]]
"""What a tool answered, with the view that it gave and the `sources` and `images` that it found, as plain data."""


def with_answers(speakers: Speakers, answers: Mapping[str, Sequence[Answer]]) -> Speakers:
    """Return the speakers with these answers, in their order, in place of what the tools of these names do."""
    stand_ins: dict[str, BaseTool] = {}

    def changed(speaker: Speaker) -> Speaker:
        for tool in speaker.tools:
            if tool.name in answers and tool.name not in stand_ins:
                stand_ins[tool.name] = recorded(tool, answers[tool.name])
        return replace(speaker, tools=[stand_ins.get(tool.name, tool) for tool in speaker.tools])

    dialogs = {name: changed(dialog) for name, dialog in speakers.dialogs.items()}
    help = assistant_help.name
    help_tool = recorded(assistant_help, answers[help]) if help in answers else speakers.help
    return Speakers(changed(speakers.supervisor), dialogs, help_tool)


def with_strangers(speakers: Speakers, strangers: Mapping[str, Mapping[str, Sequence[str]]]) -> Speakers:
    """Return the speakers with tools that are not here (of a service, of a server): by speaker, name and parameters.

    They only have the answers that `with_answers` gives them.
    """

    def changed(speaker: Speaker) -> Speaker:
        outside = strangers.get(speaker.name, {})
        return replace(speaker, tools=[*speaker.tools, *(_stranger(name, names) for name, names in outside.items())])

    dialogs = {name: changed(dialog) for name, dialog in speakers.dialogs.items()}
    return replace(speakers, supervisor=changed(speakers.supervisor), dialogs=dialogs)


def _stranger(name: str, parameters: Sequence[str]) -> BaseTool:
    schema = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
    tool = StructuredTool(name=name, description=name, args_schema=schema, coroutine=_nothing)
    return recorded(tool, [])


async def _nothing() -> str:
    return ""


def recorded(tool: BaseTool, answers: Sequence[Answer]) -> BaseTool:
    """Return a tool that looks the same to the model and gives these answers, one a call; then it raises."""
    left = list(answers)

    async def answer(**given: Any) -> str | tuple[str, ToolResult | None]:
        if not left:
            raise LookupError(f"{tool.name} was called once more than it was when this was recorded")
        recording = left.pop(0)
        text, view, findings = (recording, {}, {}) if isinstance(recording, str) else (*recording, {})[:3]
        if findings:
            await _tell(findings, given["runtime"])
        outcome = ToolResult(view=read_view(view)) if view else None
        return (text, outcome) if tool.response_format == "content_and_artifact" else text

    return StructuredTool.from_function(
        coroutine=answer,
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema,
        infer_schema=False,
        response_format=tool.response_format,
        metadata=tool.metadata,
        tags=tool.tags,
    )


async def _tell(findings: Mapping[str, Any], runtime: Runtime) -> None:
    """Tell what a search found, and let the answer cite it under the same numbers."""
    call, emit = runtime.tool_call_id or "", emitter(runtime)
    await runtime.state["sources"].enter(call, {int(number): source for number, source in findings["sources"].items()})
    emit(Sources(id=call, sources=findings["sources"]))
    if images := findings.get("images"):
        emit(Images(id=call, images=images))
