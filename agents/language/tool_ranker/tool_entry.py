"""A tool's card as the ranker reads it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_SLOT = re.compile(r"\{\w+\}")


@dataclass(frozen=True)
class Card:
    """A tool's name and, by language, its description and examples of requests for it."""

    name: str
    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Phrases; a `{slot}` stands for any words."""
    parameters: Sequence[str] = ()
    shortcut: bool = False
    """Whether it may be called without a model: it needs no arguments, and a wrong call does no harm."""

    def texts(self) -> Iterator[str]:
        """Yield all that can be looked for: examples without their slots, descriptions, names."""
        for phrases in self.examples.values():
            yield from (_SLOT.sub(" ", phrase) for phrase in phrases)
        yield from self.descriptions.values()
        yield " ".join([self.name, *self.parameters]).replace("_", " ")

    def whole_phrases(self) -> Iterator[str]:
        """Yield the examples that leave nothing open."""
        for phrases in self.examples.values():
            yield from (phrase for phrase in phrases if not _SLOT.search(phrase))
