"""Outcomes of replayed tasks, compared with the record."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.events import ToolEnd
from agents.language.identifiers import WORD, Aliases, spelled
from agents.toolkit.result import schema_of
from agents.toolkit.traits import traits_of
from app.testing.script import Asked
from benchmarks.aliases import identifiers
from benchmarks.report import Row
from tests.dialogs.orders.recorded.desk import TOOLS
from tests.dialogs.orders.recorded.script import Purpose
from tests.dialogs.orders.recorded.tasks import Step, Task


@dataclass
class Played:
    """The outcome of a task: its steps with the answers to each, the extra reads, the state of the shop."""

    task: Task
    marked: bool
    answers: dict[int, list[ToolEnd]] = field(default_factory=dict)
    reads: list[ToolEnd] = field(default_factory=list)
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    spelled: int = 0
    """Identifiers that the model gave in the user's own words."""
    forgotten: int = 0
    """The number of reads of values that had left the prompt."""
    digest: str = ""
    written: list[str] = field(default_factory=list)
    """Which orders and users were written about."""
    prompts: int = 0
    exposed: int = 0
    """Prompts of any role in which an identifier stands that the user did not spell out."""

    @property
    def outcomes(self) -> list[tuple[Step, ToolEnd]]:
        """Return every answer with its step."""
        return [(self.task.steps[place], end) for place, ends in self.answers.items() for end in ends]

    def is_equal(self, step: Step, end: ToolEnd) -> bool:
        """Tell whether an answer is what was recorded."""
        if step.output is None or not end.ok:
            return step.output is None and not end.ok
        schema = schema_of(traits_of(TOOLS[step.tool]).result)
        record = _read(end.object, schema)
        record = Aliases(self.known).restore(record, schema) if self.marked else record
        return bool((step.slipped(record) if step.slips else record) == step.output)

    def leaks(self, step: Step, end: ToolEnd) -> bool:
        """Tell whether an answer shows an identifier that its tool marks and that people have not read as a word."""
        schema, hidden = schema_of(traits_of(TOOLS[step.tool]).result), self._hidden()
        return self.marked and any(id in hidden and id in end.object for _, id in identifiers(step.output, schema))

    def _hidden(self) -> set[str]:
        """Return the identifiers that have a number, and that did not become words for the model."""
        ids = {id for numbers in self.known.values() for id in numbers.values()}
        return ids - {id for numbers in self.known.values() for key, id in numbers.items() if key.startswith(WORD)}

    def read(self, asked: Sequence[Asked]) -> None:
        """Count the prompts of the task, and those that show an identifier which has a number."""
        # A plain word or a small number is not told from what people say.
        hidden = {id for id in self._hidden() if id in spelled([id])} - spelled(self.task.texts)
        pattern = re.compile("|".join(rf"(?<!\w){re.escape(id)}(?!\w)" for id in hidden) or "(?!)")
        self.prompts = len(asked)
        self.exposed = sum(bool(pattern.search(call.prefix)) for call in asked)

    def note(self, end: ToolEnd, purpose: Purpose) -> None:
        """Put an answer where it belongs."""
        (self.reads if purpose.sought else self.answers.setdefault(purpose.step, [])).append(end)


def row(name: str, all_played: list[Played]) -> Row:
    """Return the outcome of all tasks."""
    outcomes = [(played, step, end) for played in all_played for step, end in played.outcomes]
    return {
        "what": name,
        "tasks": len(all_played),
        "calls": sum(step.times for played in all_played for step in played.task.steps),
        "spelled out": sum(played.spelled for played in all_played),
        "reads added": sum(len(played.reads) for played in all_played),
        "of these again": sum(played.forgotten for played in all_played),
        "errors": sum(step.output is None for _, step, _ in outcomes),
        "outcomes equal": sum(played.is_equal(step, end) for played, step, end in outcomes),
        "refused": sum(step.output is not None and not end.ok for _, step, end in outcomes),
        "shops equal": sum(played.digest == played.task.digest for played in all_played),
        "slips": sum(any(step.slips for step in played.task.steps) for played in all_played),
        "writes": sum(len(played.written) for played in all_played),
        "prompts": sum(played.prompts for played in all_played),
        "of these with an identifier": sum(played.exposed for played in all_played),
        "leaks": sum(played.leaks(step, end) for played, step, end in outcomes),
    }


def _read(text: str, schema: Mapping[str, Any]) -> Any:
    """Return a model's reading of an answer; a sentence stays a sentence."""
    try:
        return json.loads(text) if schema else text
    except ValueError:
        return text
