"""The figures of `python -m benchmarks.search`, on the Debian handbook where it is installed."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.search import BARS, BOOKS, HANDBOOK, QUESTIONS, ask, measure, sections


@pytest.mark.slow
@pytest.mark.skipif(not HANDBOOK.exists(), reason="needs Debian's package debian-handbook")
@pytest.mark.parametrize("lang", BOOKS)
def test_a_section_is_found_by_its_title(lang: str, tmp_path: Path) -> None:
    """Among the first five results, for most of a book's sections, whose files do not have their titles."""
    measured = asyncio.run(measure(lang, sections(HANDBOOK / BOOKS[lang]), tmp_path))

    assert measured.queries > 450
    assert measured.recall >= BARS[lang]


@pytest.mark.slow
@pytest.mark.skipif(not HANDBOOK.exists(), reason="needs Debian's package debian-handbook")
def test_questions_of_people_are_answered(tmp_path: Path) -> None:
    """In the book's words nearly all, most with typing errors, and with a list of synonyms most in other words."""
    figures = ask({lang: HANDBOOK / name for lang, name in BOOKS.items()}, QUESTIONS, tmp_path)
    shares = {(it.lang, it.kind): it.found / it.questions for it in figures}
    with_list = {(it.lang, it.kind): it.with_synonyms / it.questions for it in figures}

    assert min(shares["en", "plain"], shares["ru", "plain"]) > 0.8
    assert min(shares["en", "typing"], shares["ru", "typing"]) > 0.8
    assert with_list["en", "synonym"] > 0.8
    assert with_list["ru", "synonym"] > 0.6
