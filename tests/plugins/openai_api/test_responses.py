"""OpenAI's Responses form, as its official client speaks it."""

from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from agents.errors import ModelUnavailable
from app.testing.script import Script

MODEL = "dialog-supervisor"


def heard(script: Script) -> list[str]:
    """Return the talk in the model's last prompt, without the context of the turn."""
    return [message.text.split("\n</context>\n")[-1].strip() for message in script.asked[-1].messages[1:]]


async def test_behind_a_response_that_is_named(sdk: AsyncOpenAI, script: Script) -> None:
    """The talk goes on behind it; behind an earlier one it branches, with or without a stream."""
    script.add(supervisor=["Hello.", "Fine.", "Well."])
    first = await sdk.responses.create(model=MODEL, input="hi")
    assert (first.output_text, first.status) == ("Hello.", "completed")
    second = await sdk.responses.create(model=MODEL, input="how are you", previous_response_id=first.id)
    assert (second.output_text, second.previous_response_id) == ("Fine.", first.id)
    assert heard(script) == ["hi", "Hello.", "how are you"]
    stream: Any = await sdk.responses.create(model=MODEL, input="and you", previous_response_id=first.id, stream=True)
    events = [event async for event in stream]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Well."
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    assert events[-1].response.output_text == "Well."
    assert [event.sequence_number for event in events] == [*range(len(events))]
    assert heard(script) == ["hi", "Hello.", "and you"]


async def test_without_a_name_the_input_is_the_history(sdk: AsyncOpenAI, script: Script) -> None:
    """A client that sends all that was said goes on, as in chat completions."""
    script.add(supervisor=["Hello.", "Fine."])
    said: Any = [{"role": "user", "content": "hi"}]
    first = await sdk.responses.create(model=MODEL, input=said)
    said += [item.model_dump() for item in first.output]
    said.append({"role": "user", "content": [{"type": "input_text", "text": "how are you"}]})
    await sdk.responses.create(model=MODEL, input=said)
    assert heard(script) == ["hi", "Hello.", "how are you"]


async def test_a_response_of_another_person(sdk: AsyncOpenAI, script: Script) -> None:
    """Nobody goes on with somebody else's talk, nor with one that there is not."""
    script.add(supervisor=["Hello."])
    first = await sdk.responses.create(model=MODEL, input="hi", user="ann")
    for user, id, item in (("bob", first.id, first.output[0].id), ("ann", "resp_none", "msg_none")):
        with pytest.raises(BadRequestError) as refused:
            await sdk.responses.create(model=MODEL, input="more", previous_response_id=id, user=user)
        assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")
        named: Any = [{"type": "item_reference", "id": item}, {"role": "user", "content": "more"}]
        with pytest.raises(NotFoundError):
            await sdk.responses.create(model=MODEL, input=named, user=user)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "item_reference", "id": "rs_1"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "kind_of_tomorrow", "x": 1},
    ],
)
async def test_items_without_words(sdk: AsyncOpenAI, script: Script, item: Any) -> None:
    """What another model did before is passed over."""
    script.add(supervisor=["Fine."])
    said: Any = [{"role": "user", "content": "hi"}, item, {"role": "assistant", "content": "Hello."}]
    await sdk.responses.create(model=MODEL, input=[*said, {"role": "user", "content": "how are you"}])
    assert heard(script) == ["hi", "Hello.", "how are you"]


@pytest.mark.parametrize(
    ("param", "changed"),
    [
        ("input", {"input": [{"role": "user", "content": "hi"}, {"type": "local_shell_call_output", "id": "1"}]}),
        ("input", {"input": [{"role": "user", "content": "hi"}, {"type": "item_reference", "id": "msg_1"}]}),
        ("input", {"input": []}),
        ("input", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "1"}]}]}),
        ("input[0].content[0].text", {"input": [{"role": "user", "content": [{"type": "input_text", "text": 5}]}]}),
        ("tools", {"tools": [{"type": "web_search"}]}),
        ("tool_choice", {"tools": [{"type": "function", "name": "a"}], "tool_choice": "required"}),
        ("text.format", {"text": {"format": {"type": "grammar"}}}),
        ("background", {"background": True}),
    ],
)
async def test_what_is_not_done(client: httpx.AsyncClient, param: str, changed: dict[str, object]) -> None:
    """It is refused in OpenAI's form, with the name of the field."""
    answer = await client.post("/v1/responses", json={"model": MODEL, "input": "hi", **changed})
    error = answer.json()["error"]
    assert (answer.status_code, {*error}, error["param"]) == (400, {"code", "message", "param", "type"}, param)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_fails(client: httpx.AsyncClient, script: Script, *, stream: bool) -> None:
    """It is a fault with a status that clients fall back on."""
    script.add(supervisor=[ModelUnavailable("busy", "m")])
    answer = await client.post("/v1/responses", json={"model": MODEL, "input": "hi", "stream": stream})
    assert answer.status_code == 503
