"""Faults of a provider: those that pass are got over, those that last are told."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Behavior, Delay, Fail, StreamFault

from agents.errors import ModelUnavailable
from agents.models.reply import Listener, reply
from tests.support import odd_provider
from tests.support.endpoint_talk import (
    LATE,
    SPEAKER,
    STREAM,
    TEXT,
    bodies,
    calm,
    endpoint_model,
    errors,
    heard,
    patience,
    says,
    talk,
    turn,
)
from tests.support.odd_provider import Chunk, Provider
from tests.support.scripted_assistant import THREAD, said, script_lines

# The client library keeps one connection pool for each address, and a pool belongs to one event loop.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "requests", "retries"),
    [
        pytest.param(Fail(429, retry_after=0.4, times=2), 3, 0, id="429"),
        pytest.param(Fail(500), 2, 0, id="500"),
        pytest.param(Delay(LATE, match=SPEAKER), 2, 0, id="hang"),
        pytest.param(StreamFault("truncate", after_chunks=3, match=STREAM), 2, 1, id="cut in mid-text"),
        pytest.param(StreamFault("disconnect", after_chunks=3, match=STREAM), 2, 1, id="dropped in mid-text"),
        pytest.param(StreamFault("stall", 3, stall_seconds=LATE, match=STREAM), 2, 1, id="stall in mid-text"),
        pytest.param(StreamFault("stall", 0, stall_seconds=LATE, match=STREAM), 2, 0, id="stall before the text"),
        pytest.param(StreamFault("truncate", after_chunks=0, match=STREAM), 2, 1, id="nothing at all"),
        pytest.param(StreamFault("malformed", after_chunks=3, match=STREAM), 2, 1, id="garbled chunk"),
    ],
)
async def test_a_passing_fault_is_got_over(
    mock: LLMock, tmp_path: Path, fault: Behavior, requests: int, retries: int
) -> None:
    """After a fault that passes the user gets the whole answer, once, after as few requests as can be."""
    mock.add(fault, says(TEXT), says(TEXT))
    async with talk(tmp_path, mock.base_url(), timeout=patience(fault)) as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [TEXT]
        assert errors(events) == ["model_retry"] * retries
        assert len(mock.requests) == requests
        mock.assert_resilient()
        calm(mock).add(says("Still here."))
        assert said(await turn(assistant, "and now?")) == ["Still here."]
        assert await script_lines(assistant) == [
            "user: hi",
            f"supervisor: {TEXT}",
            "user: and now?",
            "supervisor: Still here.",
        ]
        assert heard(bodies(mock)[-1], "assistant") == [TEXT]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "requests", "retries"),
    [
        pytest.param(Fail(429, retry_after=0.1, times=None), "busy", 3, 0, id="429"),
        pytest.param(Fail(500, times=None), "busy", 3, 0, id="500"),
        pytest.param(Delay(LATE, times=None), "busy", 3, 0, id="hang"),
        pytest.param(StreamFault("disconnect", 3, times=None), "busy", 3, 2, id="dropped in mid-text"),
        pytest.param(StreamFault("stall", 3, stall_seconds=LATE, times=None), "busy", 3, 2, id="stall in mid-text"),
        pytest.param(Fail(401, times=None), "key_refused", 1, 0, id="401"),
        pytest.param(Fail(403, times=None), "key_refused", 1, 0, id="403"),
        pytest.param(Fail(404, code="model_not_found", times=None), "unavailable", 1, 0, id="no such model"),
        pytest.param(Fail(400, code="context_length_exceeded", times=None), "too_long", 1, 0, id="too long"),
        pytest.param(Fail(400, times=None), "unavailable", 1, 0, id="400"),
    ],
)
async def test_a_lasting_fault_is_told(
    mock: LLMock, tmp_path: Path, fault: Behavior, code: str, requests: int, retries: int
) -> None:
    """A provider that does not recover is told as what it is, after few requests; the next turn knows the message."""
    mock.add(fault)
    async with talk(tmp_path, mock.base_url(), timeout=patience(fault)) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry"] * retries + [code]
        assert said(events) == []
        assert len(mock.requests) == requests
        mock.assert_resilient()
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]
        assert heard(bodies(mock)[-1], "user") == ["hi\n\nand now?"]
        assert [line.metadata.get("code") for line in await assistant.history(THREAD)] == [None, code, None, None]


@pytest.mark.slow
async def test_a_stream_that_is_always_cut_is_no_answer(mock: LLMock, tmp_path: Path) -> None:
    """Half an answer is never taken for one; after three requests the user is told."""
    mock.add(StreamFault("truncate", after_chunks=3, times=None))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry", "model_retry", "busy"]
        assert said(events) == []
        assert len(mock.requests) == 3
        apology = (await assistant.history(THREAD))[-1]
        assert apology.metadata["original"].strip() not in ("", apology.text)
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


async def test_a_drop_before_the_first_word_is_told(mock: LLMock, tmp_path: Path) -> None:
    """A connection that is lost before the first word ends in an error, and the thread goes on."""
    mock.add(StreamFault("disconnect", after_chunks=0, times=None))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events)[-1] in ("busy", "unavailable")
        assert said(events) == []
        assert len(mock.requests) <= 3
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


@pytest.mark.slow
async def test_a_server_that_is_not_there(mock: LLMock, closed_port: str, tmp_path: Path) -> None:
    """A refused connection is told as a model that is not available; the thread goes on when it is."""
    async with talk(tmp_path, closed_port) as assistant:
        assert errors(await turn(assistant, "hi")) == ["unavailable"]
    mock.add(says("Here I am."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        assert said(await turn(assistant, "and now?")) == ["Here I am."]
        assert heard(bodies(mock)[-1], "user") == ["hi\n\nand now?"]


async def test_an_error_in_place_of_a_reply(tmp_path: Path) -> None:
    """An error that comes inside a stream, even as its first word, is a broken reply like any other."""
    trouble = '{"error": {"message": "overloaded", "code": 529}}'
    replies: list[Sequence[Chunk]] = [
        [trouble],
        [odd_provider.delta(role="assistant", content="One"), trouble],
        odd_provider.words(TEXT),
    ]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry", "model_retry"]
        assert said(events) == [TEXT]
        assert len(server.bodies) == 3


SAID = [
    ("Conversation roles must alternate user/assistant/user at row 5:\n{{ raise }}", "user/assistant/user at row 5:"),
    ("The model `tiny` does not exist.", "The model `tiny` does not exist."),
    ("Bad message: 'my pin is 4711'", "Bad message:"),
    ("invalid content MY PIN IS 4711, do not tell", "invalid content"),
    ("Bad word 'pin' in it", "Bad word"),
    ("field required [{'input': 'x'}]", "field required"),
    ("bad key sk-abc123 or 0123456789abcdefghij01 or ab***yz", "bad key … or … or …"),
    ("\x1b[31mred", "HTTP 400"),
]


@pytest.mark.parametrize(("message", "quoted"), SAID)
async def test_a_refusal_is_told_to_the_operator(message: str, quoted: str, caplog: pytest.LogCaptureFixture) -> None:
    """The server's words stand in the cause and in the log, without keys and without what the user said."""
    prompt: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("my pin is 4711, do not tell")]
    async with Provider.open(odd_provider.refuse(400, {"message": message})) as server:
        with pytest.raises(ModelUnavailable) as failure:
            await reply([endpoint_model(server.url)], prompt, [], Listener("supervisor", lambda event: None))
    # The log of the HTTP client has the port, which may be any number.
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("agents"))
    for text in (failure.value.cause, ours):
        assert quoted in text
        assert not any(secret in text.lower() for secret in ("pin", "4711", "sk-abc", "0123456789", "***", "\x1b"))


async def test_a_long_refusal_is_cut() -> None:
    """A server's words have so many characters; the message of a refused key leaves them out."""
    prompt: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hello")]
    for status, characters in ((400, 300), (401, 100)):
        async with Provider.open(odd_provider.refuse(status, {"message": "so " * 500})) as server:
            with pytest.raises(ModelUnavailable) as failure:
                await reply([endpoint_model(server.url)], prompt, [], Listener("supervisor", lambda event: None))
        assert len(failure.value.cause) < characters
