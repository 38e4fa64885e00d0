"""The fields of OpenAI's API that the assistant supports, refuses or ignores; and the form of a failure there."""

import re
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk, completion_create_params

from agents.errors import ModelUnavailable
from agents.models.window import PLAIN
from app.assistant import Assistant
from app.plugins.openai_api.form import UNDONE, Bounds
from app.testing.script import Call, Script
from tests.support import takeover
from tests.support.http_door import KEYS, SHOP, by, calling
from tests.support.places import ROOT

MODEL = "dialog-supervisor"
HELLO = [{"role": "user", "content": "hello"}]
DONE = {
    *("messages", "model", "stream", "stream_options", "stop", "max_tokens", "max_completion_tokens", "user"),
    *("response_format", "tools", "parallel_tool_calls"),
}
ASKED: dict[str, list[object]] = {
    "audio": [{"voice": "alloy", "format": "mp3"}],
    "function_call": ["required", {"name": "add"}],
    "logit_bias": [{"50256": -100}],
    "logprobs": [True],
    "modalities": [["text", "audio"], ["audio"]],
    "moderation": [{"model": "omni-moderation-latest"}],
    "n": [0, 2, "two"],
    "tool_choice": ["required", {"type": "function", "function": {"name": "add"}}, "any"],
    "top_logprobs": [3],
    "web_search_options": [{}],
}
"""Values that would change an answer, for each field that is refused."""


async def asked(client: httpx.AsyncClient, **fields: object) -> httpx.Response:
    """Return the response to a request with these fields."""
    return await client.post("/v1/chat/completions", json={"model": MODEL, "messages": HELLO, **fields})


def test_every_field_is_done_refused_or_named() -> None:
    """Each field of the client's own schema is done, refused, or stands among those that the docs call hints."""
    [line] = re.findall(r"^- Accepted and left alone.*$", (ROOT / "docs/http.md").read_text("utf-8"), re.MULTILINE)
    hints = set(re.findall(r"`(\w+)`", line))
    params = (
        completion_create_params.CompletionCreateParamsBase,
        completion_create_params.CompletionCreateParamsStreaming,
    )
    fields = {name for kind in params for name in kind.__annotations__}
    assert fields == DONE | {*UNDONE} | hints
    assert {*ASKED} == {*UNDONE}


@pytest.mark.parametrize("user", ["", " ", None])
async def test_a_front_end_that_knows_no_user_names_none(
    client: httpx.AsyncClient, script: Script, user: str | None
) -> None:
    """An empty name is that of nobody, in both forms, and the talk is the caller's own."""
    script.add(supervisor=["Hello.", "Hello."])
    assert (await asked(client, user=user)).status_code == 200
    answer = await client.post("/v1/responses", json={"model": MODEL, "input": "hello", "user": user})
    assert answer.status_code == 200
    assert (await asked(client, user=5)).status_code == 400


async def test_null_is_a_field_that_is_left_out(client: httpx.AsyncClient, script: Script) -> None:
    """Clients write out what they have no value for: in a request, in a message, in its parts and its calls."""
    script.add(supervisor=["Hello.", "Hello."])
    function = {"name": "add", "arguments": None}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": None, "function": function}]}
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "hi", "image_url": None}]
    messages = [*HELLO, called, {"role": "user", "content": parts, "tool_calls": None, "tool_call_id": None}]
    nothing = dict.fromkeys(DONE - {"model", "messages"})
    assert (await asked(client, **{**nothing, "messages": messages})).json()["choices"][0]["message"]["content"]
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": None}
    given = {
        "input": [*HELLO, thought, {"role": "assistant", "content": "Hi."}, *HELLO],
        **dict.fromkeys(("stream", "text")),
    }
    assert (await client.post("/v1/responses", json={"model": MODEL, **given})).json()["status"] == "completed"


async def test_what_would_change_an_answer_is_refused(client: httpx.AsyncClient, script: Script) -> None:
    """OpenAI's own fault names the field, whole and for a stream; no model is asked."""
    for field, value in [(field, value) for field, values in ASKED.items() for value in values]:
        for stream in (False, True):
            answer = await asked(client, stream=stream, **{field: value})
            error = answer.json()["error"]
            assert (answer.status_code, {*error}) == (400, {"message", "type", "param", "code"}), (field, value)
            assert (error["type"], error["param"], error["code"]) == (
                "invalid_request_error",
                field,
                "unsupported_value",
            )
    assert script.asked == []


async def test_what_changes_nothing_is_taken(client: httpx.AsyncClient, script: Script) -> None:
    """The values that mean what is done anyhow, nulls, and hints."""
    script.add(supervisor=["Hello."] * 3)
    harmless = {name: values[0] for name, values in UNDONE.items() if values}
    hints = {"temperature": 0.1, "seed": 7, "store": False, "metadata": {"a": "b"}, "tools": [], "top_k": 4}
    for fields in (harmless, dict.fromkeys(UNDONE), hints):
        assert (await asked(client, **fields)).status_code == 200, fields


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "video_url", "video_url": {"url": "https://a.example/v"}},
        {"type": "input_text", "text": "hi"},
    ],
)
async def test_parts_that_are_not_read(client: httpx.AsyncClient, script: Script, part: dict[str, object]) -> None:
    """They are refused by their kind in the message that is heard, and lead to the thread in those before it."""
    content = [{"type": "text", "text": "hello"}, part]
    error = (refused := await asked(client, messages=[{"role": "user", "content": content}])).json()["error"]
    assert (refused.status_code, error["param"], str(part["type"]) in error["message"]) == (400, "messages", True)
    script.add(supervisor=["Hello."])
    assert (await asked(client, messages=[{"role": "user", "content": content}, *HELLO])).status_code == 200


FUNCTION, RESULT = {"name": "f", "arguments": "{}"}, {"role": "tool", "tool_call_id": "a", "content": "found"}
PICTURE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    "before",
    [
        [{"role": "user", "content": [{"type": "image_url", "image_url": PICTURE}]}],
        [{"role": "user", "content": ["see", {"text": "this"}]}],
        [*HELLO, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": FUNCTION}]}, RESULT],
        [*HELLO, {"role": "assistant", "tool_calls": [{"id": "a", "custom": {"name": "f", "input": "x"}}]}, RESULT],
    ],
    ids=["the address alone", "texts alone", "a call", "a call of a custom tool"],
)
async def test_short_and_newer_forms(client: httpx.AsyncClient, script: Script, before: list[Any]) -> None:
    """Clients write a part or a picture as a bare text, and calls of custom tools."""
    script.add(supervisor=["Hello."])
    assert (await asked(client, messages=[*before, *HELLO])).status_code == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, "messages[0].content[0].text"),
        (
            {"messages": [*HELLO, {"role": "assistant", "tool_calls": [{"id": "a"}]}]},
            "messages[1].tool_calls[0].function",
        ),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"stop": 5}, "stop"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": [["a"]]}, "stop[0]"),
        ({"stop": "x" * 101}, "stop[0]"),
        ({"tools": ["f"]}, "tools[0]"),
    ],
)
async def test_a_fault_names_its_place(client: httpx.AsyncClient, fields: dict[str, Any], param: str) -> None:
    """The place of a fault is written as OpenAI writes it."""
    answer = await asked(client, **fields)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert error["message"].startswith(f"{param}: ")


@pytest.mark.parametrize(
    ("bounds", "shown", "reason"),
    [
        ({"stop": "three"}, "One two ", "stop"),
        ({"stop": ["four", "o thr"]}, "One tw", "stop"),
        ({"max_tokens": 2}, "One tw", "length"),
        ({"max_completion_tokens": 2, "max_tokens": 500}, "One tw", "length"),
        ({"max_tokens": 2, "stop": "two"}, "One ", "stop"),
        ({"max_tokens": 500}, "One two three four.", "stop"),
    ],
)
async def test_where_an_answer_ends(sdk: AsyncOpenAI, script: Script, bounds: Any, shown: str, reason: str) -> None:
    """A stop sequence, also over several pieces, and a limit end the text, whole and as a stream."""
    script.add(supervisor=["One two three four."] * 2)
    messages: Any = HELLO
    whole = (await sdk.chat.completions.create(model=MODEL, messages=messages, **bounds)).choices[0]
    assert (whole.message.content, whole.finish_reason) == (shown, reason)
    stream = await sdk.chat.completions.create(model=MODEL, messages=messages, stream=True, **bounds)
    choices = [chunk.choices[0] async for chunk in stream]
    assert "".join(choice.delta.content or "" for choice in choices) == shown
    assert choices[-1].finish_reason == reason


def test_pieces_end_where_the_whole_does() -> None:
    """However a text is cut into pieces, a stop sequence and a limit end it at the same letter."""
    text = "abaabab" * 3 + "!"
    for stops, tokens in ((("abab",), None), (("aabab", "ba"), None), (("x",), 3), (("b!",), None)):
        ends = set()
        for size in range(1, len(text) + 1):
            bounds = Bounds(stops, tokens)
            pieces = [bounds.passes(text[place : place + size]) for place in range(0, len(text), size)]
            ends.add(("".join([*pieces, bounds.passes("", is_last=True)]), bounds.reason))
        assert len(ends) == 1
    assert len(Bounds((), 3).passes(text)) == int(3 / PLAIN)


@pytest.mark.parametrize(
    ("trouble", "kind", "status", "code", "stream"),
    [
        ("busy", openai.InternalServerError, 503, "busy", False),
        ("busy", openai.InternalServerError, 503, "busy", True),
        ("unavailable", openai.InternalServerError, 503, "unavailable", True),
        ("key_refused", openai.InternalServerError, 503, "key_refused", False),
        ("spent", openai.RateLimitError, 429, "insufficient_quota", True),
        ("too_long", openai.BadRequestError, 400, "context_length_exceeded", False),
    ],
)
async def test_a_failed_model_is_a_fault(
    sdk: AsyncOpenAI,
    script: Script,
    trouble: Any,
    kind: type[openai.APIStatusError],
    status: int,
    code: str,
    *,
    stream: bool,
) -> None:
    """A client that has others to fall back on sees a status, and the sentence for its user; then all goes on."""
    failure = ModelUnavailable(trouble, "m", until="10:00" if trouble == "spent" else "")
    script.add(supervisor=[failure, "Hello."])
    messages: Any = HELLO
    named = {"X-Thread-Id": "ann"}
    with pytest.raises(kind) as fault:
        await sdk.chat.completions.create(model=MODEL, messages=messages, stream=stream, extra_headers=named)
    assert (fault.value.status_code, fault.value.code) == (status, code)
    assert fault.value.message
    answer = await sdk.chat.completions.create(model=MODEL, messages=messages, extra_headers=named)
    assert answer.choices[0].message.content == "Hello."


@pytest.mark.needs("planner")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_after_a_write(client: httpx.AsyncClient, script: Script, *, stream: bool) -> None:
    """The words before it come with it; the same message again goes on, and writes nothing twice."""
    failing = ModelUnavailable("busy", "m")
    script.add(
        supervisor=[Call("plan_things", {"brief": "milk"})],
        planner=[Call("add_todos", {"items": ["milk"]}), failing, "Noted.", Call("list_todos"), "Here."],
    )
    script.add(supervisor=[failing, failing])

    async def said(text: str, *, stream: bool) -> httpx.Response:
        body = {"model": MODEL, "messages": [{"role": "user", "content": text}], "stream": stream}
        return await client.post("/v1/chat/completions", json=body, headers={"X-Thread-Id": "ann"})

    failed = await said("add milk", stream=stream)
    # What was done is told at once, so that a stream has begun.
    assert (failed.status_code, '"code":"busy"' in failed.text.replace(" ", "")) == (200 if stream else 503, True)
    assert "Already done" in failed.text
    assert (await said("add milk", stream=False)).json()["choices"][0]["message"]["content"].endswith("Noted.")
    assert (await said("show the list please", stream=False)).json()["choices"][0]["message"]["content"] == "1. milk"


@pytest.mark.needs("seat")
async def test_a_failure_in_the_middle_of_a_stream(sdk: AsyncOpenAI, assistant: Assistant, script: Script) -> None:
    """The shown part stays, and an error ends the stream; nothing says that the answer is whole."""
    script.add(supervisor=["Hello.", ModelUnavailable("busy", "m")])
    messages: Any = HELLO
    named = {"X-Thread-Id": "t"}
    await sdk.chat.completions.create(model=MODEL, messages=messages, extra_headers=named)
    await takeover.take(assistant, "t")
    await takeover.say(assistant, "t", "A new one comes.")
    await takeover.hand_back(assistant, "t")
    stream = await sdk.chat.completions.create(model=MODEL, messages=messages, stream=True, extra_headers=named)
    chunks: list[ChatCompletionChunk] = []

    async def read() -> None:
        async for chunk in stream:
            chunks.append(chunk)

    with pytest.raises(openai.APIError, match="busy"):
        await read()
    assert "Anna: A new one comes." in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert {chunk.choices[0].finish_reason for chunk in chunks} == {None}


@pytest.mark.needs("seat")
async def test_a_refusal_loses_no_words_of_a_person(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's words wait for the first answer that can bring them, also over a refused request."""
    script.add(supervisor=["Hello.", "On Monday."])
    headers = {"X-Thread-Id": "t"}
    body = {"model": MODEL, "messages": HELLO}
    await client.post("/v1/chat/completions", json=body, headers=headers)
    await takeover.take(assistant, "t")
    await takeover.say(assistant, "t", "A new one comes.")
    await takeover.hand_back(assistant, "t")
    with monkeypatch.context() as crowded:
        crowded.setattr(assistant, "is_crowded", lambda _: True)
        assert (await client.post("/v1/chat/completions", json=body, headers=headers)).status_code == 503
    answer = await client.post("/v1/chat/completions", json=body, headers=headers)
    assert "Anna: A new one comes." in answer.json()["choices"][0]["message"]["content"]


async def test_whoever_has_sent_too_much(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """A limit is a fault with its status, not an answer."""
    script.add(supervisor=["Hello."])
    assistant._turn_count.most = 1
    answers = [await asked(client, user="ann", stream=stream) for stream in (False, True, False)]
    assert [answer.status_code for answer in answers] == [200, 429, 429]
    assert answers[1].json()["error"]["code"] == "rate_limit_exceeded"


async def test_faults_below_v1_are_openais(assistant: Assistant) -> None:
    """Also those of keys, methods and paths; elsewhere a fault has a code and a message."""
    async with calling(assistant, KEYS) as client:
        answers = [
            await client.get("/v1/models"),
            await client.get("/v1/models", headers=by("w" * 20)),
            await client.get("/v1/nowhere", headers=by(SHOP)),
            await client.patch("/v1/models", headers=by(SHOP)),
        ]
        assert [answer.status_code for answer in answers] == [401, 401, 404, 405]
        assert all({*answer.json()["error"]} == {"message", "type", "param", "code"} for answer in answers)
        texts = [answer.json()["error"]["message"] for answer in answers[:2]]
        assert [text.partition(" ")[0] for text in texts] == ["Send", "This"]
        assert {*(await client.get("/threads")).json()["error"]} == {"code", "message"}


@pytest.mark.parametrize("header", ["X-Thread-Id", "Idempotency-Key"])
async def test_a_header_names_what_a_path_could(script: Script, client: httpx.AsyncClient, header: str) -> None:
    """A name in a header keeps the rules of every name; an empty header names nothing."""
    script.add(supervisor=["Hello."])
    body = {"model": MODEL, "messages": HELLO}
    statuses = [
        (await client.post("/v1/chat/completions", json=body, headers={header: name})).status_code
        for name in ("a\tb", "")
    ]
    assert statuses == [400, 200]
