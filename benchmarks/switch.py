"""Measure the gate on labelled turns: how many ask no observer, and how many changes of subject reach one.

`python -m benchmarks.switch --data DIR`: DIR holds `star_switch`, `sgd_switch` and `massive_switch`; their `dev.jsonl`
files are played through the free rules, the gate and the observers' own tests, as `route` does it. "free" is the share
of turns that ask no observer at all, "recall" the share of the true switches that the observer of switches is asked
about, or which take leave of the dialog and so end it. "gated" is the share of turns that this observer is spared;
"finished" asks beside it where a user may take leave, and with `--complete` where the last answer asks nothing, as in a
dialog whose form is complete; "several" is the number of turns that ask both. "ms" is the median CPU time of rules,
gate and tests for a message. With `--json`, a line for each set and language.
"""

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import observers
from agents.conversation.gate import Gate, trained_gate
from agents.conversation.scene import Scene
from agents.conversation.switch import fits, is_leave
from agents.nodes.route import Watchers, called
from app.testing.untrained_gate import untrained_gate
from benchmarks.report import Row as Line
from benchmarks.report import arguments, show
from benchmarks.switch_data import SETS, Row, rows
from prompts import languages

WATCHING = ("supervisor", "finished")
"""The default observers of a dialog."""
OF_SWITCHES = "supervisor"
UNTOLD = ("gated", "several")
"""Columns that `--json` leaves out."""
GATES: Mapping[str, Gate] = {"trained": trained_gate(), "untrained": untrained_gate}


@dataclass(frozen=True)
class Decision:
    """The decision about one turn."""

    asked: Sequence[str]
    is_left: bool
    """Whether the user takes leave of the dialog, which ends it without an observer."""
    leaves: bool
    ms: float

    @property
    def reaches(self) -> bool:
        """Tell whether the turn would notice a change of subject."""
        return self.is_left or OF_SWITCHES in self.asked


def decide(gate: Gate, watchers: Watchers, row: Row) -> Decision:
    """Return the decision about a turn: its observers and its farewell."""
    begun = time.thread_time()
    is_left = is_leave(row.scene, halts=False)
    asked = [] if is_left else observers_of(gate, watchers, row.scene)
    return Decision(asked, is_left, row.leaves, (time.thread_time() - begun) * 1000)


def observers_of(gate: Gate, watchers: Watchers, scene: Scene) -> list[str]:
    """Return the observers that a message calls."""
    return [] if fits(scene, None) else called(WATCHING, watchers, gate(scene), scene)


def measure(data: Path, gate: Gate, part: str, *, is_complete: bool = False) -> list[Line]:
    """Return a row for each set and language; with `is_complete`, each dialog has a complete form."""
    watchers, lines = watching(), []
    for name in SETS:
        decisions: defaultdict[str, list[Decision]] = defaultdict(list)
        for row in rows(data, name, part):
            row = replace(row, scene=replace(row.scene, form={"known": True})) if is_complete else row
            decisions[row.scene.lang].append(decide(gate, watchers, row))
        lines += [summed(name, lang, made) for lang, made in decisions.items()]
    return lines


def watching() -> Watchers:
    """Return the observers that look at a message before the answer, with their own tests."""
    every_observer = observers.discover(languages())
    return {name: observer.when for name, observer in every_observer.items() if observer.pre_check}


def summed(name: str, lang: str, made: Sequence[Decision]) -> Line:
    """Return the row of a set and language."""
    switches = [decision for decision in made if decision.leaves]
    return {
        "set": name.removesuffix("_switch"),
        "lang": lang,
        "turns": len(made),
        "switches": len(switches),
        "free": sum(not decision.asked for decision in made) / len(made),
        "recall": sum(decision.reaches for decision in switches) / len(switches),
        "gated": sum(OF_SWITCHES not in decision.asked for decision in made) / len(made),
        "ms": statistics.median(decision.ms for decision in made),
        "several": sum(len(decision.asked) > 1 for decision in made),
    }


def main() -> None:
    """Measure one gate on one part of the sets."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", default="dev", help="the files to play: dev (the default), train")
    parser.add_argument("--gate", choices=GATES, default="trained")
    parser.add_argument("--complete", action="store_true", help="as if each dialog had a complete form")
    chosen = parser.parse_args()
    lines = measure(chosen.data, GATES[chosen.gate], chosen.part, is_complete=chosen.complete)
    if not chosen.json:
        show(lines, as_json=False)
        return
    for line in lines:
        print(json.dumps({name: value for name, value in line.items() if name not in UNTOLD}))


if __name__ == "__main__":
    main()
