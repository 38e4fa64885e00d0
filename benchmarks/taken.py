"""The measurements of each contestant, and their tables."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.contestant import OURS, Contestant
from benchmarks.conversation import TURNS
from benchmarks.counts import CACHED as TENTH
from benchmarks.growth import around
from benchmarks.report import Row

MARKS = (10, 100, 500)
CACHED = 100
"""Turns of the script that counts the repeated part of the prompts."""
MOST_SECONDS = 45
"""CPU time after which a contestant's thread stops growing."""
MOST_BYTES = 1_500_000_000
"""Bytes on disk after which a contestant's thread stops growing."""
FILE = Path("var/peers.json")
"""All figures of the last run."""


@dataclass
class Taken:
    """The measurements of a contestant; the first four lists have an entry for each turn of its growing thread."""

    contestant: Contestant
    cpu_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    closed: int = 0
    """Bytes on disk after the database was closed."""
    counted: dict[str, float] = field(default_factory=dict)
    """Calls and characters of the script."""
    cached: dict[str, float] = field(default_factory=dict)
    """Calls and characters of a longer script."""
    per_second: list[float] = field(default_factory=list)
    """Turns per second with many threads at once, once per repetition; likewise `crowd_cpu_ms`, per turn."""
    crowd_cpu_ms: list[float] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    """Each package's share of that time."""

    @property
    def is_out(self) -> bool:
        """Whether the contestant has used up its time or its bytes."""
        return sum(self.cpu_ms) > MOST_SECONDS * 1000 or self.bytes[-1:] > [MOST_BYTES]

    @property
    def speed(self) -> float:
        """The median of the turns per second."""
        return statistics.median(self.per_second)

    def at(self, turn: int, of: Sequence[float]) -> float | None:
        """Return the mean around a turn; None for an unreached turn."""
        return around(turn, of) if turn <= len(of) else None


@dataclass
class Run:
    """One run of all contestants."""

    ran_on: dict[str, str | int]
    load: list[float]
    """Load average of the machine before and after."""
    taken: list[Taken]
    cached_price: float = TENTH
    """The price of a repeated character; a fresh one costs 1."""

    def save(self, file: Path = FILE) -> None:
        """Write everything to a file."""
        rounded = json.loads(json.dumps(asdict(self)), parse_float=lambda number: round(float(number), 4))
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(rounded) + "\n", "utf-8")

    @classmethod
    def load_from(cls, file: Path = FILE) -> "Run":
        """Read a saved run."""
        stored = json.loads(file.read_text("utf-8"))
        taken = [Taken(**{**measure, "contestant": Contestant(**measure["contestant"])}) for measure in stored["taken"]]
        return cls(stored["ran_on"], stored["load"], taken, stored.get("cached_price", TENTH))

    def of(self, label: str) -> Taken:
        """Return the measurements of the contestant with this label."""
        return next(measure for measure in self.taken if measure.contestant.label == label)

    @property
    def is_counted_only(self) -> bool:
        """Whether the run has no times."""
        return not any(measure.cpu_ms for measure in self.taken)

    def tables(self) -> dict[str, list[Row]]:
        """Return the tables of the run by name; a run without times has those of the prompts."""
        counted = {"prompts": self.prompts(), "dearer": self.dearer()}
        if self.is_counted_only:
            return counted
        return {
            **counted,
            "growth": self.growth(),
            "bytes": self.bytes(),
            "crowd": self.crowd(),
            "profile": self.profile(),
            "ratios": self.ratios(),
        }

    def prompts(self) -> list[Row]:
        """Return the table of the prompts; durability does not change them."""
        return [_prompts(name, turns, self._priced(counted)) for name, turns, counted in self._counted()]

    def dearer(self) -> list[Row]:
        """Return the ratio of each peer's prompts to the application's."""
        ours = {turns: self._priced(counted) for name, turns, counted in self._counted() if name == OURS}
        return [
            {
                "peer": name,
                "turns": turns,
                **{part: priced[part] / ours[turns][part] for part in ("all calls", "characters", "cost")},
            }
            for name, turns, counted in self._counted()
            if name != OURS
            for priced in [self._priced(counted)]
        ]

    def _counted(self) -> Iterator[tuple[str, int, Mapping[str, float]]]:
        """Yield each contestant once for each length of the script, with its counts."""
        contestants = {measure.contestant.name: measure for measure in reversed(self.taken)}
        for name, measure in reversed(contestants.items()):
            yield name, TURNS, measure.counted
            yield name, CACHED, measure.cached

    def _priced(self, counted: Mapping[str, float]) -> dict[str, float]:
        fresh = counted["characters"] * (1 - counted["repeated"])
        cost = fresh + self.cached_price * (counted["characters"] - fresh)
        return {**counted, "all calls": counted["calls"] + counted["observers"], "fresh": fresh, "cost": cost}

    def growth(self) -> list[Row]:
        """Return the CPU time of a turn in a thread that grows."""
        return [
            _named(measure, {f"CPU ms at {turn}": measure.at(turn, measure.cpu_ms) for turn in MARKS})
            for measure in self.taken
        ]

    def bytes(self) -> list[Row]:
        """Return the bytes on disk of a growing thread, and its last turn."""
        return [_bytes(measure) for measure in self.taken]

    def crowd(self) -> list[Row]:
        """Return the cost of a turn among many threads at once."""
        return [
            _named(measure, {"turns/s": measure.speed, "CPU ms": statistics.median(measure.crowd_cpu_ms)})
            for measure in self.taken
        ]

    def profile(self) -> list[Row]:
        """Return each package's CPU ms of a turn among many threads."""
        return [_named(measure, _shared(measure)) for measure in self.taken]

    def ratios(self) -> list[Row]:
        """Return the application's ratios to its peers, with the targets."""
        ours, swarm = self.of(f"{OURS} (sync)"), self.of("langgraph-swarm (async)")
        ours_exit, swarm_exit = self.of(f"{OURS} (exit)"), self.of("langgraph-swarm (exit)")
        last = min(len(ours.cpu_ms), len(swarm.cpu_ms))
        cpu = around(last, swarm.cpu_ms) / around(last, ours.cpu_ms)
        return [
            _line(f"CPU at turn {last}, swarm (async) to ours (sync)", cpu, 5),
            _line(f"bytes at turn {last}, the same", swarm.bytes[last - 1] / ours.bytes[last - 1], 100),
            _line("turns per second, ours (sync) to swarm (async)", ours.speed / swarm.speed, 1),
            _line("turns per second, ours (exit) to swarm (exit)", ours_exit.speed / swarm_exit.speed, 2),
        ]


def _prompts(name: str, turns: int, counted: Mapping[str, float]) -> Row:
    return {
        "contestant": name,
        "turns": turns,
        "calls": int(counted["calls"]),
        "observers": int(counted["observers"]),
        "characters": int(counted["characters"]),
        "repeated %": 100 * counted["repeated"],
        "within a turn %": 100 * counted["within"],
        "fresh": round(counted["fresh"]),
        "cost": round(counted["cost"]),
    }


def _shared(measure: Taken) -> Row:
    whole = statistics.median(measure.crowd_cpu_ms)
    return {name: share * whole for name, share in measure.shares.items()}


def _bytes(measure: Taken) -> Row:
    reached = len(measure.cpu_ms)
    sizes = {f"bytes at {turn}": measure.bytes[turn - 1] if turn <= reached else None for turn in MARKS}
    return _named(measure, {**sizes, "turns": reached, "closed": measure.closed})


def _named(measure: Taken, values: Row) -> Row:
    return {"contestant": measure.contestant.name, "durability": measure.contestant.durability, **values}


def _line(what: str, times: float, target: float) -> Row:
    return {"ahead in": what, "times": times, "target": target, "reached": "yes" if times >= target else "no"}
