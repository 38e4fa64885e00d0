"""A fallback model steps in where the first one fails."""

from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Behavior, Fail, Match, Reply, StreamFault

from agents.events import ModelEnd
from tests.support.endpoint_talk import TEXT, calm, errors, says, talk, turn
from tests.support.scripted_assistant import said

# The client library keeps one connection pool for each address, and a pool belongs to one event loop.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        pytest.param(Fail(503, retry_after=0.1, times=None, match=Match(model="m")), 3, id="503"),
        pytest.param(Fail(401, times=None, match=Match(model="m")), 1, id="401"),
        pytest.param(StreamFault("disconnect", 2, times=None, match=Match(model="m")), 3, id="dropped"),
    ],
)
async def test_the_fallback_model_steps_in(mock: LLMock, tmp_path: Path, fault: Behavior, requests: int) -> None:
    """When the first model fails the fallback answers in the same turn, and the events say which one did."""
    mock.add(fault, Reply(text=TEXT, match=Match(model="n")))
    async with talk(tmp_path, mock.base_url(), fallback="openai:n") as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [TEXT]
        ends = [(event.model, event.ok) for event in events if isinstance(event, ModelEnd)]
        assert ends[0] == ("openai:m", False)
        assert ends[-1] == ("openai:n", True)
        assert errors(events) == ["model_retry"] * (len(ends) - 1)
        assert [record.model for record in mock.requests] == ["m"] * requests + ["n"]
        mock.assert_resilient()
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


@pytest.mark.slow
async def test_a_fallback_that_fails_too_is_told(mock: LLMock, tmp_path: Path) -> None:
    """When no model answers, the user is told what the last one suffers from."""
    mock.add(Fail(401, times=None, match=Match(model="m")), Fail(500, times=None, match=Match(model="n")))
    async with talk(tmp_path, mock.base_url(), fallback="openai:n") as assistant:
        assert errors(await turn(assistant, "hi")) == ["model_retry", "busy"]
        assert len(mock.requests) == 4
    mock.assert_resilient()
