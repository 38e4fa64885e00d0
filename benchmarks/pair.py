"""Compare the CPU per turn of two checkouts, side by side in one run.

`python -m benchmarks.pair --other DIR`: this checkout and the one in DIR play the same script with the same scripted
model, each round in a fresh process, in turns, so that both meet the same load. DIR may be an older commit; the same
interpreter runs both. A round's figure is the mean over its turns; the table has the median of the rounds.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from benchmarks.conversation import TURNS
from benchmarks.report import Row, arguments, show

HERE = Path(__file__).parents[1]
ROUNDS = 7


class Round(BaseModel):
    """The measurements of one process."""

    script: str
    """The SHA-256 of the script that was played."""
    cpu_ms: list[float]
    wall_ms: list[float]

    @property
    def cpu(self) -> float:
        """The mean CPU time of a turn in milliseconds, SQLite's threads included."""
        return statistics.fmean(self.cpu_ms)

    @property
    def wall(self) -> float:
        """The mean wall-clock time of a turn in milliseconds."""
        return statistics.fmean(self.wall_ms)


@dataclass(frozen=True)
class Pair:
    """The rounds of both checkouts; those of the same place ran one after the other."""

    this: Sequence[Round]
    other: Sequence[Round]

    def rows(self) -> list[Row]:
        """Return a row for CPU and one for wall clock; `ratio` is this checkout's figure divided by the other's."""
        return [
            self._row("CPU per turn, ms", [side.cpu for side in self.this], [side.cpu for side in self.other]),
            self._row("wall clock per turn, ms", [side.wall for side in self.this], [side.wall for side in self.other]),
        ]

    @staticmethod
    def _row(measure: str, this: Sequence[float], other: Sequence[float]) -> Row:
        ratios = [mine / theirs for mine, theirs in zip(this, other, strict=True)]
        return {
            "measure": measure,
            "this": statistics.median(this),
            "other": statistics.median(other),
            "ratio": statistics.median(this) / statistics.median(other),
            "lowest": min(ratios),
            "highest": max(ratios),
            "rounds": len(ratios),
        }


def compare(this: Path, other: Path, turns: int, rounds: int) -> Pair:
    """Play so many rounds of the script in both checkouts.

    Raises:
        ValueError: the checkouts are the same, or do not have the same script.
    """
    if this == other:
        raise ValueError("--other is this checkout itself")
    sides: dict[Path, list[Round]] = {this: [], other: []}
    for number in range(rounds):
        # The second checkout of a round may find a warmer machine, so they change places.
        for checkout in (this, other) if number % 2 else (other, this):
            sides[checkout].append(play(checkout, turns))
    if len({played.script for played in (*sides[this], *sides[other])}) > 1:
        raise ValueError(f"{other} does not play the same script")
    return Pair(sides[this], sides[other])


def play(checkout: Path, turns: int) -> Round:
    """Play the script once in a fresh process that imports the application from `checkout`.

    Raises:
        subprocess.CalledProcessError: the checkout could not play the script; its errors were printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        # -P keeps this checkout's folder of benchmarks off the module path.
        command = [sys.executable, "-P", str(Path(__file__).with_name("pair_turns.py")), folder, str(turns)]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, check=True)
    return Round.model_validate_json(done.stdout)


def main() -> None:
    """Compare this checkout with the one that the command line names."""
    parser = arguments(__doc__)
    parser.add_argument("--other", type=Path, required=True, metavar="DIR", help="the checkout to compare with")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the script")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes of each checkout")
    chosen = parser.parse_args()
    if not (chosen.other / "benchmarks" / "performing.py").is_file():
        parser.error(f"{chosen.other} is not a checkout of this application")
    try:
        pair = compare(HERE, chosen.other.resolve(), chosen.turns, chosen.rounds)
    except ValueError as error:
        parser.error(str(error))
    show(pair.rows(), as_json=chosen.json)


if __name__ == "__main__":
    main()
