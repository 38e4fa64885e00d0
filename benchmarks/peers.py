"""Measure the application beside its peers, on one script, with one model, in one run.

`python -m benchmarks.peers [--quick | --counts] [--json] [--publish]`; needs the packages of
`requirements-bench.txt`. With `--counts` no times are taken: calls and prompts alone, which no load changes.
Every contestant is a process of its own; they take turns, a round of the script each, so that all of them
meet the same load. One that has used up its time or its bytes is stopped, and the table says which turn it had reached.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from benchmarks.contestant import OURS, Contestant
from benchmarks.conversation import ROUND, TURNS
from benchmarks.counts import CACHED as TENTH
from benchmarks.publishing import PEERS, publish
from benchmarks.report import arguments, ran_on, show_table
from benchmarks.taken import CACHED, Run, Taken

CONTESTANTS = (
    Contestant(OURS, "sync"),
    Contestant(OURS, "exit"),
    Contestant("langgraph-swarm", "async"),
    Contestant("langgraph-swarm", "exit"),
    Contestant("specialists as tools", "async"),
    Contestant("specialists as tools", "exit"),
    Contestant("langgraph-supervisor", "async"),
    Contestant("langgraph-supervisor", "exit"),
)


@dataclass(frozen=True)
class Scale:
    """The size of a measurement."""

    turns: int = 500
    threads: int = 200
    talk: int = 5
    """Turns of each of the threads at once."""
    repeats: int = 2


QUICK = Scale(turns=110, threads=40, repeats=1)


class Process:
    """The process of one contestant."""

    def __init__(self, contestant: Contestant, stack: ExitStack) -> None:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        order = [sys.executable, "-m", "benchmarks.measuring", json.dumps(asdict(contestant)), folder]
        self._at_work = subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.enter_context(self._at_work)

    def ask(self, *request: str | int) -> dict[str, Any]:
        """Send one request and return its figures.

        Raises:
            RuntimeError: the process has ended; the standard error has the reason.
        """
        if self._at_work.stdin is None or self._at_work.stdout is None:
            raise RuntimeError("a process without pipes")
        self._at_work.stdin.write(json.dumps(request) + "\n")
        self._at_work.stdin.flush()
        if not (line := self._at_work.stdout.readline()):
            raise RuntimeError(f"{request[0]} was not measured")
        answer: dict[str, Any] = json.loads(line)
        return answer


def measure(scale: Scale, contestants: Sequence[Contestant] = CONTESTANTS) -> list[Taken]:
    """Measure the contestants side by side."""
    taken = [Taken(contestant) for contestant in contestants]
    with ExitStack() as stack:
        processes = [(taker, Process(taker.contestant, stack)) for taker in taken]
        for taker, process in processes:
            process.ask("begin")
            taker.counted, taker.cached = process.ask("count", TURNS), process.ask("count", CACHED)
        for taker, process in _in_rounds(processes, scale.turns):
            left = scale.turns - len(taker.cpu_ms)
            for name, values in process.ask("turns", min(ROUND, left)).items():
                getattr(taker, name).extend(values)
        for taker, process in processes:
            taker.closed = process.ask("close")["closed"]
        for _ in range(scale.repeats):
            for taker, process in processes:
                crowd = process.ask("crowd", scale.threads, scale.talk)
                taker.per_second.append(crowd["per_second"])
                taker.crowd_cpu_ms.append(crowd["cpu_ms"])
        for taker, process in processes:
            taker.shares = process.ask("profile", scale.threads // 10, scale.talk)
    return taken


def count(contestants: Sequence[Contestant] = CONTESTANTS) -> list[Taken]:
    """Count the calls and prompts of each contestant; neither load nor durability changes them."""
    taken = [Taken(contestant) for contestant in {one.name: one for one in reversed(contestants)}.values()][::-1]
    for taker in taken:
        with ExitStack() as stack:
            process = Process(taker.contestant, stack)
            taker.counted, taker.cached = process.ask("count", TURNS), process.ask("count", CACHED)
    return taken


def _in_rounds(processes: Sequence[tuple[Taken, Process]], turns: int) -> Iterator[tuple[Taken, Process]]:
    for _ in range(0, turns, ROUND):
        for taker, process in processes:
            if not taker.is_out:
                yield taker, process


def main() -> None:
    """Measure, print the figures, and draw them with `--publish`."""
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK.turns} turns, {QUICK.threads} threads at once")
    parser.add_argument("--publish", action="store_true", help="write the tables and charts of docs/benchmarks.md")
    parser.add_argument("--counts", action="store_true", help="count calls and prompts, take no times")
    parser.add_argument("--cached-price", type=float, default=TENTH, help="of a repeated character (0.1)")
    chosen = parser.parse_args()
    before = os.getloadavg()[0]
    scale = QUICK if chosen.quick else Scale()
    taken = count() if chosen.counts else measure(scale)
    about = {"turns of one thread": scale.turns, "threads at once": scale.threads, **ran_on()}
    versions = {name: version(name) for name in PEERS}
    run = Run({**about, **versions}, [before, os.getloadavg()[0]], taken, chosen.cached_price)
    if not run.is_counted_only:
        run.save()
    if chosen.publish:
        publish(run)
    if chosen.json:
        print(json.dumps({"load": run.load, "ran_on": run.ran_on, **run.tables()}))
        return
    for rows in run.tables().values():
        show_table(rows)
        print()
    print("ran on " + ", ".join(f"{name} {value}" for name, value in run.ran_on.items()))
    print(f"load average {run.load[0]:.1f} before, {run.load[1]:.1f} after; the run itself is 1 to 2 of it")


if __name__ == "__main__":
    main()
