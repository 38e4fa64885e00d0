"""Tables from which the quick run takes a sample, and the slow run the rest."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def sample(cases: Iterable[Any], every: int, ids: Iterable[str] | None = None) -> Sequence[Any]:
    """Return the cases as parameters of a test; all but the first one of `every` so many are slow."""
    values = list(cases)
    names = list(ids) if ids is not None else [None] * len(values)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            id=name,
            marks=[pytest.mark.slow] if place % every else [],
        )
        for place, (value, name) in enumerate(zip(values, names, strict=True))
    ]
