"""The figures of `python -m benchmarks.search`, on the Debian handbook where it is installed."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.search import BARS, BOOKS, HANDBOOK, measure, sections


@pytest.mark.slow
@pytest.mark.skipif(not HANDBOOK.exists(), reason="needs Debian's package debian-handbook")
@pytest.mark.parametrize("lang", BOOKS)
def test_a_section_is_found_by_its_title(lang: str, tmp_path: Path) -> None:
    """Among the first five results, for most of a book's sections, whose files do not have their titles."""
    measured = asyncio.run(measure(lang, sections(HANDBOOK / BOOKS[lang]), tmp_path))

    assert measured.queries > 450
    assert measured.recall >= BARS[lang]
