"""The rows that `judge` prints: precision, recall, calls, tokens, time and price."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from app.prices import Price, Tokens
from benchmarks.judge_stage import Outcome
from benchmarks.report import Row


def rows_of(outcomes: Sequence[Outcome], prices: Mapping[str, Price]) -> list[Row]:
    """Return a row for each set, language and kind, and one for all."""
    groups: defaultdict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.case.set, outcome.case.lang, outcome.case.kind].append(outcome)
    rows = [_row(group, some, prices) for group, some in sorted(groups.items())]
    return [*rows, _row(("all", "", ""), outcomes, prices)]


def _row(group: tuple[str, str, str], outcomes: Sequence[Outcome], prices: Mapping[str, Price]) -> Row:
    answered = [outcome for outcome in outcomes if outcome.failed is None]
    wanted, made, right = (sum(getattr(case, name) for case in answered) for name in ("wanted", "made", "right"))
    models = defaultdict[str, Tokens](Tokens)
    for outcome in outcomes:
        for model, tokens in outcome.models.items():
            models[model].add(tokens)
    calls = sum(tokens.calls for tokens in models.values())
    name, lang, kind = group
    return {
        "set": name,
        "lang": lang,
        "kind": kind,
        "turns": len(outcomes),
        "failed": len(outcomes) - len(answered),
        "wanted": wanted,
        "precision": right / made if made else None,
        "recall": right / wanted if wanted else None,
        "calls": calls,
        "a turn": calls / len(outcomes) if outcomes else None,
        "observers": sum(outcome.observers for outcome in outcomes),
        "deaf": sum(outcome.deaf for outcome in outcomes),
        "input": sum(tokens.input for tokens in models.values()),
        "cached": sum(tokens.cached for tokens in models.values()),
        "output": sum(tokens.output for tokens in models.values()),
        "s a turn": statistics.median(outcome.ms for outcome in outcomes) / 1000 if outcomes else None,
        "price": _total(models, prices),
    }


def _total(models: Mapping[str, Tokens], prices: Mapping[str, Price]) -> float | None:
    """Return the price of all calls; None if the price of one of the called models is unknown."""
    if any(model not in prices for model in models):
        return None
    return sum(prices[model].of(tokens) for model, tokens in models.items())
