"""Refusals of what a request can do without: it is left out, remembered for the address, and told to the operator."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.content import create_image_block

from agents.errors import ModelUnavailable
from agents.models.factory import OBSERVER
from agents.models.reply import Listener, reply
from agents.state.message_notes import with_notes
from tests.support.odd_provider import HEAD, Provider, Reply, delta, end, refuse, words
from tests.support.refusing_server import BODIES, PROMPT, TOOL, models, refused, refusing, said, wanting_content

CALLED: list[AnyMessage] = [
    *PROMPT,
    AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "abcdefghi", "type": "tool_call"}]),
    ToolMessage("done", tool_call_id="abcdefghi"),
]
EXTRAS = {"prompt_cache_key", "stream_options", "parallel_tool_calls", "temperature", "max_tokens"}


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
        (refused(400, {"error": {"message": "Invalid image."}}), 2),
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
