"""Conversations as test cases: what is said, and what is expected of each turn."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from agents.errors import UsageError
from agents.events import CUT, Error, ToolEnd
from agents.language.text.clean import clean
from agents.toolkit.result import jsonable
from agents.toolkit.speaker import Speakers
from app.assistant.recording import Record
from app.mocks import Mock, recorded_mocks
from app.plugins.lab.beginning import Beginning
from app.plugins.lab.played_turn import DEVICE, PlayedTurn
from app.yaml_file import FilePart


class ExpectedCall(FilePart):
    """A call of a tool."""

    tool: str
    args: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments that it must have, with these values; others do not matter."""

    def is_made(self, calls: Sequence[ToolEnd]) -> bool:
        """Tell whether one of the calls is this one, and succeeded."""
        wanted = [*self.args.items()]
        return any(
            call.tool == self.tool and call.ok and all(jsonable(call.args.get(name)) == value for name, value in wanted)
            for call in calls
        )

    def __str__(self) -> str:
        return f"{self.tool}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


class Difference(FilePart):
    """What was expected of a turn, beside what came; without both there is only the problem."""

    problem: str
    expected: str = ""
    got: str = ""


class Expected(FilePart):
    """What is expected of a turn. Whatever is expected, it ends with an answer or a question, and without an error."""

    calls: tuple[ExpectedCall, ...] = ()
    never_calls: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    """Pieces of the answer; capitals do not matter."""
    never_says: tuple[str, ...] = ()
    holder: str = ""
    """Who holds the conversation afterwards: `supervisor` or a dialog."""
    most_model_calls: int | None = None
    failed_tools: bool = False
    """Whether a call of a tool may fail."""
    trace: str = ""
    """The whole trace of the turn, line by line."""

    def problems(self, turn: PlayedTurn) -> list[str]:
        """Return what is wrong with a turn, a line each."""
        return [difference.problem for difference in self.differences(turn)]

    def differences(self, turn: PlayedTurn) -> list[Difference]:
        """Return what is wrong with a turn, with what was expected."""
        faults = (Difference(problem=fault) for fault in _faults(turn, may_fail=self.failed_tools))
        return [*faults, *self._differing(turn)]

    def _differing(self, turn: PlayedTurn) -> Iterator[Difference]:
        calls = [event for event in turn.events if isinstance(event, ToolEnd)]
        answer, made = turn.answer.casefold(), "\n".join(map(_call_line, calls))
        for call in (call for call in self.calls if not call.is_made(calls)):
            yield Difference(problem=f"{call} was not called", expected=str(call), got=made)
        called = {call.tool for call in calls}
        yield from (Difference(problem=f"{tool} was called", got=made) for tool in self.never_calls if tool in called)
        for text in (text for text in self.says if text.casefold() not in answer):
            yield Difference(problem=f"the answer lacks {text!r}", expected=text, got=turn.answer)
        for text in (text for text in self.never_says if text.casefold() in answer):
            yield Difference(problem=f"the answer has {text!r}", got=turn.answer)
        if self.holder and turn.holder != self.holder:
            problem = f"{turn.holder} holds the conversation, not {self.holder}"
            yield Difference(problem=problem, expected=self.holder, got=turn.holder)
        if self.most_model_calls is not None and turn.calls > self.most_model_calls:
            yield Difference(problem=f"{turn.calls} calls of models, {self.most_model_calls} are the most")
        if self.trace and self.trace.strip() != (got := turn.comparable.strip()):
            yield Difference(problem="the trace is another one", expected=self.trace.strip(), got=got)


def _call_line(call: ToolEnd) -> str:
    line = str(ExpectedCall(tool=call.tool, args=jsonable(dict(call.args))))
    return line if call.ok else f"{line} failed"


def _faults(turn: PlayedTurn, *, may_fail: bool) -> Iterator[str]:
    """Yield what is wrong with a turn whatever is expected."""
    for event in turn.events:
        if isinstance(event, Error) and (event.code in CUT or event.text):
            yield f"error {event.code}"
        if isinstance(event, ToolEnd) and not event.ok and not may_fail:
            yield f"{event.tool} failed: {clean(event.object)[:200]}"
    if not turn.answer.strip() and not turn.waits:
        yield "there is no answer"


class CaseTurn(FilePart):
    """One turn of a case."""

    user: str | None
    expect: Expected = Expected()


class Case(FilePart):
    """A conversation with what is expected of it."""

    about: str = ""
    """What it is about, or how it was found."""
    lang: str = ""
    user: str = ""
    """Who talks, where the tools know them; empty: somebody new. Such a case is played on a stage of its own."""
    device: str = DEVICE
    begins: Beginning | None = None
    """The turn of a real thread with which it begins; without one with nothing."""
    turns: tuple[CaseTurn, ...] = Field(min_length=1, max_length=500)
    mocks: tuple[Mock, ...] = ()
    criterion: str = ""
    """What makes the conversation a good one, for a model or a person that judges it; each line is a criterion."""

    @property
    def criteria(self) -> list[str]:
        """What a model judges by, one at a time."""
        return [line.strip() for line in self.criterion.splitlines() if line.strip()] or [self.about or "-"]


def case_of(records: Sequence[Record], speakers: Speakers, about: str = "") -> Case:
    """Return a conversation as a case whose traces are expected; what tells of the world outside is mocked.

    Raises UsageError: nothing of it was recorded.
    """
    played = [record for record in records if record.is_playable]
    if not played:
        raise UsageError("nothing of this thread was recorded that can be played again")
    turns = [
        CaseTurn(user=record.text, expect=Expected(trace=record.trace, failed_tools=" ! " in record.trace))
        for record in played
    ]
    mocks = tuple(recorded_mocks(played, speakers))
    return Case(about=about, lang=played[0].lang, turns=tuple(turns), mocks=mocks)
