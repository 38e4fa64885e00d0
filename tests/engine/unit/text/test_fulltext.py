"""The full-text index: our own stems, weighted columns, and no text that is syntax."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.language.text.fulltext import MOST_WORDS, Index, IndexEntry
from tests.support.made_inputs import tried

TOOLS = [
    IndexEntry("weather", "Weather", "Tells the forecast of a town."),
    IndexEntry("todo", "To-dos", "Adds, shows and deletes things to buy; mentions the weather once."),
    IndexEntry("language", "C++ courses", "Courses for those who write programs."),
    IndexEntry("обед", "Рестораны", "Находит кафе и рестораны рядом, бронирует столик."),
    IndexEntry("餐厅", "餐厅推荐", "推荐附近的餐厅"),
]


def keys(query: str, lang: str = "en", ignored: frozenset[str] = frozenset()) -> list[str]:
    """Return the keys that a search finds."""
    return [hit.key for hit in Index(TOOLS, lang, ignored=ignored).search(query)]


@pytest.mark.parametrize(
    ("query", "lang", "best"),
    [
        ("forecasts", "en", "weather"),
        ("add a thing", "en", "todo"),
        ("c++", "en", "language"),
        ("забронируй столики в ресторане", "ru", "обед"),
        ("附近有什么好餐厅", "zh", "餐厅"),
    ],
)
def test_words_are_found_in_any_form(query: str, lang: str, best: str) -> None:
    """Endings do not matter; CJK is found by bigrams, signs that belong to a name are kept."""
    assert keys(query, lang)[0] == best


def test_a_title_counts_more() -> None:
    """A match in the title comes before a match in the text."""
    assert keys("weather") == ["weather", "todo"]


def test_a_hit_says_what_it_has() -> None:
    """The stems of the query that an entry contains, and a score that falls."""
    first, second = Index(TOOLS, "en").search("weather forecast Ulm")
    assert first.words == {"weather", "forecast"}
    assert second.words == {"weather"}
    assert first.score > second.score


def test_ignored_stems_count_for_nothing() -> None:
    """A query of small words finds nothing."""
    assert keys("of the and", ignored=frozenset({"of", "the", "and"})) == []
    assert Index(TOOLS, "en", ignored=frozenset({"the"})).stems_of("The weather, the weather") == ["weather"]


@tried(8)
@given(st.text(max_size=200) | st.sampled_from(["weather AND", '"', "title:weather", "NEAR(a b)", "-weather", "*"]))
def test_any_text_is_a_query(query: str) -> None:
    """Nothing a user writes is taken for the index's own syntax."""
    assert len(INDEX.search(query, limit=3)) <= 3


INDEX = Index(TOOLS, "en")


def test_a_long_text_is_searched_by_its_beginning() -> None:
    """The number of words looked for is bounded."""
    assert len(INDEX.stems_of(" ".join(f"word{number}" for number in range(1000)))) == MOST_WORDS


def test_an_empty_index_finds_nothing() -> None:
    """No entries, no hits."""
    assert Index([], "en").search("weather") == []
