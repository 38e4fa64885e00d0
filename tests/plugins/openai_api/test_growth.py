"""The steps of reading a request grow with its text: twice the text, at most three times the steps."""

import re
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.plugins.openai_api import front_ends
from app.plugins.openai_api.reply import MODEL
from tests.support.matching_steps import deep as deep
from tests.support.matching_steps import grows, hold_against_seeds


def test_no_pattern_of_front_ends_grows_faster_than_the_text() -> None:
    """One pattern is searched for in a text, the others are held against its beginning."""
    patterns = {name: own for name, own in vars(front_ends).items() if isinstance(own, re.Pattern)}
    assert {"RESULT", "TAG"} <= {*patterns}
    assert grows(front_ends.RESULT) == []
    hold_against_seeds(patterns)


@pytest.mark.parametrize(
    "body",
    [
        lambda size: {"messages": [{"role": "assistant", "content": "x"}] * size},
        lambda size: {"messages": [{"role": "user", "content": [{"type": "text", "text": " "}] * size}]},
        lambda size: {"messages": [{"role": "user", "content": "x"}], "response_format": {"x": ["y"] * size}},
        lambda size: {"messages": [{"role": "user", "content": "x"}], "stop": ["x"] * size},
    ],
    ids=["messages", "parts", "what is refused", "stops"],
)
async def test_no_request_is_read_in_more_calls(client: httpx.AsyncClient, body: Callable[[int], Any]) -> None:
    """Twice as large a request that is refused takes at most three times the calls of functions, C's among them."""
    counts = []
    for size in (400, 800):
        calls = 0

        def count(_: object, event: str, __: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        request = {"model": MODEL, **body(size)}
        sys.setprofile(count)
        try:
            answer = await client.post("/v1/chat/completions", json=request)
        finally:
            sys.setprofile(None)
        assert answer.status_code == 400
        counts.append(calls)
    assert counts[1] <= 3 * counts[0]
