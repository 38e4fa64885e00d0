"""Stems of words."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from agents.language.text.stems import stem

PARTS = (("nation", "hope", "happi"), ("ally", "ing", "ful"), ("s", "ness", "ment"))
WORDS = ["".join(parts) for parts in product(*PARTS)]


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hurried")
def test_threads_stem_as_one_does() -> None:
    """The rules answer in threads; a stemmer that two of them share mixes their words up, or raises IndexError."""
    alone = [stem(word, "en") for word in WORDS]
    for _ in range(20):
        stem.cache_clear()
        with ThreadPoolExecutor(4) as pool:
            assert [*pool.map(stem, WORDS, ["en"] * len(WORDS))] == alone
