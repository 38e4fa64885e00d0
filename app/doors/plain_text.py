"""Markdown as it is meant: the numbers of its lists kept as they are."""

import re
from collections.abc import Iterator, Sequence

_ENTRY = re.compile(r"^(\s*)(\d+)([.)]) ")


def numbers_kept(text: str) -> str:
    """Return Markdown in which the numbers of a list with gaps are escaped, so that they stand as they are."""
    lines = text.split("\n")
    for run in _runs(lines):
        numbers = [int(entry[2]) for place in run if (entry := _ENTRY.match(lines[place]))]
        if numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
            for place in run:
                lines[place] = _ENTRY.sub(r"\1\2\\\3 ", lines[place])
    return "\n".join(lines)


def _runs(lines: Sequence[str]) -> Iterator[list[int]]:
    run: list[int] = []
    for place, line in enumerate([*lines, ""]):
        if _ENTRY.match(line):
            run.append(place)
        elif run:
            yield run
            run = []
