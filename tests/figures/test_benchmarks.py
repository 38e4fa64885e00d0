"""The base of the benchmarks with peers: packages of their own, tables and charts that are written whole."""

import ast
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.contestant import OURS, Contestant
from benchmarks.publishing import marked, publish
from benchmarks.shares import package
from benchmarks.taken import Run, Taken
from tests.support.places import ROOT

PEERS = ("langchain", "langgraph-checkpoint-postgres", "langgraph-supervisor", "langgraph-swarm")
WORKERS = ("procrastinate", "psycopg")
"""Packages of our own workers, which are measured beside the peers."""
CLASSES = ("anthropic", "deepseek", "google-genai", "groq", "mistralai", "ollama", "openrouter", "xai")
"""The providers that are asked by their own classes."""


def pinned(name: str) -> set[str]:
    """Return the packages that a file of requirements pins."""
    return set(re.findall(r"^([\w.-]+)==", (ROOT / name).read_text("utf-8"), re.MULTILINE))


def test_nobody_needs_the_peers_to_run_or_test_the_application() -> None:
    """They are pinned for the benchmarks alone."""
    assert not set(PEERS) & pinned("requirements.txt")
    # Tests of models of other providers need `langchain`, which is also a peer.
    assert set(PEERS) & pinned("requirements-dev.txt") <= {"langchain"}
    assert set(PEERS) <= pinned("requirements-bench.txt")
    assert pinned("requirements.txt") < pinned("requirements-bench.txt")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]["bench"]
    assert {re.split(r"[\[>=<]", requirement)[0] for requirement in declared} == {
        *(*PEERS, *WORKERS, "jinja2"),
        *(f"langchain-{name}" for name in CLASSES),
    }


def test_only_the_adapters_import_the_peers() -> None:
    """Counts and measurements of the application alone need no peers."""
    names = {name.replace("-", "_") for name in PEERS}
    files = [
        file
        for folder in ("app", "agents", "dialogs", "observers", "prompts")
        for file in (ROOT / folder).rglob("*.py")
    ]
    alone = [ROOT / "benchmarks" / f"{name}.py" for name in ("counts", "growth", "wait", "performing", "shares")]
    sources = {file: file.read_text("utf-8") for file in (*files, *alone)}
    # Few files hold one of the names at all; to parse the others takes half a second.
    for file in [file for file, source in sources.items() if names.intersection(re.findall(r"\w+", source))]:
        for node in ast.walk(ast.parse(sources[file])):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not names & {module.partition(".")[0] for module in modules}, file


def test_the_page_has_its_tables_and_charts() -> None:
    """Every pair of marks in `docs/benchmarks.md` holds a table or a line, and every chart can be read."""
    text = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    held = re.findall(r"<!-- (\w+): written by make bench -->\n(.*?)<!-- end of \1 -->", text, re.DOTALL)
    assert [name for name, _ in held] == [
        "run",
        "ratios",
        "prompts",
        "counted",
        "dearer",
        "growth",
        "bytes",
        "crowd",
        "profile",
    ]
    assert all(table.strip() for _, table in held)
    charts = re.findall(r"\(charts/(\w+\.svg)\)", text)
    assert sorted(charts) == sorted(path.name for path in (ROOT / "docs" / "charts").iterdir())
    for chart in charts:
        assert ElementTree.parse(ROOT / "docs" / "charts" / chart).getroot().tag.endswith("svg")


def measured(name: str, durability: str, turns: int) -> Taken:
    """Make up what was measured of a contestant."""
    counted = {"calls": 42, "observers": 0, "characters": 1000.0 * turns, "repeated": 0.8, "within": 1.0}
    return Taken(
        Contestant(name, durability),  # type: ignore[arg-type]
        cpu_ms=[10 + turn / 10 for turn in range(turns)],
        bytes=[1000 * (turn + 1) for turn in range(turns)],
        counted=counted,
        cached=counted,
        per_second=[50.0],
        crowd_cpu_ms=[20.0],
        shares={"application": 0.1, "langgraph": 0.9},
    )


@pytest.fixture
def run() -> Run:
    """Make up a run in which a peer was stopped early."""
    names = [(OURS, "sync"), (OURS, "exit"), ("langgraph-swarm", "async"), ("langgraph-swarm", "exit")]
    taken = [measured(*one, 500) for one in names]
    stopped = measured("langgraph-supervisor", "async", 120)
    return Run({"python": "3.11", **dict.fromkeys(["langgraph", *PEERS], "1.0")}, [0.5, 1.5], [*taken, stopped])


def test_a_run_is_published_between_the_marks(run: Run, tmp_path: Path) -> None:
    """Tables and charts are written, twice the same; hand-written text stays."""
    (tmp_path / "benchmarks.md").write_text((ROOT / "docs" / "benchmarks.md").read_text("utf-8"), "utf-8")
    publish(run, tmp_path)
    once = (tmp_path / "benchmarks.md").read_text("utf-8")
    publish(run, tmp_path)
    assert (tmp_path / "benchmarks.md").read_text("utf-8") == once
    assert "| langgraph-supervisor | async | 11.15 | 19.95 |  |" in once
    assert "| langgraph-swarm | exit | 2.00 | 18.00 |" in once
    assert "langgraph-swarm 1.0; load average 0.5 before and 1.5 after" in once
    assert "## By hand" in once
    for chart in ("cpu", "bytes", "characters", "throughput"):
        assert ElementTree.parse(tmp_path / "charts" / f"{chart}.svg").getroot().tag.endswith("svg")


def test_counts_are_published_without_times(run: Run, tmp_path: Path) -> None:
    """A run that only counted leaves the tables and charts of times as they are."""
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    (tmp_path / "benchmarks.md").write_text(page, "utf-8")
    for one in run.taken:
        one.cpu_ms.clear()
    run.cached_price = 0.5
    publish(run, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text("utf-8")
    assert "| langgraph-supervisor | 30 | 42 | 0 | 120,000 | 80.00 | 100.00 | 24,000 | 72,000 |" in text
    assert "| langgraph-supervisor | 30 | 1.00 | 0.24 | 0.24 |" in text
    assert "a repeated character costs 0.5." in text
    growth = re.compile("<!-- growth: .*?<!-- end of growth -->", re.DOTALL)
    assert growth.findall(text) == growth.findall(page)
    assert [path.name for path in (tmp_path / "charts").iterdir()] == ["characters.svg"]


def test_a_run_is_read_as_it_was_saved(run: Run, tmp_path: Path) -> None:
    """Tables can be written anew without measuring again."""
    run.save(tmp_path / "run.json")
    assert Run.load_from(tmp_path / "run.json") == run


def test_marks_that_are_missing_are_named() -> None:
    """A table without a place is an error, not a loss."""
    with pytest.raises(ValueError, match="<!-- growth"):
        marked("no marks here", "growth", "table")


def test_a_contestant_is_out_by_time_or_bytes(run: Run) -> None:
    """A run of hours or gigabytes is stopped."""
    measure = run.taken[0]
    assert not measure.is_out
    measure.bytes.append(2_000_000_000)
    assert measure.is_out
    measure.bytes.pop()
    measure.cpu_ms.append(60_000)
    assert measure.is_out


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (str(ROOT / "app/plugins/lab/pages/desk.py"), "application"),
        ("/x/site-packages/agents/memory.py", "other"),
        ("/x/benchmarks/instant.py", "benchmarks"),
        ("/x/lib/python3.11/site-packages/langgraph/pregel/main.py", "langgraph"),
        ("/x/lib/python3.11/site-packages/langchain/agents/factory.py", "other"),
        ("/x/lib/python3.11/asyncio/events.py", "asyncio"),
        ("<frozen abc>", "other"),
    ],
)
def test_time_goes_to_the_package_of_a_file(file: str, owner: str) -> None:
    """The profile's shares are by package."""
    assert package(file) == owner
