"""The page of transcripts is what the program says now."""

import pytest

from tests.support.transcripts import BLOCK, PAGE, held

DAYS = PAGE.read_text("utf-8").partition("## Two days with trouble")[2]


@pytest.mark.slow
@pytest.mark.parametrize("day", [block[1] for block in BLOCK.finditer(DAYS)], ids=["local:rules", "erring model"])
async def test_a_day_of_the_page_is_said_again(day: str) -> None:
    """Typed line by line at a terminal, it shows what the page shows (`python -m tests.support.transcripts`)."""
    assert await held(day) == day
