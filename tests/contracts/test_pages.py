"""The examples of the documentation, word for word: their files, and what is shown when they are tried."""

from pathlib import Path

import pytest

from tests.support import pages

PAGES = ["docs/langgraph-agents.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_as_it_stands(name: str, tmp_path: Path) -> None:
    """Who copies the files of a page and types its commands sees what the page shows."""
    text = pages.page(name)
    steps = list(pages.steps(text))
    outputs = pages.play(pages.copy(tmp_path, pages.files(text)), steps)

    for step, output in zip(steps, outputs, strict=True):
        assert pages.same(step.expected, output), f"{step.shown}\n{output}"
