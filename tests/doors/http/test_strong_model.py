"""The published conversations with a strong model are what comes of them."""

import pytest

from tests.support.strong_model import BLOCK, PAGE, hold, published

pytestmark = [pytest.mark.slow, pytest.mark.needs("orders", "planner", "player", "profile", "recall", "research")]


async def test_what_the_user_sees_is_what_is_published() -> None:
    """Each line of the page is shown again, and each model is told what it must know."""
    page = PAGE.read_text("utf-8")
    screens, faults = await hold(BLOCK.findall(page))
    assert faults == []
    assert published(page, screens) == page
