"""Put a run of `peers` into `docs/benchmarks.md`: its tables between marks, its charts beside it.

`python -m benchmarks.publishing` does so anew with the last measurement.
"""

from pathlib import Path

from benchmarks.charts import draw
from benchmarks.report import markdown
from benchmarks.taken import Run

DOCS = Path(__file__).parent.parent / "docs"
PEERS = ("langchain", "langgraph-swarm", "langgraph-supervisor")
"""The packages of the peers; a run records their versions."""
BEGIN, END = "<!-- {name}: written by {by} -->", "<!-- end of {name} -->"


def publish(run: Run, docs: Path = DOCS) -> None:
    """Write the tables and the charts; keep the text outside the marks, and times that the run has not measured."""
    (docs / "charts").mkdir(exist_ok=True)
    draw(run, docs / "charts")
    page = docs / "benchmarks.md"
    text = page.read_text("utf-8")
    tables = {name: markdown(rows) for name, rows in run.tables().items()}
    lines = {"counted": _counted(run)} | ({} if run.is_counted_only else {"run": _told(run)})
    for name, table in {**tables, **lines}.items():
        text = marked(text, name, table)
    page.write_text(text, "utf-8")


def marked(text: str, name: str, table: str, by: str = "make bench") -> str:
    """Return the text with `table` between the marks of that name; the marks name the command that writes it.

    Raises:
        ValueError: the text lacks the marks.
    """
    begin, end = BEGIN.format(name=name, by=by), END.format(name=name)
    head, opening, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not opening or not closed:
        raise ValueError(f"there is no {begin} … {end}")
    return f"{head}{begin}\n{table}\n{end}{tail}"


def _told(run: Run) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in run.ran_on.items())
    return f"The last run: {versions}; load average {run.load[0]:.1f} before and {run.load[1]:.1f} after."


def _counted(run: Run) -> str:
    versions = ", ".join(f"{name} {run.ran_on[name]}" for name in ("python", "langgraph", *PEERS))
    return f"Counted with {versions}; a repeated character costs {run.cached_price:g}."


def main() -> None:
    """Publish the last run."""
    publish(Run.load_from())


if __name__ == "__main__":
    main()
