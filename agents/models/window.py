"""How much text a model takes at once: the size of its window, and what a text takes up of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

PLAIN, OTHER = 0.33, 0.6
"""Tokens of a character, ASCII and other, as long as nothing has been counted; with what templates add."""
LEAST, MOST = 0.15, 3.0
"""Between these every tokenizer lies."""
LEAST_COUNTED = 100
"""Tokens of a text from which something is learnt; most of a shorter one is what a template adds."""


@dataclass
class Window:
    """What is known of the window of a model; what its provider counts corrects it."""

    size: int | None = None
    """Tokens of a prompt and its reply together; None: not known."""
    bound: int | None = None
    """Tokens that a history may have, where they are set."""
    plain: float = PLAIN
    other: float = OTHER

    @property
    def reply(self) -> int | None:
        """The tokens that a reply may have: an eighth of the window."""
        return self.size and self.size // 8

    @property
    def prompt(self) -> int | None:
        """The tokens that a prompt may have."""
        return self.size and self.size - self.size // 8

    def tokens(self, texts: Iterable[str]) -> int:
        """Return about how many tokens texts take."""
        plain, other = _counted(texts)
        return math.ceil(plain * self.plain + other * self.other)

    def learn(self, texts: Iterable[str], tokens: int) -> None:
        """Correct the estimate by what a provider has counted, for the characters that most tokens come from."""
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
