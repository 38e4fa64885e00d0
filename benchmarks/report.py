"""The report of a benchmark: an aligned table with the machine and the versions, or the same as JSON."""

import argparse
import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import version

Row = dict[str, str | int | float | None]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def ran_on(packages: Sequence[str] = ()) -> dict[str, str | int]:
    """Return the environment of a figure: interpreter, libraries, these packages, and machine."""
    return {
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "langgraph": version("langgraph"),
        "langgraph-checkpoint-sqlite": version("langgraph-checkpoint-sqlite"),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
    }


def show(rows: Sequence[Row], *, as_json: bool, packages: Sequence[str] = ()) -> None:
    """Print the rows; floats get two decimals in the table, and all of theirs in JSON; `packages` as in `ran_on`."""
    if as_json:
        print(json.dumps({"ran_on": ran_on(packages), "rows": rows}))
        return
    show_table(rows)
    print("\nran on " + ", ".join(f"{name} {value}" for name, value in ran_on(packages).items()))


def show_table(rows: Sequence[Row]) -> None:
    """Print the rows under the names of their columns."""
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        print("  ".join([first.ljust(widths[0]), *numbers]).rstrip())


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a table of Markdown."""
    first, *rest = rows[0]
    head = [f"| {' | '.join([first, *rest])} |", f"| --- |{' ---: |' * len(rest)}"]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row.values()))} |" for row in rows)])


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else value
