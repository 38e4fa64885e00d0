"""The text that a model takes at once: the size of its window, and a text's share of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

PLAIN, OTHER = 0.33, 0.6
"""Tokens of a character, ASCII and other, until a provider has counted; the additions of templates included."""
LEAST, MOST = 0.15, 3.0
"""Tokens of a character: every tokenizer lies between these bounds."""
LEAST_COUNTED = 100
"""The least tokens of a text to learn from; most tokens of a shorter one are a template's."""


@dataclass
class Window:
    """An estimate of a model's window; its provider's counts correct it."""

    size: int | None = None
    """Tokens of a prompt and its reply together; None: not known."""
    bound: int | None = None
    """The most tokens of a history, if set."""
    plain: float = PLAIN
    other: float = OTHER

    @property
    def reply(self) -> int | None:
        """The most tokens of a reply: an eighth of the window."""
        return self.size and self.size // 8

    @property
    def prompt(self) -> int | None:
        """The most tokens of a prompt."""
        return self.size and self.size - self.size // 8

    def tokens(self, texts: Iterable[str]) -> int:
        """Return about how many tokens texts take."""
        plain, other = _counted(texts)
        return math.ceil(plain * self.plain + other * self.other)

    def learn(self, texts: Iterable[str], tokens: int) -> None:
        """Correct the estimate by a provider's count, for the kind of characters with most of the tokens."""
        plain, other = _counted(texts)
        if tokens < LEAST_COUNTED or not plain + other:
            return
        if plain * self.plain >= other * self.other:
            self.plain = min(max((tokens - other * self.other) / plain, LEAST), MOST)
        else:
            self.other = min(max((tokens - plain * self.plain) / other, LEAST), MOST)


def _counted(texts: Iterable[str]) -> tuple[int, int]:
    text = "".join(texts)
    plain = len(text.encode("ascii", "ignore"))
    return plain, len(text) - plain
