"""Read the setting SEARCH_SOURCES: `documents, wikipedia, web: searxng + ddgs > tavily`.

A comma separates the retrievers that can be chosen. `+` asks several at once; `>` asks the next one where the one
before it fails or finds nothing, and binds more loosely than `+`. `name:` before them names the combination.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = re.compile("[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True)
class Plan:
    """A retriever that can be chosen: alternatives in their order, each of them sources that are asked at once."""

    name: str
    alternatives: Sequence[Sequence[str]]

    @property
    def sources(self) -> list[str]:
        """The names of all sources that it needs."""
        return [name for group in self.alternatives for name in group]


def read_plans(text: str) -> list[Plan]:
    """Return what a setting lists.

    Raises:
        ValueError: it is not written as it should be; the message says how.
    """
    plans = [_plan(entry) for entry in text.split(",") if entry.strip()]
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise ValueError("give each entry a name of its own")
    return plans


def _plan(entry: str) -> Plan:
    name, colon, body = entry.rpartition(":")
    alternatives = tuple(tuple(source.strip() for source in group.split("+")) for group in body.split(">"))
    plan = Plan(name.strip() if colon else "_or_".join("_and_".join(group) for group in alternatives), alternatives)
    wrong = [word for word in [*plan.sources, *([plan.name] if colon else [])] if not _NAME.fullmatch(word)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no name; write sources as in: documents, web: searxng + ddgs > wikipedia")
    return plan
