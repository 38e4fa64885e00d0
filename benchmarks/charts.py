"""Draw a run of `peers` as SVG, without a plotting library: readable on light and dark pages."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benchmarks.contestant import OURS
from benchmarks.conversation import ROUND, TURNS
from benchmarks.taken import Run, Taken

WIDTH, LEFT, RIGHT, TOP = 760, 60, 225, 56
HEIGHT, BAR, GAP = 300, 20, 8
# Each has a contrast of 3 to 1 or more with white and with GitHub's dark page; blue and orange first, for every eye.
COLOURS = {
    OURS: "#2f81f7",
    "langgraph-swarm": "#d9730d",
    "specialists as tools": "#1a9a5c",
    "langgraph-supervisor": "#a860d8",
}
STYLE = """text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:15px;font-weight:600;fill:#24292f}
.axis{stroke:#8c959f55}.line{fill:none;stroke-width:2}.ours{stroke-width:3.5}
@media(prefers-color-scheme:dark){text{fill:#9da7b3}.title{fill:#e6edf3}}"""


@dataclass(frozen=True)
class Line:
    """A line of a chart, by turn; a dashed line belongs to a contestant that writes once a turn."""

    name: str
    label: str
    points: tuple[tuple[float, float], ...]
    is_dashed: bool


def draw(run: Run, folder: Path) -> None:
    """Write the charts of a run to `folder`: the chart of the prompts, and those of the times if they were measured."""
    rows = [row for row in run.prompts() if row["turns"] == TURNS]
    prompts = {str(row["contestant"]): (str(row["contestant"]), float(row["characters"] or 0)) for row in rows}
    charts = {"characters": _bars("Prompt characters of the 30-turn script, less is better", prompts)}
    if not run.is_counted_only:
        charts |= _times(run)
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart, "utf-8")


def _times(run: Run) -> dict[str, str]:
    most = max(len(taken.cpu_ms) for taken in run.taken)
    speeds = {taken.contestant.label: (taken.contestant.name, taken.speed) for taken in run.taken}
    return {
        "cpu": _lines("CPU per turn, ms", [_line(taken, taken.cpu_ms) for taken in run.taken], most, str),
        "bytes": _lines("Bytes on disk", [_line(taken, taken.bytes) for taken in run.taken], most, _bytes),
        "throughput": _bars("Turns per second, many threads at once, more is better", speeds),
    }


def _line(taken: Taken, values: Sequence[float]) -> Line:
    # The first turn is a cold one.
    rounds = [values[max(first, 1) : first + ROUND] for first in range(0, len(values), ROUND)]
    points = [
        (place * ROUND + 1 + len(window) / 2, sum(window) / len(window))
        for place, window in enumerate(rounds)
        if window
    ]
    return Line(taken.contestant.name, taken.contestant.label, tuple(points), taken.contestant.durability == "exit")


def _lines(title: str, lines: Sequence[Line], turns: int, label: Callable[[int], str]) -> str:
    values = [value for line in lines for _, value in line.points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(turn: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * turn / turns

    def y(value: float) -> float:
        return TOP + HEIGHT * (high - math.log10(value)) / (high - low)

    parts = []
    for power in range(low, high + 1):
        at = y(10**power)
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{label(10**power)}</text>')
    for turn in range(0, turns + 1, 100):
        parts.append(f'<text x="{x(turn):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{turn}</text>')
    for line in lines:
        places = " ".join(f"{x(turn):.1f},{y(value):.1f}" for turn, value in line.points)
        kind = "line ours" if line.name == OURS else "line"
        dashes = ' stroke-dasharray="6 4"' if line.is_dashed else ""
        parts.append(f'<polyline class="{kind}" stroke="{COLOURS[line.name]}"{dashes} points="{places}"/>')
    ends = {line: y(line.points[-1][1]) for line in lines}
    for line, at in _apart(ends):
        end = x(line.points[-1][0])
        parts.append(f'<line stroke="{COLOURS[line.name]}66" x1="{end + 3:.1f}" y1="{ends[line]:.1f}"')
        parts.append(f' x2="{WIDTH - RIGHT + 14}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 18}" y="{at + 4:.1f}">{escape(line.label)}</text>')
    return _page(f"{title}, by turn of one thread (logarithmic; dashed: exit)", parts, TOP + HEIGHT + 30)


def _apart(ends: Mapping[Line, float]) -> Iterator[tuple[Line, float]]:
    """Move labels down so that they do not overlap."""
    last = -math.inf
    for line, at in sorted(ends.items(), key=lambda end: end[1]):
        last = max(at, last + 15)
        yield line, last


def _bars(title: str, bars: Mapping[str, tuple[str, float]]) -> str:
    longest = max(value for _, value in bars.values())
    parts, left = [], RIGHT + 5
    for place, (label, (name, value)) in enumerate(bars.items()):
        at, length = TOP + place * (BAR + GAP), (WIDTH - left - 90) * value / longest
        parts.append(f'<text x="{left - 8}" y="{at + 14}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{left}" y="{at}" width="{length:.1f}" height="{BAR}" rx="3" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{left + length + 8:.1f}" y="{at + 14}">{value:,.0f}</text>')
    return _page(title, parts, TOP + len(bars) * (BAR + GAP) + 4)


def _page(title: str, parts: Sequence[str], height: int) -> str:
    name = escape(title)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">'
    return "\n".join(
        [head, f"<style>{STYLE}</style>", f'<text class="title" x="8" y="26">{name}</text>', *parts, "</svg>\n"]
    )


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size} {unit}"
        size //= 1000
    return f"{size} GB"
