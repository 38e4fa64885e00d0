"""Measure the choice among many tools: recall, out-of-scope, shortcuts, time.

`python -m benchmarks.tools --data DIR`: DIR holds `tools_clinc` and `tools_massive`, each with `tools.json`
(descriptions), `examples.jsonl` (for the cards) and `dev.jsonl` (the requests).
With `--examples 2` a card gets only so many examples of a language.

Shortcuts are measured over every request asked, those for no tool included, as if each tool were marked: coverage is
the share that goes straight to a tool, precision the share of these that goes to the right one.

With `--context` recall@5 is measured after something was said: after a request of any kind, and for the first two
words of a request alone and after another request for the same tool.
"""

import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agents.language.tool_ranker.ranker import Card, Shortcuts, ToolRanker
from benchmarks.report import Row, arguments, show

SETS = {"tools_clinc": ("en",), "tools_massive": ("en", "ru")}
DEPTHS = (1, 5, 10)
NONE = "none"


@dataclass(frozen=True)
class Request:
    """A user's request, and its right tool."""

    text: str
    lang: str
    label: str
    before: str = ""
    """The text before it."""


def requests(path: Path) -> list[Request]:
    """Read a file of labelled requests."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Request(row["text"], row["lang"], row["label"]) for row in rows]


def cards(folder: Path, most: int | None = None) -> list[Card]:
    """Return a card for each tool of a set, with at most so many examples of a language."""
    examples: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for request in requests(folder / "examples.jsonl"):
        examples[request.label][request.lang].append(request.text)
    return [
        Card(name, about["description"], {lang: texts[:most] for lang, texts in examples[name].items()}, shortcut=True)
        for name, about in json.loads((folder / "tools.json").read_text("utf-8")).items()
    ]


def recall(ranker: ToolRanker, asked: Sequence[Request]) -> dict[int, float]:
    """Return, by depth, the share of requests whose tool is among so many best."""
    places = []
    for request in asked:
        names = [hit.name for hit in ranker.rank(request.text, max(DEPTHS), [request.before])]
        places.append(names.index(request.label) if request.label in names else max(DEPTHS))
    return {depth: sum(place < depth for place in places) / len(places) for depth in DEPTHS}


def separation(inside: Sequence[float], outside: Sequence[float]) -> float:
    """Return the share of pairs in which the inside score exceeds the outside one: the area under the ROC curve."""
    wins = sum((request > other) + (request == other) / 2 for request in inside for other in outside)
    return wins / (len(inside) * len(outside))


def measure(folder: Path, langs: Sequence[str], most: int | None) -> list[Row]:
    """Build a set's index and search it with all requests; return a row for each language."""
    cards_by_tool = cards(folder, most)
    started = time.process_time()
    ranker = ToolRanker(cards_by_tool)
    built = time.process_time() - started
    shortcuts = Shortcuts(ranker.cards, ranker)
    asked = requests(folder / "dev.jsonl")
    rows: list[Row] = []
    for lang in langs:
        some = [request for request in asked if request.lang == lang]
        rows.append({"set": f"{folder.name} {lang}", **_row(ranker, shortcuts, some), "build s": built})
    return rows


def measure_context(folder: Path, langs: Sequence[str]) -> list[Row]:
    """Return a row for each language: recall@5 of the request alone, and after another text."""
    ranker, rows, chance = ToolRanker(cards(folder)), list[Row](), random.Random(1)
    for lang in langs:
        asked = [
            request for request in requests(folder / "dev.jsonl") if request.lang == lang and request.label != NONE
        ]
        alike: dict[str, list[str]] = defaultdict(list)
        for request in asked:
            alike[request.label].append(request.text)
        short = [replace(request, text=" ".join(request.text.split()[:2])) for request in asked]
        kinds = {
            "whole": asked,
            "after any": [replace(request, before=chance.choice(asked).text) for request in asked],
            "two words": short,
            "after one like it": [replace(request, before=chance.choice(alike[request.label])) for request in short],
        }
        rows.append({"set": f"{folder.name} {lang}", **{kind: recall(ranker, some)[5] for kind, some in kinds.items()}})
    return rows


def sure_tool(shortcuts: Shortcuts, request: str) -> str | None:
    """Return the name of the sure shortcut for a request; None if none is sure."""
    name = shortcuts.by_any_example(request)
    if name in {card.name for card in shortcuts.cards if card.shortcut}:
        return name
    return shortcuts.meant(request) if shortcuts.may_be_meant(request) else None


def _row(ranker: ToolRanker, shortcuts: Shortcuts, asked: Sequence[Request]) -> Row:
    inside = [request for request in asked if request.label != NONE]
    outside = _best_scores(ranker, [request for request in asked if request.label == NONE])
    taken = [(sure_tool(shortcuts, request.text), request.label) for request in asked]
    right = [name == label for name, label in taken if name]
    times = [_milliseconds(lambda text=request.text: ranker.rank(text, 5)) for request in asked]  # type: ignore[misc]
    return {
        **{f"recall@{depth}": share for depth, share in recall(ranker, inside).items()},
        "AUC": separation(_best_scores(ranker, inside), outside) if outside else None,
        "precision": sum(right) / len(right) if right else None,
        "coverage": len(right) / len(asked),
        "ms": statistics.median(times),
        "ms, p95": statistics.quantiles(times, n=20)[-1],
    }


def _best_scores(ranker: ToolRanker, asked: Sequence[Request]) -> list[float]:
    return [hit.score for request in asked for hit in ranker.rank(request.text, 1)]


def _milliseconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def main() -> None:
    """Measure both sets."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=int, help="examples a card gets of each language (default: all)")
    parser.add_argument("--context", action="store_true", help="measure what was said before instead")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for name, langs in SETS.items():
        folder = chosen.data / name
        rows += measure_context(folder, langs) if chosen.context else measure(folder, langs, chosen.examples)
    show(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
