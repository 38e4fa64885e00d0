"""Mocks: results in place of those of tools, also of tools that do not exist."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ArgsSchema
from pydantic import BaseModel, ConfigDict, Field, create_model

from agents.events import Event
from agents.state import SUPERVISOR
from agents.toolkit.context import Runtime, emitter
from agents.toolkit.descriptions import Texts, with_texts
from agents.toolkit.result import Failed, Refused, jsonable, result
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import Effect, traits, traits_of
from app.assistant.recorded_tools import give, in_place_of
from app.assistant.records import Record
from app.plugins.lab.recorded_answers import answers_of
from app.yaml_file import NO_EXAMPLES, NO_TEXTS, ByLanguage, Examples, FilePart, ToolName, text_in
from prompts import FALLBACK, sentence

LONGEST_WAIT = 30.0
"""The most seconds that a mock waits before its answer."""
TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list}


def _said(key: str, /, **facts: str) -> str:
    return sentence("lab/mocks", key, FALLBACK, **facts)


class Mocked(Event, type="mocked"):
    """A mock has answered a call in place of the tool; `how` names the outcome."""

    speaker: str
    tool: str
    id: str = ""
    how: str

    def __str__(self) -> str:
        return f"{self.speaker}.{self.tool} is mocked: {self.how}"


class MockParameter(FilePart):
    """A parameter of a tool that does not exist."""

    type: Literal["string", "integer", "number", "boolean", "array"] = "string"
    description: str = ""
    required: bool = True


class MockOutcome(FilePart):
    """An answer of a mock: an object or a text, or the reason of a failure or a refusal."""

    when: Mapping[str, Any] = Field(default_factory=dict)
    """The arguments that the call must have, with these values; others do not matter."""
    object: Any = None
    text: str = ""
    view: Mapping[str, Any] = Field(default_factory=dict)
    """The tool's view beside the text, as it was recorded."""
    findings: Mapping[str, Any] = Field(default_factory=dict)
    """The recorded `sources` and `images` of a search."""
    fails: bool = False
    refuses: str = ""
    seconds: float = Field(default=0, ge=0, le=LONGEST_WAIT)
    """The delay of the answer in seconds."""

    def fits(self, args: Mapping[str, object]) -> bool:
        """Tell whether a call has the arguments of `when`."""
        return all(name in args and jsonable(args[name]) == value for name, value in self.when.items())

    @property
    def label(self) -> str:
        """The outcome in a trace."""
        text = _said("fails" if self.fails else "refuses" if self.refuses else "fixed", why=self.refuses)
        if self.when:
            text = _said("with_args", answer=text, args=json.dumps(self.when, ensure_ascii=False)[1:-1])
        return _said("late", answer=text, seconds=f"{self.seconds:g}") if self.seconds else text


class Mock(FilePart):
    """A tool with given results. The first outcome that fits a call answers it."""

    tool: ToolName
    outcomes: Annotated[tuple[MockOutcome, ...], Field(max_length=200)] = ()
    otherwise: Literal["fail", "real"] = "fail"
    """The answer to a call that fits no outcome: a failure, or that of the tool itself, if there is one."""
    speaker: str = ""
    """The speaker that gets the tool, if it has none of this name; empty: only a speaker that brings the mock."""
    description: ByLanguage = NO_TEXTS
    examples: Examples = NO_EXAMPLES
    parameters: Mapping[str, MockParameter] = Field(default_factory=dict)
    effect: Effect = "read"

    def outcome(self, args: Mapping[str, object]) -> MockOutcome | None:
        """Return the first outcome that fits a call; None if none does."""
        return next((outcome for outcome in self.outcomes if outcome.fits(args)), None)

    def how(self, args: Mapping[str, object]) -> str:
        """Return the trace's text on the answer to a call."""
        outcome = self.outcome(args)
        if outcome is None:
            return _said("none_fails" if self.otherwise == "fail" else "none_real")
        return outcome.label


def with_mocks(speakers: Speakers, mocks: Sequence[Mock]) -> Speakers:
    """Return the speakers with mocks in place of tools of these names; a mock with a speaker is added to it."""
    by_name = {mock.tool: mock for mock in mocks}

    def changed(speaker: Speaker) -> Speaker:
        own = {tool.name for tool in speaker.tools}
        tools = [mocked(tool, by_name[tool.name]) if tool.name in by_name else tool for tool in speaker.tools]
        added = [stand_in(mock) for mock in mocks if mock.speaker == speaker.name and mock.tool not in own]
        return replace(speaker, tools=[*tools, *added])

    return speakers.each(changed)


def stand_in(mock: Mock) -> BaseTool:
    """Return a tool that exists only as a mock."""
    fields: dict[str, Any] = {
        name: (TYPES[about.type], Field(description=about.description))
        if about.required
        else (TYPES[about.type] | None, Field(None, description=about.description))
        for name, about in mock.parameters.items()
    }
    tool = StructuredTool(
        name=mock.tool,
        description=text_in(mock.description, FALLBACK) or mock.tool,
        args_schema=create_model(mock.tool, **fields),
        response_format="content_and_artifact",
    )
    with_texts(tool, Texts(descriptions=mock.description, examples=mock.examples, source=f"mock {mock.tool}"))
    return mocked(traits(effect=mock.effect)(tool), mock)


def mocked(tool: BaseTool, mock: Mock) -> BaseTool:
    """Return a tool that looks the same to the model and gives the mock's answers."""

    async def answer(runtime: Runtime, **args: Any) -> Any:
        outcome = mock.outcome(args)
        if outcome is None and mock.otherwise == "real":
            return await _real_answer(tool, args, runtime)
        speaker = str(runtime.state.get("speaker", ""))
        call = {"tool": tool.name, "id": runtime.tool_call_id or "", "how": mock.how(args)}
        emitter(runtime)(Mocked(speaker=speaker, **call))
        if outcome is None or outcome.fails:
            await asyncio.sleep(outcome.seconds if outcome else 0)
            raise Failed
        await asyncio.sleep(outcome.seconds)
        if outcome.refuses:
            raise Refused(outcome.refuses)
        if outcome.object is None:
            return await give((outcome.text or "ok", outcome.view, outcome.findings), tool, runtime)
        text, artifact = result(outcome.object)
        return (text, artifact) if tool.response_format == "content_and_artifact" else text

    return in_place_of(tool, answer, _with_runtime(tool))


def _with_runtime(tool: BaseTool) -> ArgsSchema | None:
    """Return the schema of a tool's arguments with the runtime: a tool without arguments would not get it."""
    schema = tool.args_schema
    if not isinstance(schema, type) or not issubclass(schema, BaseModel) or "runtime" in schema.model_fields:
        return schema
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in schema.model_fields.items()}
    config = ConfigDict(arbitrary_types_allowed=True)
    return create_model(schema.__name__, __config__=config, runtime=(Runtime, ...), **fields)


async def _real_answer(tool: BaseTool, given: Mapping[str, Any], runtime: Runtime) -> Any:
    """Run the tool itself."""
    if not isinstance(tool, StructuredTool) or not (tool.coroutine or tool.func):
        raise Failed
    wants_runtime = "runtime" in (tool.args if isinstance(tool.args_schema, dict) else _fields(tool))
    args = {**given, **({"runtime": runtime} if wants_runtime else {})}
    if tool.coroutine:
        return await tool.coroutine(**args)
    assert tool.func
    return await asyncio.to_thread(tool.func, **args)


def _fields(tool: StructuredTool) -> Sequence[str]:
    return [*getattr(tool.args_schema, "model_fields", ())]


def recorded_mocks(records: Sequence[Record], speakers: Speakers, *, volatile_alone: bool = True) -> list[Mock]:
    """Return mocks with the answers of tools in a conversation, by their arguments.

    `volatile_alone` limits them to tools that tell of the world outside, and to tools that do not exist here.
    """
    here = {tool.name: tool for speaker in speakers for tool in speaker.tools}
    outcomes: dict[tuple[str, str], dict[str, MockOutcome]] = {}
    holders = {SUPERVISOR, *speakers.dialogs}
    for step, answer in (pair for record in records for pair in answers_of(record.steps)):
        tool = here.get(step.tool)
        if step.speaker not in holders or (tool and volatile_alone and not traits_of(tool).volatile):
            continue
        view = {} if isinstance(answer, str) else answer[1]
        outcome = MockOutcome(when=step.args, text=step.object, view=view, findings=step.findings, fails=not step.ok)
        key = json.dumps(step.args, sort_keys=True, ensure_ascii=False)
        outcomes.setdefault((step.speaker, step.tool), {}).setdefault(key, outcome)
    return [
        Mock(
            tool=tool,
            speaker=speaker,
            outcomes=tuple(by_arguments.values()),
            description={FALLBACK: f"As it was recorded: {tool}"},
            parameters={
                name: MockParameter(required=False) for outcome in by_arguments.values() for name in outcome.when
            },
        )
        for (speaker, tool), by_arguments in outcomes.items()
    ]
