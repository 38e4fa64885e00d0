"""The examples of the documentation, word for word: their files, and what is shown when they are tried."""

import re
from pathlib import Path
from typing import Any

import pytest

from app.testing import Chat
from tests.support import pages

pytestmark = pytest.mark.needs("planner")

PAGES = [
    # These take several seconds each, in processes of their own.
    pytest.param("README.md", marks=pytest.mark.slow),
    pytest.param("docs/from-langgraph-swarm.md", marks=pytest.mark.slow),
    pytest.param("docs/langgraph-agents.md", marks=[pytest.mark.slow, pytest.mark.needs("agent_graphs")]),
    pytest.param("docs/seat.md", marks=pytest.mark.slow),
    pytest.param("docs/translate.md", marks=pytest.mark.slow),
    pytest.param("docs/write-a-dialog.md", marks=pytest.mark.slow),
    pytest.param("docs/write-a-plugin.md", marks=pytest.mark.slow),
    pytest.param("docs/write-a-specialist.md", marks=pytest.mark.slow),
    pytest.param("docs/write-a-tool.md", marks=pytest.mark.slow),
    pytest.param("docs/write-an-observer.md", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.needs("profile")
def test_a_page_works_as_it_stands(name: str, tmp_path: Path) -> None:
    """A reader who copies the files of a page and types its commands sees the page's output."""
    text = pages.page(name)
    steps = list(pages.steps(text))
    outputs = pages.play(pages.copy(tmp_path, pages.files(text)), steps)

    for step, output in zip(steps, outputs, strict=True):
        assert pages.same(step.expected, output), f"{step.shown}\n{output}"


async def test_the_example_of_a_test_passes(chat: Chat) -> None:
    """The trace test that CONTRIBUTING shows is one."""
    (source,) = re.findall(r"```python\n(.*?)```", pages.page("CONTRIBUTING.md"), re.DOTALL)
    module: dict[str, Any] = {}
    exec(compile(source, "CONTRIBUTING.md", "exec"), module)

    await module["test_the_planner_takes_over"](chat)
