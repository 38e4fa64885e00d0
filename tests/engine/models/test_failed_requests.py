"""Failures of a server or of its client: who must act is told the cause, and only what may pass is asked again."""

import sys
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import BaseModel, Field

from agents.errors import ModelUnavailable
from agents.models import Model
from agents.models.factory import Endpoint, make_model
from agents.models.local_chat import LocalChat
from app.composition.breaker import Breaker
from tests.support.odd_provider import Provider, refuse
from tests.support.refusing_server import PROMPT, models, refused, said
from tests.support.simulated_time import now, simulated


async def test_a_server_that_refuses_is_there() -> None:
    """Refused requests do not count as an outage, however many there are."""
    breaker = Breaker("m", 1, 60)
    async with Provider.open(refuse(400, {"message": "no"})) as server:
        with pytest.raises(ModelUnavailable) as failure:
            await said(models(server.url).default)
    breaker.begin()
    breaker.end(failure.value.__cause__)
    breaker.begin()


TOLD = [
    ([{"error": {"code": 400, "message": "Bad thing."}}], ": Bad thing."),
    ({"detail": [{"loc": ["body", "x", 1], "msg": "is wrong", "input": "hi"}]}, ": x.1: is wrong"),
    ({"message": {"detail": [{"loc": ["body", "x"], "msg": "is wrong"}]}}, ": x: is wrong"),
    ({"detail": "Bad thing."}, ": Bad thing."),
    ({"error": "model 'x' not found"}, ": model 'x' not found"),
    ("plainly wrong", ": plainly wrong"),
    ({"error": "This thing is wrong."}, ": This thing is wrong."),
    ("<html><head><style>a{}</style></head><body><h1>Bad thing</h1></body></html>", ": Bad thing"),
    ({"error": {"message": "Provider failed", "metadata": {"raw": '{"error": {"message": "Too hot."}}'}}}, "Too hot."),
    ({"a": {"b": {"c": [{"errors": [{"description": "Deep down."}]}]}}}, ": Deep down."),
    ({"error": 'OpenAIException - {"error": {"message": "Inner thing."}}'}, "Inner thing."),
]


@pytest.mark.parametrize(("body", "told"), TOLD)
async def test_the_servers_own_sentence_is_told(body: object, told: str) -> None:
    """It stands in the cause, wherever in the answer it is, and nothing of the conversation does."""
    async with Provider.open(refused(400, body)) as server:
        with pytest.raises(ModelUnavailable) as failure:
            await said(models(server.url).default, [PROMPT[0], HumanMessage("hi"), HumanMessage("my number is 4711")])
    assert told in failure.value.cause
    assert "4711" not in failure.value.cause


@pytest.mark.parametrize(
    "body",
    [
        {"code": "invalid argument", "error": "Incorrect API key provided: xa***yz."},
        {"error": {"message": "no", "code": "invalid_api_key"}},
        {"detail": "Unauthorized"},
        [{"error": {"status": "UNAUTHENTICATED", "message": "Request had invalid authentication credentials."}}],
    ],
)
async def test_a_key_may_be_refused_with_any_status(body: object) -> None:
    """The operator reads the right word."""
    async with Provider.open(refused(400, body)) as server:
        with pytest.raises(ModelUnavailable) as failure:
            await said(models(server.url).default)
    assert failure.value.trouble == "key_refused"


class Part(BaseModel):
    """A part of a request as a client checks it."""

    number: int


class Faulty(LocalChat):
    """A client that finds a request wrong before it is sent, or reads a reply wrongly."""

    fault: str = ""
    asked: list[int] = Field(default_factory=list)

    async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.asked.append(1)
        if self.fault in ("request", "reply"):
            Part.model_validate({"number": "my pin" if self.fault == "request" else "their words"})
        if self.fault == "option" and "parallel_tool_calls" in options:
            _create(parallel_tool_calls=options["parallel_tool_calls"])  # type: ignore[call-arg]
        yield ChatGenerationChunk(message=AIMessageChunk(content="Hello", response_metadata={"finish_reason": "stop"}))


def _create() -> None:
    """Take no options."""


async def test_a_fault_of_our_own_request_is_told_as_one() -> None:
    """It is not asked again, it is not "busy", and the operator reads the fields, not what stood in them."""
    chat = Faulty(fault="request")
    with pytest.raises(ModelUnavailable) as failure:
        await said(Model("m", chat), [PROMPT[0], HumanMessage("this is my pin")])
    assert (failure.value.trouble, len(chat.asked)) == ("unavailable", 1)
    assert "ValidationError of number" in failure.value.cause
    assert "pin" not in failure.value.cause


async def test_what_a_client_misreads_is_no_fault_of_ours() -> None:
    """A reply that is not sound is asked for again, as any other."""
    chat = Faulty(fault="reply")
    with pytest.raises(ModelUnavailable) as failure:
        await said(Model("m", chat))
    assert (failure.value.trouble, len(chat.asked)) == ("busy", 3)


class Clients(Exception):
    """An exception of a provider's package, which our code has never heard of."""

    def __init__(self, **said: object) -> None:
        super().__init__("overloaded")
        self.__dict__ |= said


Clients.__module__ = "client_of_a_provider"


@pytest.mark.parametrize(
    ("said_of_it", "cause", "outcome"),
    [
        ({"body": {"message": "overloaded"}}, None, "again"),
        ({"body": {"message": "overloaded"}, "status_code": 200}, None, "again"),
        ({"error": "overloaded", "status_code": -1}, None, "again"),
        ({"body": {"message": "overloaded"}, "status_code": 400}, None, "unavailable"),
        ({}, None, "unavailable"),
        ({}, ConnectionResetError(104, "reset"), "retried"),
    ],
)
async def test_an_error_in_place_of_a_piece_is_a_broken_reply(
    said_of_it: dict[str, object], cause: Exception | None, outcome: str
) -> None:
    """A server that answered, and then sent an error, is asked again; so is one whose connection was lost."""
    failure = Clients(**said_of_it)
    failure.__cause__ = cause
    chat = Failing(failures=[failure])
    model = Model("m", chat, retries=1 if outcome == "retried" else 0, first_seconds=60)
    if outcome == "unavailable":
        with pytest.raises(ModelUnavailable) as told:
            await said(model)
        assert told.value.trouble == outcome
    else:
        assert await said(model) == "Hello"


async def test_a_client_without_fields_of_thinking_is_asked_for_none() -> None:
    """A refusal that wants such a field teaches nothing where the client cannot send it."""
    wants = Clients(body={"message": "The `content.thinking` must be passed back"}, status_code=400)
    model = Model("m", Failing(failures=[wants]))
    with pytest.raises(ModelUnavailable):
        await said(model)
    assert model.form.wanted == set()


async def test_an_option_that_a_client_does_not_know_is_left_out() -> None:
    """A client that refuses an option is no other than a server that does."""
    chat = Faulty(fault="option")
    assert await said(Model("m", chat, parallel_tool_calls=False)) == "Hello"
    assert len(chat.asked) == 2


class Busy(Exception):
    """A client's exception for a status, without retries."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("busy")
        self.status_code, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


class Failing(LocalChat):
    """Raises failures, one at a time, and then answers."""

    failures: list[Exception]

    async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        if self.failures:
            raise self.failures.pop(0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="Hello", response_metadata={"finish_reason": "stop"}))


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        ([Busy(429, retry_after="3"), Busy(503, retry_after_ms="500")], 3.5),
        ([ConnectionError("away")], 0.5),
        ([Busy(429, retry_after="60")], None),
        ([Busy(400)], None),
        ([Busy(429)] * 3, None),
    ],
)
def test_a_busy_server_is_asked_again_after_the_time_that_it_wants(
    failures: list[Exception], seconds: float | None
) -> None:
    """With any client: twice, within 25 seconds; a longer pause, or a wrong one, is an error at once."""
    model = Model("m", Failing(failures=[*failures]), retries=2, first_seconds=60)

    async def ask() -> float:
        begun = now()
        assert await said(model) == "Hello"
        return now() - begun

    if seconds is None:
        with pytest.raises(ModelUnavailable):
            simulated(ask())
    else:
        assert simulated(ask()) == pytest.approx(seconds, abs=0.2)


class InMilliseconds(Failing):
    """A class whose `timeout` is in milliseconds, as one of the providers' packages has it."""

    model: str = ""
    timeout: float | None = None
    max_retries: int = 2
    failures: list[Exception] = Field(default_factory=list)


async def test_no_class_is_given_a_time_whose_unit_it_may_take_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """We wait ourselves and ask again ourselves."""
    package = ModuleType("langchain_openrouter")
    package.__dict__["ChatOpenRouter"] = InMilliseconds
    monkeypatch.setitem(sys.modules, "langchain_openrouter", package)
    model = make_model("openrouter:m", Endpoint(timeout=60))
    assert isinstance(model.chat, InMilliseconds)
    assert (model.chat.timeout, model.chat.max_retries) == (None, 0)
    assert (model.gap_seconds, model.retries) == (60, 2)
