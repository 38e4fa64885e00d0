"""A model that serves a shop's users by the recorded calls. All that it knows of numbers it reads in its prompt.

Where a tool wants a number in place of an identifier and the prompt does not have it, since the read that would have
shown it was not recorded or is too long ago, the model looks it up first, as any model would have to.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agents.language.identifiers import spelled
from agents.models import Model, Models
from agents.state import SUPERVISOR
from agents.toolkit.descriptions import parameters
from agents.toolkit.result import schema_of
from agents.toolkit.traits import traits_of
from app.testing.script import Call, Line, Script, ScriptModel
from benchmarks.aliases import identifiers
from tests.dialogs.orders.recorded.desk import DESK, ENTRY, TOOLS
from tests.dialogs.orders.recorded.reads import Named, Reads
from tests.dialogs.orders.recorded.tasks import Step, Task


@dataclass(frozen=True)
class Purpose:
    """The purpose of a reply's calls, from its id: a step, or the lookup of an identifier that the step needs."""

    step: int
    sought: Named | None = None

    def id(self) -> str:
        """Return an id for a reply; no two are the same."""
        return json.dumps([self.step, self.sought, uuid.uuid4().hex])

    @classmethod
    def of(cls, id: str | None) -> "Purpose":
        """Return the purpose of the reply with this id."""
        step, sought, _ = json.loads(id or "")
        return cls(step, (sought[0], sought[1]) if sought else None)


@dataclass(frozen=True)
class Serving(Call):
    """A call with what it is for."""

    purpose: Purpose = Purpose(0)


@dataclass(frozen=True)
class Unread:
    """Identifiers that the model writes without a number: in the user's words, or tried to look up in vain."""

    words: frozenset[str]
    tried: set[Named]

    def is_given(self, named: Named) -> bool:
        """Tell whether an identifier is one of these."""
        return named[1] in self.words or named in self.tried


@dataclass(repr=False)
class Clerk(Script):
    """Speak every role's part in a task; the observers find that the user stays with it."""

    task: Task = field(default_factory=lambda: Task("", "", [], ""))
    reads: Reads = field(default_factory=lambda: Reads({}))
    marked: bool = True
    purposes: dict[str, Purpose] = field(default_factory=dict)
    """Of every call whose answer was read, by its id."""
    shown: set[Named] = field(default_factory=set)
    """The things whose numbers the model has ever read."""
    spelled: int = 0
    """Identifiers in calls that the model has from the user's own words."""
    forgotten: int = 0
    """Reads for what it has read before, in an answer that is not in the prompt any more."""

    def __repr__(self) -> str:
        # LangChain spells a model out before it is asked, with all its former prompts.
        return "Clerk()"

    def models(self, roles: Sequence[str]) -> Models:
        """Return models that speak this script."""
        parts = {role: Model(f"script:{role}", ClerkModel(role=role, script=self)) for role in roles}
        return Models(default=parts[roles[0]], roles=parts)

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the role's reply."""
        if role == SUPERVISOR:
            return Call(ENTRY, {"brief": "The user needs help with orders."})
        return self._served(messages) if role == DESK else "stay"

    def _served(self, messages: Sequence[BaseMessage]) -> Line:
        answers = [message for message in messages if isinstance(message, ToolMessage) and message.name in TOOLS]
        for message in messages:
            if isinstance(message, AIMessage) and message.tool_calls:
                self.purposes |= {str(call["id"]): Purpose.of(message.id) for call in message.tool_calls}
        done = [self.purposes[answer.tool_call_id] for answer in answers]
        place = done[-1].step + (done[-1].sought is None) if done else 0
        *_, last = (message for message in messages if message.type != "system")
        is_over = place == len(self.task.steps)
        if is_over or (last in answers and done[-1].sought is None and self.task.steps[place - 1].ends):
            return "That is all." if is_over else "Shall I go on?"
        step = self.task.steps[place]
        words = spelled(message.text for message in messages if message.type == "human")
        tried = {purpose.sought for purpose in done if purpose.sought and purpose.step == place}
        return self._called(step, place, self._numbers(answers), Unread(words, tried))

    def _called(self, step: Step, place: int, numbers: Mapping[Named, int | str], unread: Unread) -> Line:
        call = Serving(step.tool, step.args, Purpose(place))
        while missing := [named for named in self._named(call) if named not in numbers and not unread.is_given(named)]:
            read = self.reads.showing(missing[0])
            if read is None:
                # There is no such thing: the model has made it up.
                unread.tried.add(missing[0])
            else:
                call = Serving(read.tool, read.args, Purpose(place, missing[0]))
        self.spelled += sum(named not in numbers and named[1] in unread.words for named in self._named(call))
        self.forgotten += call.purpose.sought in self.shown
        times = step.times if call.purpose.sought is None else 1
        return [Serving(call.tool, self._written(call, numbers), call.purpose)] * times

    def _named(self, call: Call) -> Iterator[Named]:
        schemas = parameters(TOOLS[call.tool]).get("properties", {})
        if self.marked:
            yield from (named for name, value in call.args.items() for named in identifiers(value, schemas[name]))

    def _written(self, call: Call, numbers: Mapping[Named, int | str]) -> dict[str, Any]:
        schemas = parameters(TOOLS[call.tool]).get("properties", {})
        return {name: _written(value, schemas[name], numbers) for name, value in call.args.items()}

    def _numbers(self, answers: Sequence[ToolMessage]) -> dict[Named, int | str]:
        """Return the numbers that answers show, or the short identifiers, for what the model knows to be meant."""
        shown: dict[Named, int | str] = {}
        for answer in answers:
            purpose, tool = self.purposes[answer.tool_call_id], TOOLS[cast(str, answer.name)]
            schema = schema_of(traits_of(tool).result)
            if not schema or not self.marked or answer.status == "error":
                continue
            read = purpose.sought and self.reads.showing(purpose.sought)
            meant = read.output if read else self.task.steps[purpose.step].output
            pairs = zip(
                identifiers(meant, schema), identifiers(json.loads(answer.text.partition("\n")[0]), schema), strict=True
            )
            shown |= {named: number if number == named[1] else int(number) for named, (_, number) in pairs}
        self.shown |= shown.keys()
        return shown


class ClerkModel(ScriptModel):
    """A role of a clerk; its replies tell by their ids what their calls are for."""

    def message(self, parts: Sequence[str | Call]) -> AIMessage:
        """Return a line as a message."""
        id = next((part.purpose.id() for part in parts if isinstance(part, Serving)), None)
        return super().message(parts).model_copy(update={"id": id})


def _written(value: Any, schema: Mapping[str, Any], numbers: Mapping[Named, int | str]) -> Any:
    if isinstance(value, list):
        return [_written(item, schema["items"], numbers) for item in value]
    named = next(identifiers(value, schema), None)
    return numbers.get(named, value) if named else value
