"""Texts that are safe to show: without terminal control, the numbers of Markdown lists kept as they are."""

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
    """Yield the places of neighbouring lines that are entries of a numbered list."""
    run: list[int] = []
    for place, line in enumerate([*lines, ""]):
        if _ENTRY.match(line):
            run.append(place)
        elif run:
            yield run
            run = []


# A string of the terminal (title, clipboard, link) goes with its payload, as far as its line reaches.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n|\x1b|$))"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """Return a text without terminal control: escape sequences, C0 and C1 but for newline and tab."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))
