"""Conversations as test cases: the user's messages, and the expectations of each turn."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from agents.events import CUT, Error, ToolEnd
from agents.language.text.clean import clean
from agents.state import SUPERVISOR
from agents.toolkit.result import jsonable
from agents.toolkit.speaker import Speakers
from app.assistant.records import Record
from app.plugins.lab.initial_state import Beginning
from app.plugins.lab.mocks import Mock, recorded_mocks
from app.plugins.lab.played_turn import DEVICE, PlayedTurn
from app.plugins.lab.reasons import problem_text
from app.plugins.lab.refusal import LabRefusal
from app.yaml_file import FilePart, MisfitValue


class ExpectedCall(FilePart):
    """A call of a tool."""

    tool: str
    args: Mapping[str, Any] = Field(default_factory=dict)
    """The arguments that the call must have, with these values; others do not matter."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, call: object) -> object:
        """Take a call as text, too: the tool and, if they matter, its arguments in JSON."""
        if not isinstance(call, str):
            return call
        tool, _, args = call.partition(" ")
        try:
            return {"tool": tool, "args": json.loads(args or "{}")}
        except ValueError:
            raise LabRefusal("expected_call") from None

    @property
    def text(self) -> str:
        """The call as text."""
        return f"{self.tool} {json.dumps(dict(self.args), ensure_ascii=False)}" if self.args else self.tool

    def is_made(self, calls: Sequence[ToolEnd]) -> bool:
        """Tell whether one of the calls is the expected one, and has succeeded."""
        wanted = [*self.args.items()]
        return any(
            call.tool == self.tool and call.ok and all(jsonable(call.args.get(name)) == value for name, value in wanted)
            for call in calls
        )

    def __str__(self) -> str:
        return f"{self.tool}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


class Difference(FilePart):
    """A problem of a turn, with the expected and the actual text if there are any."""

    problem: str
    expected: str = ""
    got: str = ""


class Expected(FilePart):
    """The expectations of a turn. Every turn must also end with an answer or a question, and without an error."""

    calls: tuple[ExpectedCall, ...] = ()
    never_calls: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    """Pieces of the answer; capitals do not matter."""
    never_says: tuple[str, ...] = ()
    holder: str = ""
    """The active agent after the turn: `supervisor` or a dialog."""
    most_model_calls: int | None = Field(default=None, ge=0)
    failed_tools: bool = False
    """Whether a call of a tool may fail."""
    trace: str = ""
    """The whole trace of the turn, line by line."""

    def problems(self, turn: PlayedTurn) -> list[str]:
        """Return the problems of a turn, a line each."""
        return [difference.problem for difference in self.differences(turn)]

    def differences(self, turn: PlayedTurn) -> list[Difference]:
        """Return the problems of a turn, with the expected and the actual texts."""
        faults = (Difference(problem=fault) for fault in _faults(turn, may_fail=self.failed_tools))
        return [*faults, *self._differing(turn)]

    def _differing(self, turn: PlayedTurn) -> Iterator[Difference]:
        calls = [event for event in turn.events if isinstance(event, ToolEnd)]
        answer, made = turn.answer.casefold(), "\n".join(map(_call_line, calls))
        for call in (call for call in self.calls if not call.is_made(calls)):
            yield Difference(problem=problem_text("not_called", call=call), expected=str(call), got=made)
        called = {call.tool for call in calls}
        yield from (
            Difference(problem=problem_text("called", tool=tool), got=made)
            for tool in self.never_calls
            if tool in called
        )
        for text in (text for text in self.says if text.casefold() not in answer):
            yield Difference(problem=problem_text("lacks", text=repr(text)), expected=text, got=turn.answer)
        for text in (text for text in self.never_says if text.casefold() in answer):
            yield Difference(problem=problem_text("has", text=repr(text)), got=turn.answer)
        if self.holder and turn.holder != self.holder:
            problem = problem_text("holder", got=turn.holder, expected=self.holder)
            yield Difference(problem=problem, expected=self.holder, got=turn.holder)
        if self.most_model_calls is not None and turn.calls > self.most_model_calls:
            yield Difference(problem=problem_text("most_calls", count=turn.calls, most=self.most_model_calls))
        if self.trace and self.trace.strip() != (got := turn.comparable.strip()):
            yield Difference(problem=problem_text("trace"), expected=self.trace.strip(), got=got)


def _call_line(call: ToolEnd) -> str:
    line = str(ExpectedCall(tool=call.tool, args=jsonable(dict(call.args))))
    return line if call.ok else f"{line} failed"


def _faults(turn: PlayedTurn, *, may_fail: bool) -> Iterator[str]:
    """Yield the faults of a turn that no case may have."""
    for event in turn.events:
        if isinstance(event, Error) and (event.code in CUT or event.text):
            yield problem_text("error", code=event.code)
        if isinstance(event, ToolEnd) and not event.ok and not may_fail:
            yield problem_text("failed", tool=event.tool, why=clean(event.object)[:200])
    if not turn.answer.strip() and not turn.waits:
        yield problem_text("no_answer")


class CaseTurn(FilePart):
    """One turn of a case."""

    user: str | None = None
    expect: Expected = Expected()


class Case(FilePart):
    """A conversation with its expectations."""

    about: str = ""
    """The subject of the case, or its origin."""
    lang: str = ""
    user: str = ""
    """A user whom the tools know; such a case is played on a stage of its own. Empty: a new user."""
    device: str = DEVICE
    begins: Beginning | None = None
    """The turn of a real thread with which the case begins; None: it begins with nothing."""
    turns: tuple[CaseTurn, ...] = Field(min_length=1, max_length=500)
    mocks: tuple[Mock, ...] = ()
    criterion: str = ""
    """The criteria of a good conversation, one a line, for the model or the person that judges it."""

    @property
    def criteria(self) -> list[str]:
        """The case's own criteria, each for one question to a judging model."""
        return [line.strip() for line in self.criterion.splitlines() if line.strip()]


def case_of(records: Sequence[Record], speakers: Speakers, about: str = "") -> Case:
    """Return a conversation as a case that expects its traces; tools that tell of the world outside are mocked.

    Raises UsageError: nothing of it was recorded.
    """
    played = [record for record in records if record.is_playable]
    if not played:
        raise LabRefusal("thread_unplayable")
    turns = [
        CaseTurn(user=record.text, expect=Expected(trace=record.trace, failed_tools=" ! " in record.trace))
        for record in played
    ]
    mocks = tuple(recorded_mocks(played, speakers))
    return Case(about=about, lang=played[0].lang, turns=tuple(turns), mocks=mocks)


def check_names(rows: str, expected: Iterable[Expected], speakers: Speakers, mocks: Iterable[Mock]) -> None:
    """Raise UsageError if an expectation names a tool or an agent that does not exist: no play could meet it.

    `rows` is the field of the file in which the expectations stand.
    """
    tools = {tool.name for speaker in speakers for tool in speaker.tools} | {mock.tool for mock in mocks}
    agents = {"", SUPERVISOR, *speakers.dialogs}
    for place, expect in enumerate(expected):
        named = [("calls", call.tool, tools) for call in expect.calls]
        named += [("never_calls", tool, tools) for tool in expect.never_calls]
        for field, name, there_are in [*named, ("holder", expect.holder, agents)]:
            if name not in there_are:
                refusal = LabRefusal("unknown_name", name=name[:80])
                raise MisfitValue(str(refusal), (rows, place, "expect", field), refusal.told)
