"""A client's own tools over every form: its calls go back to it, and its results go on with the turn."""

import json
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from app.testing.script import Call, Script
from tests.support.user_words import results

MODEL = "dialog-supervisor"
ABOUT = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: Any = {"name": "weather", "description": "Tells the weather.", "parameters": ABOUT}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]
FLAT: Any = [{"type": "function", **FUNCTION}]
DEEP = json.loads('{"a":' * 900 + "1" + "}" * 900)
ROME, OSLO = (Call("weather", {"city": city}) for city in ("Rome", "Oslo"))


def answered(calls: list[Any], *texts: str) -> list[Any]:
    """Return the results of calls as messages."""
    return [{"role": "tool", "tool_call_id": it.id, "content": text} for it, text in zip(calls, texts, strict=True)]


@pytest.mark.parametrize("named", [{}, {"X-Thread-Id": "ann"}])
async def test_chat_completions(sdk: AsyncOpenAI, script: Script, named: dict[str, str]) -> None:
    """Two calls go out at once, a third after their results; later words go on in the same talk."""
    script.add(supervisor=[["I look.", ROME, OSLO], ROME, "Sunny.", "Bye."])
    said: Any = [{"role": "user", "content": "weather?"}]
    texts: list[str | None] = []
    for given in (("sun", "rain"), ("sun",), ()):
        answer = await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS, extra_headers=named)
        message, reason = answer.choices[0].message, answer.choices[0].finish_reason
        texts.append(message.content)
        said += [message.model_dump(exclude_none=True), *answered(message.tool_calls or [], *given)]
        assert reason == ("tool_calls" if given else "stop")
    assert (texts, results(script)) == (["I look.", None, "Sunny."], ["sun", "rain", "sun"])
    said.append({"role": "user", "content": "bye"})
    answer = await sdk.chat.completions.create(model=MODEL, messages=said, extra_headers=named)
    assert (answer.choices[0].message.content, results(script)) == ("Bye.", ["sun", "rain", "sun"])


@pytest.mark.parametrize("named", [{}, {"X-Thread-Id": "ann"}])
async def test_one_call_at_a_time(sdk: AsyncOpenAI, script: Script, named: dict[str, str]) -> None:
    """For such a client each call of a reply goes out after the result of the one before, without a model's call."""
    script.add(supervisor=[["I look.", ROME, OSLO], "Sunny, and snow."])
    said: Any = [{"role": "user", "content": "weather?"}]
    asked_for: Any = {"model": MODEL, "tools": TOOLS, "parallel_tool_calls": False, "extra_headers": named}
    cities = list[str]()
    for given in ("sun", "snow"):
        message = (await sdk.chat.completions.create(messages=said, **asked_for)).choices[0].message
        [call] = message.tool_calls or []
        cities.append(json.loads(call.model_dump()["function"]["arguments"])["city"])
        said += [message.model_dump(exclude_none=True), *answered([call], given)]
    answer = await sdk.chat.completions.create(messages=said, **asked_for)
    assert (cities, answer.choices[0].message.content) == (["Rome", "Oslo"], "Sunny, and snow.")
    assert (results(script), len(script.asked)) == (["sun", "snow"], 2)


async def test_a_stream_and_other_ids(sdk: AsyncOpenAI, script: Script) -> None:
    """A call comes in a chunk of its own; a client that gives calls ids of its own is understood by their places."""
    script.add(supervisor=[[ROME, OSLO], "Fine."])
    said: Any = [{"role": "user", "content": "weather?"}]
    stream = await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS, stream=True)
    chunks = [chunk.choices[0] async for chunk in stream]
    calls = [call for chunk in chunks for call in chunk.delta.tool_calls or ()]
    assert [(call.index, call.function and call.function.arguments) for call in calls] == [
        (0, '{"city": "Rome"}'),
        (1, '{"city": "Oslo"}'),
    ]
    assert chunks[-1].finish_reason == "tool_calls"
    own = [
        {"id": f"own-{call.index}", "type": "function", "function": call.function and call.function.model_dump()}
        for call in calls
    ]
    said.append({"role": "assistant", "content": None, "tool_calls": own})
    said += [{"role": "tool", "tool_call_id": f"own-{place}", "content": str(place)} for place in (1, 0)]
    await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS)
    assert results(script) == ["0", "1"]


@pytest.mark.parametrize("named", [{}, {"X-Thread-Id": "ann"}])
async def test_again_behind_a_call(sdk: AsyncOpenAI, script: Script, named: dict[str, str]) -> None:
    """Other results for the same call are a branch; a talk of somebody else with another call stays apart."""
    script.add(supervisor=[ROME, "One.", "Two.", OSLO, "Three."])
    said: Any = [{"role": "user", "content": "weather?"}]

    async def answer() -> Any:
        done = await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS, extra_headers=named)
        return done.choices[0].message

    call = await answer()
    first = [*said, call.model_dump(exclude_none=True)]
    for text in ("sun", "rain"):
        said = [*first, *answered(call.tool_calls, text)]
        await answer()
        assert results(script) == [text]
    said = said[:1]
    call = await answer()
    said += [call.model_dump(exclude_none=True), *answered(call.tool_calls, "snow")]
    await answer()
    assert ("Rome" in script.asked[-1].prefix, results(script)) == (False, ["snow"])


async def test_a_client_that_forgets_its_results(sdk: AsyncOpenAI, script: Script) -> None:
    """In a chat that is named, the talk goes on behind them all the same."""
    script.add(supervisor=[ROME, "Sunny.", "Bye."])
    named = {"X-Thread-Id": "ann"}
    said: Any = [{"role": "user", "content": "weather?"}]
    first = await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS, extra_headers=named)
    call = first.choices[0].message
    more = [call.model_dump(exclude_none=True), *answered(call.tool_calls or [], "sun")]
    await sdk.chat.completions.create(model=MODEL, messages=said + more, tools=TOOLS, extra_headers=named)
    said += [{"role": "assistant", "content": "Sunny."}, {"role": "user", "content": "bye"}]
    await sdk.chat.completions.create(model=MODEL, messages=said, tools=TOOLS, extra_headers=named)
    assert results(script) == ["sun"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("sent", ["response", "items", "names"])
async def test_responses(sdk: AsyncOpenAI, script: Script, *, stream: bool, sent: str) -> None:
    """The same in items: behind a response that is named, all that was said, or items that are only named."""
    script.add(supervisor=[["I look.", ROME], [OSLO], "Sunny."])
    said: Any = [{"role": "user", "content": "weather?"}]
    before: Any = None
    outputs: list[list[str]] = []
    for _ in "123":
        asked_for: Any = {"input": said, "previous_response_id": before, "tools": FLAT, "stream": stream}
        response: Any = await sdk.responses.create(model=MODEL, **asked_for)
        if stream:
            events = [event async for event in response]
            response = events[-1].response
            items = [event.item for event in events if event.type == "response.output_item.done"]
            assert [item.model_dump() for item in items] == [item.model_dump() for item in response.output]
        outputs.append([item.type for item in response.output])
        calls = [item for item in response.output if item.type == "function_call"]
        brought = [{"type": "function_call_output", "call_id": it.call_id, "output": "sun"} for it in calls]
        items = [
            item.model_dump() if sent == "items" else {"type": "item_reference", "id": item.id}
            for item in response.output
        ]
        said, before = (brought, response.id) if sent == "response" else ([*said, *items, *brought], None)
    assert outputs == [["message", "function_call"], ["function_call"], ["message"]]
    assert results(script) == ["sun", "sun"]


@pytest.mark.parametrize(
    "changed",
    [
        {"tool_choice": "required"},
        {"tools": [*TOOLS, *TOOLS]},
        {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        {"tools": [{"type": "function", "function": {"name": ""}}]},
        {"tools": TOOLS * 200},
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": DEEP}}]},
    ],
)
async def test_what_is_not_done(client: httpx.AsyncClient, changed: dict[str, object]) -> None:
    """It is refused in OpenAI's form."""
    said = [{"role": "user", "content": "hi"}]
    answer = await client.post(
        "/v1/chat/completions", json={"model": MODEL, "messages": said, "tools": TOOLS, **changed}
    )
    assert (answer.status_code, {*answer.json()["error"]}) == (400, {"code", "message", "param", "type"})


async def test_no_tools_where_none_are_chosen(client: httpx.AsyncClient, script: Script) -> None:
    """`tool_choice` none leaves the client's out, and nothing else; a hostile schema harms nobody."""
    script.add(supervisor=["Hi.", "Hi."])
    endless = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {"x": {"$ref": "#/$defs/a"}, "y": 5}, "required": 7}
    odd = [{"type": "function", "function": {"name": "odd name", "parameters": endless}}]
    for choice, offered in (("none", False), ("auto", True)):
        asking = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "tools": odd, "tool_choice": choice}
        assert (await client.post("/v1/chat/completions", json=asking)).status_code == 200
        assert ("odd_name" in json.dumps(script.asked[-1].tools)) is offered
