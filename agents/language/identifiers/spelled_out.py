"""Identifiers that a user spells out: "what about order W2378156?"."""

import re
from collections.abc import Iterable
from string import punctuation

FEWEST_DIGITS = 4
"""A number of fewer digits is never an identifier: people count with it ("the third one")."""
# Chinese and Japanese are written without spaces, an identifier between them is not in their letters.
_BETWEEN = re.compile(r"[\s,;!?\"'`()\[\]{}<>|«»„“”‘’…\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]+")
_EDGE = f"{punctuation}№—–"


def spelled(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts that may be identifiers, each as it stands there and without what surrounds it.

    A part of a word is none, nor is a plain word, nor a small number.
    """
    words = {word for text in texts for word in _BETWEEN.split(text)}
    candidates = {cut for word in words for cut in (word, word.strip(_EDGE), word.lstrip(_EDGE), word.rstrip(_EDGE))}
    return frozenset(word for word in candidates if _may_be_one(word))


def _may_be_one(word: str) -> bool:
    bare = word.strip(_EDGE)
    if bare.isdecimal():
        return len(bare) >= FEWEST_DIGITS
    return bool(bare) and not (bare.isalpha() and (bare.islower() or bare.istitle()))
