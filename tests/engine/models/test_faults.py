"""Faults of a provider: those that pass are got over, those that last are told."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Behavior, Delay, Fail, StreamFault
from pydantic import SecretStr

from agents.errors import ModelUnavailable
from agents.models.factory import Endpoint, Parameters, make_model
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
from tests.support.odd_provider import Provider
from tests.support.refusing_server import refused
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
async def test_a_server_that_is_not_there(mock: LLMock, closed_port: str, tmp_path: Path) -> None:
    """A refused connection is told as a model that is not available; the thread goes on when it is."""
    async with talk(tmp_path, closed_port) as assistant:
        assert errors(await turn(assistant, "hi")) == ["unavailable"]
    mock.add(says("Here I am."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        assert said(await turn(assistant, "and now?")) == ["Here I am."]
        assert heard(bodies(mock)[-1], "user") == ["hi\n\nand now?"]


SAID = [
    ("Conversation roles must alternate user/assistant/user at row 5:\n{{ raise }}", "user/assistant/user at row 5:"),
    ("The model `tiny` does not exist.", "The model `tiny` does not exist."),
    ("Bad message: 'my pin is 4711'", "Bad message:"),
    ("invalid content MY PIN IS 4711, do not tell", "invalid content"),
    ("Bad word 'pin' in it", "Bad word"),
    ("field required [{'input': 'x'}]", "field required"),
    ("bad key, or sk-abc123 or 0123456789abcdefghij01 or ab***yz", "bad …, or … or … or …"),
    ("\x1b[31mred", "HTTP 400"),
]


@pytest.mark.parametrize(("message", "quoted"), SAID)
async def test_a_refusal_is_told_to_the_operator(message: str, quoted: str, caplog: pytest.LogCaptureFixture) -> None:
    """The server's words stand in the cause and in the log, without keys and without what the user said.

    Any key of ours is left out, however short.
    """
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


def event(problem: object) -> bytes:
    """Return a stream with an error in place of its first piece."""
    return odd_provider.HEAD + f"data: {json.dumps({'error': problem})}\n\n".encode()


QUOTA = {"message": "You exceeded your current quota, check your plan and billing.", "code": "insufficient_quota"}
SOON = {"message": "You exceeded your current quota, check your plan and billing. Retry in 43.5s.", "code": 429}
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<html>Hello</html>"
KINDS = [
    pytest.param(refused(200, {"error": "Unexpected method."}), "unavailable", 1, "Unexpected method.", id="whole"),
    pytest.param(
        refused(200, {"choices": None, "base": {"msg": "no money"}}), "unavailable", 1, "no money", id="nested"
    ),
    pytest.param(refused(200, {"error": "It is overloaded."}), "busy", 3, "It is overloaded.", id="whole, busy"),
    pytest.param(PAGE, "unavailable", 1, "check the address", id="page"),
    pytest.param(event({"message": "Unauthorized."}), "key_refused", 1, "Unauthorized.", id="key in a stream"),
    pytest.param(event({"message": "No foo.", "type": "not_found"}), "unavailable", 1, "No foo.", id="wrong"),
    pytest.param(event({"message": "No foo.", "code": "404"}), "unavailable", 1, "No foo.", id="status in a stream"),
    pytest.param(event({"message": "No more."}), "busy", 3, "No more.", id="nobody knows"),
    pytest.param(event({"message": "Too many tokens, wait a moment."}), "busy", 3, "Too many", id="throttled"),
    pytest.param(event({"message": "Too many tokens.", "code": "429"}), "busy", 3, "Too many", id="throttled by code"),
    pytest.param(event({"message": "Too many tokens."}), "too_long", 1, "Too many", id="too long in a stream"),
    pytest.param(odd_provider.refuse(429, QUOTA), "unavailable", 1, "plan and billing", id="unpaid"),
    pytest.param(odd_provider.refuse(429, SOON), "busy", 1, "Retry in", id="limit of a minute"),
    pytest.param(odd_provider.refuse(403, {"message": "It was flagged."}), "refused", 1, "flagged", id="moderated"),
    pytest.param(
        odd_provider.refuse(400, {"message": "Failed.", "failed_generation": "<x>"}), "busy", 3, "Failed.", id="misread"
    ),
    pytest.param(["{{{"], "busy", 3, "a piece that nobody can read", id="nonsense"),
    pytest.param([odd_provider.end("stop")], "busy", 3, "the reply is empty", id="empty"),
]


def failed(problem: dict[str, str], kind: str = "failed") -> bytes:
    """Return a stream of OpenAI's responses that ends with a failure."""
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "error": problem}
    told = {"type": "error", **problem} if kind == "error" else {"type": f"response.{kind}", "response": response}
    return odd_provider.HEAD + f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()


LONG = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}


WITHIN_A_RESPONSE = [
    (failed({"code": "server_error", "message": "No more."}), "busy", 3, "No more."),
    (failed({"code": "server_error", "message": "No more."}, "error"), "busy", 3, "No more."),
    (failed(QUOTA), "unavailable", 1, "plan and billing"),
    (failed(LONG, "error"), "too_long", 1, "context window"),
    (PAGE, "busy", 3, "check the address"),
]


@pytest.mark.parametrize(
    ("wire", "answer", "trouble", "requests", "told"),
    [
        *(pytest.param("chat", *kind.values, id=kind.id) for kind in KINDS),
        *(("responses", *kind) for kind in WITHIN_A_RESPONSE),
    ],
)
async def test_a_fault_is_told_as_what_it_is(
    wire: Any, answer: odd_provider.Reply, trouble: str, requests: int, told: str
) -> None:
    """Whatever the status and the form, who must act is told, with the sentence; only what may pass is asked again."""
    prompt: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hello")]
    async with Provider.open(answer) as server:
        endpoint = Endpoint(key=SecretStr("key"), base_url=server.url, retries=0)
        model = make_model("openai:m", endpoint, Parameters(wire=wire))
        with pytest.raises(ModelUnavailable) as failure:
            await reply([model], prompt, [], Listener("supervisor", lambda event: None))
        assert (failure.value.trouble, len(server.bodies)) == (trouble, requests)
    assert told in failure.value.cause
