"""Answers in a form: the turn is played in words, and a model writes them as JSON by the schema of the client."""

import json
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from app.testing.script import Call, Script

MODEL, WRITE = "dialog-supervisor", "write_answer"
HI: Any = [{"role": "user", "content": "Who are you?"}]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Person(BaseModel):
    """Somebody, with what is listed of them."""

    name: str
    age: int
    tags: dict[str, int]


def asking(form: object, **more: object) -> dict[str, object]:
    """Return a request for a form."""
    return {"model": MODEL, "messages": HI, "response_format": form, **more}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_schema_is_kept(sdk: AsyncOpenAI, script: Script, api: str) -> None:
    """The model writes a wrong object again, with the reason; from then on the client's object is the history."""
    written = Call(WRITE, {"name": "Ann", "age": 7, "tags": '{"kind": 1}'})
    script.add(supervisor=["I am Ann, seven.", Call(WRITE, {"name": "Ann", "age": "old"}), written, "Bye."])
    person: Any
    if api == "chat":
        answer = await sdk.chat.completions.parse(model=MODEL, messages=HI, response_format=Person)
        person, text = answer.choices[0].message.parsed, answer.choices[0].message.content
    else:
        response = await sdk.responses.parse(model=MODEL, input=HI, text_format=Person)
        person, text = response.output_parsed, response.output_text
    assert person == Person(name="Ann", age=7, tags={"kind": 1})
    assert "age" in script.asked[-1].messages[-1].text
    said: Any = [*HI, {"role": "assistant", "content": text}, {"role": "user", "content": "bye"}]
    await sdk.chat.completions.create(model=MODEL, messages=said)
    assert "I am Ann, seven." in script.asked[-1].prefix


async def test_any_object_in_a_stream(sdk: AsyncOpenAI, script: Script) -> None:
    """`json_object` is one object; a stream has it, and no word of the answer before it."""
    script.add(supervisor=["I am Ann.", Call(WRITE, {"arguments": '{"name": "Ann"}'})])
    form: Any = {"type": "json_object"}
    stream = await sdk.chat.completions.create(model=MODEL, messages=HI, response_format=form, stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert json.loads(text) == {"name": "Ann"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_cannot(client: httpx.AsyncClient, script: Script, *, stream: bool) -> None:
    """Three tries in vain are a fault that clients fall back on."""
    script.add(supervisor=["I am Ann.", "Ann.", Call(WRITE, {"name": 5}), Call(WRITE, {})])
    form = {"type": "json_schema", "json_schema": {"name": "p", "schema": SCHEMA}}
    answer = await client.post("/v1/chat/completions", json=asking(form, stream=stream))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (503, "invalid_output", "response_format")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"type": "array"},
        {"$ref": "http://127.0.0.1:9/"},
        {"properties": {"a": {"pattern": "(a+)+(?=b)"}}},
        {"description": "x" * 200_000},
        None,
    ],
)
async def test_what_is_no_schema(client: httpx.AsyncClient, schema: object) -> None:
    """It is refused before the turn, and nothing is fetched; so is what is no form."""
    form = {"type": "json_schema", "json_schema": {"name": "p", "schema": schema}}
    for wrong in (form, {"type": "grammar"}, {}, "json"):
        answer = await client.post("/v1/chat/completions", json=asking(wrong))
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "response_format")


@pytest.mark.slow
async def test_a_schema_that_takes_long(client: httpx.AsyncClient, script: Script) -> None:
    """The processor's time of a check is bounded, so a busy machine refuses no other schema."""
    parts = {f"part{place}": {"allOf": [{"$ref": f"#/$defs/part{place + 1}"}] * 2} for place in range(40)}
    schema = {"type": "object", "$ref": "#/$defs/part0", "$defs": {**parts, "part40": {"type": "object"}}}
    script.add(supervisor=["Hello.", Call(WRITE, {})])
    answer = await client.post(
        "/v1/chat/completions", json=asking({"type": "json_schema", "json_schema": {"schema": schema}})
    )
    assert answer.status_code == 400
    assert "it takes too long" in answer.json()["error"]["message"]
