"""The recorded tasks of a shop, as steps of a conversation."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.toolkit.descriptions import parameters
from agents.toolkit.result import schema_of
from agents.toolkit.traits import traits_of
from benchmarks.aliases import identifiers
from tests.dialogs.orders.files import Record
from tests.dialogs.orders.recorded.desk import TOOLS

CALLS = 3
"""Calls of a turn; one that writes ends it before."""
Repeat = Literal["", "reply", "turn"]
"""Whether each write is asked for once, twice in one reply, or again in the next turn."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A recorded call: what is called with which identifiers, and what came of it; None if that was an error."""

    tool: str
    args: Mapping[str, Any]
    output: Any
    ends: bool = False
    """Whether the model then talks to the user."""
    times: int = 1
    """The number of calls in the reply."""

    @property
    def writes(self) -> bool:
        """Whether it is the call of a tool that changes the shop."""
        return traits_of(TOOLS[self.tool]).transaction

    @property
    def slips(self) -> bool:
        """Whether the recorded shop made a mistake: of several changed items each became like the last."""
        changes_several = self.tool == "modify_pending_order_items" and len(self.args["item_ids"]) > 1
        return changes_several and self.output is not None and self.slipped(self.output) == self.output

    def slipped(self, order: Record) -> Record:
        """Return an order with that mistake made."""
        *others, last = self.args["new_item_ids"]
        right = next(item for item in order["items"] if item["item_id"] == last)
        wrong = {name: right[name] for name in ("price", "options")}
        return {**order, "items": [{**item, **wrong} if item["item_id"] in others else item for item in order["items"]]}


@dataclass(frozen=True)
class Task:
    """A user's wish, the calls that served it, and the state of the shop afterwards."""

    id: str
    wish: str
    steps: Sequence[Step]
    digest: str

    spells: bool = False
    """Whether the user spells out what no recorded answer has shown before it is needed."""

    @property
    def texts(self) -> list[str]:
        """Return the user's messages: the wish, then the words to go on."""
        turns = self._unseen()
        texts = [self.wish, *["Yes, please go on with my request."] * (len(turns) - 1)]
        if not self.spells:
            return texts
        return [
            f"{text}\nIt is about {', '.join(ids)}." if ids else text for text, ids in zip(texts, turns, strict=True)
        ]

    def _unseen(self) -> list[list[str]]:
        """Return, by turn, the identifiers that its calls need and nothing has shown."""
        seen: set[tuple[str, str]] = set()
        turns: list[list[str]] = [[]]
        for step in self.steps:
            turns[-1] += [id for kind, id in _named(step) if (kind, id) not in seen and id not in turns[-1]]
            seen.update(_named(step), identifiers(step.output, schema_of(traits_of(TOOLS[step.tool]).result)))
            turns += [[]] if step.ends else []
        return turns[:-1] if len(turns) > 1 else turns


def tasks(path: Path, repeat: Repeat = "", *, spells: bool = False) -> list[Task]:
    """Read the tasks of a file, one a line."""
    return [replace(_task(json.loads(line), repeat), spells=spells) for line in path.read_text("utf-8").splitlines()]


def _named(step: Step) -> Iterator[tuple[str, str]]:
    schemas = parameters(TOOLS[step.tool]).get("properties", {})
    return (named for name, value in step.args.items() for named in identifiers(value, schemas[name]))


def _task(record: Mapping[str, Any], repeat: Repeat) -> Task:
    scenario = record["scenario"]
    wish = "\n".join(filter(None, [scenario["reason_for_call"], scenario["known_info"]]))
    steps = [
        Step(tool=action["name"], args=action["arguments"], output=action.get("output")) for action in record["actions"]
    ]
    return Task(str(record["id"]), wish, list(_in_turns(steps, repeat)), record["db_sha256"])


def _in_turns(steps: Sequence[Step], repeat: Repeat) -> Iterator[Step]:
    calls = 0
    for place, step in enumerate(steps, 1):
        calls += 1
        ends = step.writes or calls == CALLS or place == len(steps)
        calls = 0 if ends else calls
        twice = repeat == "reply" and step.writes
        yield replace(step, ends=ends, times=2 if twice else 1)
        if repeat == "turn" and step.writes:
            yield replace(step, ends=True)
