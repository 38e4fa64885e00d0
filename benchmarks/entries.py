"""Measure which messages go straight to a dialog, without a call of the supervisor's model.

`python -m benchmarks.entries --data DIR`. Two questions, for the dialogs of this application:

- Requests of `tools_clinc` and `tools_massive` in DIR (`dev.jsonl`): what share goes straight to a dialog, and is it
  one of those that dialog is for? The requests for no tool at all (`none`, of CLINC) must go to none.
- The dialogs' own examples, a tenth left out at a time and asked for: what share goes straight to its dialog?
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agents.language.tool_ranker.ranker import Card, Shortcuts
from agents.nodes.shortcut import ShortcutNode
from app.composition import discover
from benchmarks.report import Row, arguments, show
from benchmarks.tools import NONE, SETS, requests
from prompts import edition

FOLDS = 10
MEANT: Mapping[str, Sequence[str]] = {
    "plan_things": (
        *("todo_list", "todo_list_update", "shopping_list", "shopping_list_update", "reminder", "reminder_update"),
        *("alarm", "timer", "calendar", "calendar_update", "schedule_meeting", "timezone", "datetime_convert"),
        *("alarm_set", "alarm_query", "alarm_remove", "calendar_set", "calendar_query", "calendar_remove"),
        *("lists_createoradd", "lists_query", "lists_remove"),
    ),
    "get_acquainted": (),
}
"""The labels of the sets that each dialog is for, by the tool that leads to it."""


async def ask_sets(serving: ShortcutNode, data: Path) -> list[Row]:
    """Return a row for each set and language."""
    rows: list[Row] = []
    for name, langs in SETS.items():
        for lang in langs:
            asked = [(each.text, each.label) for each in requests(data / name / "dev.jsonl") if each.lang == lang]
            rows.append({"asked": f"{name} {lang}", **await _row(serving, asked)})
            if outside := [(text, label) for text, label in asked if label == NONE]:
                rows.append({"asked": f"{name} {lang}, for no tool", **await _row(serving, outside)})
    return rows


async def ask_examples(serving: ShortcutNode) -> Row:
    """Return the row of the dialogs' own examples; each is asked by those who have not seen it."""
    cards, taken, asked = serving.shortcuts.cards, 0, 0
    right = 0
    for fold in range(FOLDS):
        left_out = [(card, lang, phrase) for card, lang, phrase in _phrases(cards) if _place(phrase) % FOLDS == fold]
        less = [_without(card, {phrase for _, _, phrase in left_out}) for card in cards]
        serving.made = {edition(): Shortcuts(less)}
        for card, _, phrase in left_out:
            if entry := serving.entry_by_tool.get(card.name):
                asked += 1
                named = await serving.recognise(phrase)
                is_entry = named in serving.entry_by_tool.values()
                taken += is_entry
                right += is_entry and named == entry
    return {"asked": "own examples, left out", "requests": asked, **_shares(asked, taken, right)}


async def _row(serving: ShortcutNode, asked: Sequence[tuple[str, str]]) -> Row:
    entries = [(await serving.recognise(text), label) for text, label in asked]
    taken = [(name, label) for name, label in entries if name in MEANT]
    right = sum(label in MEANT[name or ""] for name, label in taken)
    return {"requests": len(asked), **_shares(len(asked), len(taken), right)}


def _shares(asked: int, taken: int, right: int) -> Row:
    return {"straight": taken, "right": right, "precision": right / taken if taken else None, "coverage": taken / asked}


def _phrases(cards: Iterable[Card]) -> Iterable[tuple[Card, str, str]]:
    for card in cards:
        for lang, phrases in card.examples.items():
            yield from ((card, lang, phrase) for phrase in phrases if "{" not in phrase)


def _place(phrase: str) -> int:
    """Return a number for a phrase that is the same in every run."""
    return sum(phrase.encode())


def _without(card: Card, phrases: set[str]) -> Card:
    return replace(card, examples={lang: [p for p in some if p not in phrases] for lang, some in card.examples.items()})


async def measure(data: Path) -> list[Row]:
    """Return every row."""
    serving = ShortcutNode(discover()[0])
    return [*await ask_sets(serving, data), await ask_examples(serving)]


def main() -> None:
    """Measure both."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.parse_args()
    show(asyncio.run(measure(chosen.data)), as_json=chosen.json)


if __name__ == "__main__":
    main()
