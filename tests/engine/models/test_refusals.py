"""Refusals of what a request can do without: it is left out, remembered for the address, and told to the operator."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.content import create_image_block
from langchain_core.outputs import ChatGenerationChunk
from pydantic import BaseModel, Field, SecretStr

from agents.errors import ModelUnavailable
from agents.models import Model, Models
from agents.models.factory import OBSERVER, Endpoint, Parameters, make_model, make_models
from agents.models.local_chat import LocalChat
from agents.models.reply import Listener, reply
from agents.state.message_notes import with_notes
from app.composition.breaker import Breaker
from app.composition.windows import fitting
from tests.support.compiled import discovered
from tests.support.loopback import listening
from tests.support.odd_provider import HEAD, Provider, Reply, delta, end, read_request, refuse, words
from tests.support.refusing_server import BODIES, refused, refusing, wanting_content
from tests.support.simulated_time import now, simulated

PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
TOOL = {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}
CALLED: list[AnyMessage] = [
    *PROMPT,
    AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "abcdefghi", "type": "tool_call"}]),
    ToolMessage("done", tool_call_id="abcdefghi"),
]
EXTRAS = {"prompt_cache_key", "stream_options", "parallel_tool_calls", "temperature", "max_tokens"}


def models(url: str, **parameters: Any) -> Models:
    """Return the models at an address, as they would be made at a start."""
    endpoint = Endpoint(key=SecretStr("key"), base_url=url)
    given = Parameters(**{"temperature": 0.5, "parallel_tool_calls": False, **parameters})
    return make_models("openai:m", {}, None, endpoint, {"default": given})


async def said(model: Model, prompt: list[AnyMessage] = PROMPT, **options: Any) -> str:
    """Return a model's answer to a request with all its extras."""
    return (await reply([model], prompt, [TOOL], Listener("x", lambda _: None, thread="t", **options))).text


def extras(body: Mapping[str, Any]) -> set[str]:
    """Return the extras that a request had."""
    return EXTRAS & body.keys()


@pytest.mark.parametrize("kind", BODIES)
async def test_what_a_server_refuses_is_left_out(kind: str) -> None:
    """Whatever its body is like, the field that it names goes, all others stay, and it is not asked so again."""
    async with Provider.open(refusing("parallel_tool_calls", body=BODIES[kind], status=422)) as server:
        assert await said(models(server.url).default) == "Hello there"
        assert await said(models(server.url).default) == "Hello there"
        bodies = server.bodies
    assert [extras(body) for body in bodies] == [EXTRAS, *[EXTRAS - {"parallel_tool_calls"}] * 2]


@pytest.mark.parametrize("status", [403, 404, 406, 500, 501])
async def test_a_refusal_may_have_any_status(status: int) -> None:
    """The next request leaves out the named field; the same request is not made again."""
    async with Provider.open(refusing("stream_options", body=BODIES["chinese"], status=status)) as server:
        assert await said(models(server.url).default) == "Hello there"
        assert [extras(body) for body in server.bodies] == [EXTRAS, EXTRAS - {"stream_options"}]


@pytest.mark.parametrize("event", ["", "event: error\n"])
async def test_a_refusal_may_come_in_mid_stream(event: str) -> None:
    """An error in place of a piece teaches as much as one in place of the stream."""
    problem = json.dumps({"message": "Unknown parameter: 'stream_options'."})
    problem = problem if event else json.dumps({"error": json.loads(problem)})
    broken = HEAD + f"{event}data: {problem}\n\n".encode()

    def answer(request: dict[str, Any]) -> Reply:
        return broken if "stream_options" in request else words("Hello there")

    async with Provider.open(answer) as server:
        assert await said(models(server.url).default) == "Hello there"
        assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (refused(404, {"error": {"message": "No endpoints found that support image input"}}), 2),
        (refused(500, {"error": {"message": "image input is not supported - hint: provide the mmproj"}}), 2),
        (refused(403, {"msg": "该模型不支持图片"}), 2),
        (HEAD + b'data: {"error": {"message": "vision is off"}}\n\n', 2),
        (HEAD + b'event: error\ndata: {"message": "no"}\n\n', 3),
    ],
)
async def test_a_refused_picture_is_not_sent_again(reply: bytes, requests: int) -> None:
    """Whatever tells that it is not taken; an error in mid-stream that says nothing of it comes twice."""
    seen = with_notes(HumanMessage("look"), pictures=[create_image_block(base64="aGk=", mime_type="image/png")])

    def answer(request: dict[str, Any]) -> Reply:
        return reply if "image_url" in str(request["messages"]) else words("Hello there")

    async with Provider.open(answer) as server:
        assert await said(models(server.url, images=True).default, [PROMPT[0], seen]) == "Hello there"
        assert len(server.bodies) == requests


async def test_who_cannot_stream_is_not_asked_to() -> None:
    """A server that refuses to stream is asked for the whole reply, and nothing else changes."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello there"}, "finish_reason": "stop"}

    def answer(request: dict[str, Any]) -> Reply:
        return refused(400, "streaming is off") if request["stream"] else refused(200, {"choices": [choice]})

    async with Provider.open(answer) as server:
        model = models(server.url).default
        assert [await said(model), await said(model)] == ["Hello there"] * 2
        assert [body["stream"] for body in server.bodies] == [True, False, False]


async def test_a_word_in_an_error_of_the_server_is_no_name() -> None:
    """ "While streaming" in an error that passes teaches nothing; nor does it cost the reply."""
    for broken in (refused(500, {"error": "failed to stream"}), HEAD + b'data: {"error": "broke while streaming"}\n\n'):
        async with Provider.open(broken, words("Hello there")) as server:
            assert await said(models(server.url).default) == "Hello there"
            assert server.bodies[0] == server.bodies[1]


async def test_thinking_may_be_wanted_in_any_language() -> None:
    """A field of thinking that no reply had is one that the server wants."""

    def answer(request: dict[str, Any]) -> Reply:
        lacks = any("reasoning_content" not in each for each in request["messages"] if each["role"] == "assistant")
        return refused(400, {"error": "缺少参数 reasoning_content"}) if lacks else words("Hello there")

    async with Provider.open(answer) as server:
        assert await said(models(server.url).default, CALLED) == "Hello there"
        assert len(server.bodies) == 2


async def test_each_refusal_teaches_one_thing() -> None:
    """A server that refuses everything, one field after the other, is asked once for each, and then never again."""
    names = (*sorted(EXTRAS), "max_completion_tokens")
    async with Provider.open(refusing(*names)) as server:
        assert await said(models(server.url).default) == "Hello there"
        assert len(server.bodies) == len(names) + 1
        assert await said(models(server.url).default) == "Hello there"
        assert len(server.bodies) == len(names) + 2
    assert not {*names} & server.bodies[-1].keys()


async def test_a_limit_may_have_another_name() -> None:
    """Before it is given up the limit goes by its other name, the operator's as well as ours."""
    for given in ({}, {"max_tokens": 77}):
        limit = given.get("max_tokens", 1024)
        async with Provider.open(refusing(*(["max_completion_tokens"] if given else ["max_tokens"]))) as server:
            await said(models(server.url, **given).default)
        sent = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in server.bodies]
        assert sent == ([(None, 77), (77, None)] if given else [(limit, None), (None, limit)])


async def test_a_limit_that_is_too_large_becomes_the_one_that_is_named() -> None:
    """A server that says how long a reply may be is asked for no longer one, and still for a limit."""

    def answer(request: dict[str, Any]) -> Reply:
        limit = request["max_tokens"]
        return refused(400, f"max_tokens: {limit} > 512, the maximum") if limit > 512 else words("Hello there")

    async with Provider.open(answer) as server:
        model = models(server.url).default
        assert [await said(model), await said(model)] == ["Hello there"] * 2
    assert [body["max_tokens"] for body in server.bodies] == [1024, 512, 512]


@pytest.mark.parametrize(
    "message",
    [
        "System role not supported",
        "Developer instruction is not enabled for models/m",
        "Only user and assistant roles are supported!",
    ],
)
async def test_a_model_without_a_system_role_is_told_before_the_user(message: str) -> None:
    """What such a model is to do stands before the first words of the user."""

    def answer(request: dict[str, Any]) -> Reply:
        return refused(400, message) if request["messages"][0]["role"] == "system" else words("Hello there")

    async with Provider.open(answer) as server:
        model = models(server.url).default
        assert [await said(model), await said(model)] == ["Hello there"] * 2
    assert [body["messages"][0]["content"] for body in server.bodies[1:]] == ["You are kind.\n\nhi"] * 2


async def test_a_key_beside_a_call_is_left_out() -> None:
    """A server's own key of a call does not go back to a server that refuses it there."""

    def answer(request: dict[str, Any]) -> Reply:
        if "status" in str(request["messages"]):
            return refused(400, "'messages.2.tool_calls.0' : property 'status' is unsupported")
        return words("Hello there") if len(request["messages"]) > 2 else [delta(tool_calls=[call]), end("tool_calls")]

    call = {"index": 0, "id": "a", "status": "new", "function": {"name": "f", "arguments": "{}"}}
    async with Provider.open(answer) as server:
        model = models(server.url).default
        called = await reply([model], PROMPT, [TOOL], Listener("x", lambda _: None))
        result = ToolMessage("done", tool_call_id=called.tool_calls[0]["id"])
        assert await said(model, [*PROMPT, called, result]) == "Hello there"
        assert len(server.bodies) == 3


async def test_several_names_are_left_out_at_once() -> None:
    """One refusal that names two fields costs one request."""
    problem = {"message": "does not support parameters: ['prompt_cache_key', 'parallel_tool_calls']"}
    async with Provider.open(refuse(400, problem), words("Hello there")) as server:
        await said(models(server.url).default)
    assert extras(server.bodies[1]) == EXTRAS - {"prompt_cache_key", "parallel_tool_calls"}


@pytest.mark.parametrize("message", ["tools need --jinja", "no such model", "Unknown parameter: 'top_k'."])
async def test_what_is_not_ours_is_not_asked_again(message: str) -> None:
    """A refusal that names nothing of the request's extras would come again."""
    async with Provider.open(refuse(400, {"message": message})) as server:
        with pytest.raises(ModelUnavailable):
            await said(models(server.url).default)
        assert len(server.bodies) == 1


async def test_all_roles_learn_together() -> None:
    """A refusal to one role is a lesson for all, even for one with a request at the same time."""
    async with Provider.open(refusing("stream_options", body=BODIES["fastapi"], status=422)) as server:
        made = models(server.url)
        chains = [made.chain("planner")[0], made.chain(OBSERVER)[0]]
        assert await asyncio.gather(*map(said, chains)) == ["Hello there"] * 2
        before = len(server.bodies)
        assert before == 3
        await asyncio.gather(*map(said, chains))
        assert len(server.bodies) == before + 2


async def test_what_is_written_down_is_not_learnt_again() -> None:
    """`without` leaves out from the first request on what a server is known to refuse."""
    async with Provider.open(refusing("prompt_cache_key", "stream_options")) as server:
        assert await said(models(server.url, without=("prompt_cache_key", "stream_options")).default) == "Hello there"
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "message",
    [
        "invalid message content type: <nil>",
        "messages.3.content: none is not an allowed value",
        "The content field is a required field.",
        "messages[2].content must be a non-empty string: got an empty text",
        "Assistant message must have either content or tool_calls, but not none.",
        "消息内容不能为空",
        "Содержимое сообщения не может быть пустым",
    ],
)
async def test_a_content_that_is_empty_is_filled(message: str) -> None:
    """Beside a call there are no words; a server that refuses an empty text gets a blank, and then a mark."""
    async with Provider.open(wanting_content(message)) as server:
        model = models(server.url).default
        for _ in range(2):
            assert await said(model, CALLED) == "Hello there"
        assert len(server.bodies) <= 4
        assert server.bodies[-1]["messages"][2]["content"].isspace()
    async with Provider.open(wanting_content(message, also=" ")) as server:
        assert await said(models(server.url).default, CALLED) == "Hello there"


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


class OllamaLike(LocalChat):
    """A class that sends the window."""

    base_url: str
    num_ctx: int | None = None


async def windows(told: Mapping[str, object], model_at: Any, size: int | None) -> tuple[Model, list[str]]:
    """Return a model of an Ollama that tells this, after it was asked, and what is warned of."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        path = head.split()[1]
        writer.write(refused(200, told[path]) if path in told else refused(404, {}))
        writer.close()

    async with listening(serve) as url:
        model = model_at(url)
        model.window.size = size
        _, lines = await fitting(discovered()[0], Models(model), "en")
    return model, [line for line in lines if "cuts the rest" in line]


SHOWN: dict[str, object] = {"/api/show": {"capabilities": [], "parameters": ""}, "/api/ps": {"models": []}}
LOADED = SHOWN | {"/api/ps": {"models": [{"name": "m", "context_length": 16384}]}}


@pytest.mark.parametrize(
    ("told", "size", "window"), [(SHOWN, None, 4096), (LOADED, None, 16384), (SHOWN, 8192, 8192), (LOADED, 8192, 8192)]
)
async def test_ollama_is_sent_its_window(told: Mapping[str, object], size: int | None, window: int) -> None:
    """It is what was set, else what the server tells, else what it would load; each request says so."""
    model, warned = await windows(told, lambda url: Model("ollama:m", OllamaLike(base_url=url)), size)
    assert model.limited(()).chat.num_ctx == window  # type: ignore[attr-defined]
    assert warned == []


@pytest.mark.parametrize(("told", "size", "is_cut"), [(SHOWN, 8192, True), (LOADED, 8192, False), (SHOWN, None, False)])
async def test_a_window_that_cannot_be_sent_is_warned_of(
    told: Mapping[str, object], size: int | None, is_cut: bool
) -> None:
    """Over /v1 the server cuts what does not fit into its own window, without a word."""
    model, warned = await windows(told, lambda url: models(f"{url}/v1").default, size)
    assert bool(warned) == is_cut
    assert model.window.size == size or model.window.size == 4096
