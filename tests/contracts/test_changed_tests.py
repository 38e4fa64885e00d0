"""Which tests `make quick` runs for a change."""

from tests.support.changed_tests import matching_tests


def test_a_test_file_matches_itself() -> None:
    """A change of a test file runs this file."""
    assert "tests/engine/traces/test_switch.py" in matching_tests(["tests/engine/traces/test_switch.py"])


def test_a_module_matches_the_tests_that_import_it() -> None:
    """A changed module runs the tests that import it, and not those that import a longer name."""
    selected = matching_tests(["agents/memory/sqlite_file.py"])

    assert "tests/engine/unit/memory/test_opening.py" in selected
    assert "tests/engine/unit/schedule/test_parse.py" not in selected


def test_a_prompt_matches_the_tests_of_prompts() -> None:
    """A changed prompt runs the checks of all prompts."""
    assert matching_tests(["prompts/en/supervisor.md"]) == ["tests/contracts/test_prompts.py"]


def test_a_document_matches_nothing() -> None:
    """A changed picture needs no test; `make quick` then runs the linters only."""
    assert matching_tests(["docs/graph.svg"]) == []
