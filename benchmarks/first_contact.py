"""Measure the cost of a command until its answer, beside the cost of the import of LangGraph alone.

`python -m benchmarks.first_contact`: each runs in a process of its own, in turn, several times; the CPU time of the
process is taken, with warm caches of compiled files. `serve` is measured until `/readyz` answers. With `--profile` it
prints instead each package's share of the commands' time.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import httpx

from benchmarks.processes import command, cpu_seconds
from benchmarks.report import Row, arguments, show
from benchmarks.shares import shares
from tests.support.places import ROOT

GRAPH = "importing langgraph.graph"
CLIENT = "importing langgraph.graph and langchain_openai"
ROUNDS = 7
PORT = 18_765


def runs(environment: Mapping[str, str]) -> Mapping[str, Callable[[], float]]:
    """Return the measurements by name: each runs its command once and returns the CPU seconds."""
    app = (sys.executable, "-m", "app")
    programs: Mapping[str, Sequence[str]] = {
        GRAPH: (sys.executable, "-c", "import langgraph.graph"),
        CLIENT: (sys.executable, "-c", "import langgraph.graph, langchain_openai"),
        "ask hello": (*app, "ask", "hello"),
        "threads": (*app, "threads"),
        "history": (*app, "history", "--thread", "me"),
        "state": (*app, "state", "--thread", "me"),
        "check": (*app, "check"),
    }
    programmed = {name: lambda it=it: _cpu_of(it, environment) for name, it in programs.items()}
    return {**programmed, "serve until /readyz": lambda: asyncio.run(_cpu_until_ready(environment))}


def _cpu_of(program: Sequence[str], environment: Mapping[str, str]) -> float:
    before = os.times()
    subprocess.run(program, cwd=ROOT, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def _cpu_until_ready(environment: Mapping[str, str]) -> float:
    async with (
        command("app", "serve", "--port", str(PORT), settings=environment) as server,
        httpx.AsyncClient() as client,
    ):
        begun = time.monotonic()
        while time.monotonic() < begun + 120:
            with suppress(httpx.TransportError):
                if (await client.get(f"http://127.0.0.1:{PORT}/readyz")).status_code == 200:
                    return cpu_seconds(server.pid)
            await asyncio.sleep(0.05)
    raise RuntimeError("the server is not ready")


def settings_in(folder: str) -> Mapping[str, str]:
    """Return the environment of the commands, with a database in a folder."""
    url = f"sqlite:///{Path(folder) / 'first.db'}"
    # An empty value lets a process write what it has compiled: installed applications do.
    return {"DATABASE_URL": url, "LLM_MODEL": "local:rules", "APP_LANG": "en", "PYTHONDONTWRITEBYTECODE": ""}


def measure(rounds: int) -> list[Row]:
    """Return a row for each command: its CPU seconds, and their ratio to an import of LangGraph."""
    taken = defaultdict[str, list[float]](list)
    with tempfile.TemporaryDirectory() as folder:
        measured = runs(settings_in(folder))
        # The first round writes what is compiled, and the thread.
        for number in range(rounds + 1):
            for name, run in measured.items():
                seconds = run()
                if number:
                    taken[name].append(seconds)
    seconds_of = {name: median(of) for name, of in taken.items()}
    return [
        {
            "what": name,
            "CPU s": seconds,
            "to langgraph.graph": seconds / seconds_of[GRAPH],
            "with the client": seconds / seconds_of[CLIENT],
        }
        for name, seconds in seconds_of.items()
    ]


def profiled() -> list[Row]:
    """Return each package's share of the time, for each command and for the import of the client."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "profile")
        profiling = (sys.executable, "-m", "cProfile", "-o", file)
        environment = settings_in(folder)
        _cpu_of((sys.executable, "-m", "app", "ask", "hello"), environment)
        importing = Path(folder) / "client.py"
        importing.write_text("import langgraph.graph, langchain_openai", "utf-8")
        programs: Mapping[str, Sequence[str]] = {
            CLIENT: (str(importing),),
            "ask hello": ("-m", "app", "ask", "hello"),
            "state": ("-m", "app", "state", "--thread", "me"),
            "check": ("-m", "app", "check"),
        }
        for name, program in programs.items():
            _cpu_of((*profiling, *program), environment)
            rows.append({"what": name, **shares(file)})
    return rows


def main() -> None:
    """Measure."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--profile", action="store_true", help="tell whose code the commands run")
    chosen = parser.parse_args()
    show(profiled() if chosen.profile else measure(chosen.rounds), as_json=chosen.json)


if __name__ == "__main__":
    main()
