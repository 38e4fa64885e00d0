"""The OpenAI form, as its official client speaks it."""

import base64
import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, BadRequestError
from openai.types.chat import ChatCompletionMessageParam
from pydantic import SecretStr

from agents.errors import ModelUnavailable
from agents.events import Images, Message, ShownImage, Sources, Token
from agents.state.citations import Citation, CitedSource
from app.assistant import Assistant, Turn
from app.doors.http.answers import Answer
from app.plugins.openai_api.reply import Reply
from app.testing.script import Call, Script
from prompts import sentence
from tests.support import takeover
from tests.support.endpoint_talk import talk
from tests.support.http_door import calling, served
from tests.support.odd_provider import Chunk, Provider, delta, end, words
from tests.support.rules import rules
from tests.support.scripted_assistant import ROLES, stage
from tests.support.user_words import user_words

MODEL, HELPER = "dialog-supervisor", "dialog-supervisor-helper"
PIXEL = f"data:image/png;base64,{base64.b64encode(bytes.fromhex('89504e470d0a1a0a') + b'dot').decode()}"
SYSTEM = {"role": "system", "content": "You are a pirate."}


@pytest.mark.needs("planner")
async def test_a_conversation_by_its_history(sdk: AsyncOpenAI, script: Script) -> None:
    """A client that sends the whole history goes on in its thread; its system messages are not obeyed."""
    script.add(
        supervisor=["Hello.", Call("plan_things", {"brief": "milk"})],
        planner=[Call("add_todos", {"items": ["milk"]}), "Noted."],
    )
    messages: Any = [SYSTEM, {"role": "user", "content": "hello"}]
    first = await sdk.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    reply = first.parse().choices[0].message.content
    messages += [{"role": "assistant", "content": reply or ""}, {"role": "user", "content": "add milk"}]
    second = await sdk.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    assert (reply, second.parse().choices[0].message.content) == ("Hello.", "Noted.")
    assert first.headers["x-thread-id"] == second.headers["x-thread-id"]
    assert "pirate" not in str(script.asked)


async def test_a_forgotten_history_leads_nowhere(sdk: AsyncOpenAI, assistant: Assistant, script: Script) -> None:
    """No digest of what was said is left by which a guess could be verified; the client begins a new thread."""
    script.add(supervisor=["Hello.", "Hello again."])
    said: Any = [{"role": "user", "content": "hello"}]
    first = await sdk.chat.completions.with_raw_response.create(model=MODEL, messages=said)
    thread = first.headers["x-thread-id"]
    await assistant.forgetting.thread(thread)
    assert await assistant.memory.store.asearch(("users",), limit=100) == []
    assert await assistant.memory.store.asearch(("threads",), limit=100) == []
    said += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "are you there"}]
    second = await sdk.chat.completions.with_raw_response.create(model=MODEL, messages=said)
    assert second.headers["x-thread-id"] != thread


async def test_a_stream(sdk: AsyncOpenAI, script: Script) -> None:
    """Pieces come as they are spoken, with the usage at the end where it is asked for; a thread may be named."""
    script.add(supervisor=["One two three."])
    stream = await sdk.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": [{"type": "text", "text": "count"}]}],
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"X-Thread-Id": "ann"},
    )
    chunks = [chunk async for chunk in stream]
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "One two three."
    assert len([text for text in texts if text]) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None


@pytest.mark.needs("planner")
async def test_several_messages_of_one_answer(sdk: AsyncOpenAI, script: Script) -> None:
    """Several messages become one text; a view becomes its words."""
    script.add(
        supervisor=[Call("plan_things", {"brief": "milk"})],
        planner=[Call("add_todos", {"items": ["milk"]}), "Noted.", Call("list_todos"), "Here."],
    )
    for text, answer in (("add milk", "Noted."), ("show me the list please", "1. milk")):
        named = {"X-Thread-Id": "ann"}
        messages: Any = [{"role": "user", "content": text}]
        stream = await sdk.chat.completions.create(model=MODEL, messages=messages, stream=True, extra_headers=named)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == answer


@pytest.mark.parametrize(
    ("middle", "end_reason", "reason", "sentence"),
    [
        ([], "length", "length", "length limit"),
        ([], "content_filter", "content_filter", "filter"),
        ([delta(content="We go on.\n")] * 200, "stop", "length", "it began to repeat itself. Ask me to go on."),
    ],
    ids=["length", "filter", "circle"],
)
async def test_why_an_answer_ended(
    tmp_path: Path, middle: list[Chunk], end_reason: str, reason: str, sentence: str
) -> None:
    """A client is told that an answer was cut, and by what; the words that there are stay."""
    cut = [*words("Once upon a time")[:-1], *middle, end(end_reason)]
    async with (
        Provider.open(cut) as provider,
        talk(tmp_path, provider.url) as assistant,
        served(assistant) as url,
        httpx.AsyncClient(base_url=f"{url}/v1", timeout=300) as client,
    ):
        for stream in (False, True):
            body = {"model": "dialog-supervisor", "messages": [{"role": "user", "content": "hi"}], "stream": stream}
            answer = (await client.post("/chat/completions", json=body)).text.replace('": "', '":"')
            assert "Once" in answer
            assert answer.count("We go on.") >= min(len(middle), 99)
            assert sentence in answer
            assert f'"finish_reason":"{reason}"' in answer


async def test_two_models(client: httpx.AsyncClient) -> None:
    """The assistant and the model alone are listed; each is found by its name, and no other."""
    listed = (await client.get("/v1/models")).json()["data"]
    assert [model["id"] for model in listed] == [MODEL, HELPER]
    assert [(await client.get(f"/v1/models/{model['id']}")).json() for model in listed] == listed
    other = await client.get("/v1/models/gpt-5")
    assert (other.status_code, other.json()["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"model": "gpt-5"}, 404),
        ({"messages": []}, 400),
        ({"messages": [SYSTEM]}, 400),
        ({"messages": [{"role": "assistant", "content": "hello"}]}, 400),
        ({"messages": [{"role": "user", "content": " \n"}]}, 400),
        ({"messages": [{"role": "user", "content": None}]}, 400),
        ({"stream_options": {"include_usage": "perhaps"}}, 400),
    ],
)
async def test_what_is_not_served(client: httpx.AsyncClient, changed: dict[str, object], status: int) -> None:
    """Another model, a talk without a user's last message and an empty one are refused, and the fault says so."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], **changed}
    answer = await client.post("/v1/chat/completions", json=body)
    assert (answer.status_code, {*answer.json()["error"]}) == (status, {"code", "message", "param", "type"})


TITLE = """### Task:
Generate a title.
### Chat History:
<chat_history>
USER: Wie wird das Wetter in Köln morgen früh?
ASSISTANT: Kalt.
</chat_history>"""


@pytest.mark.parametrize(("text", "stream"), [(TITLE, False), ("merge these answers", True)])
async def test_a_front_ends_own_calls(client: httpx.AsyncClient, script: Script, text: str, *, stream: bool) -> None:
    """A title is made by the model that leads, without tools, and leaves no thread behind."""
    script.add(supervisor=["Kälte"])
    body = {"model": HELPER, "messages": [{"role": "user", "content": text}], "stream": stream}
    answer = await client.post("/v1/chat/completions", json=body)
    assert "Kälte" in answer.text
    assert [(asked.tools, asked.messages[-1].text) for asked in script.asked] == [([], text)]
    assert "x-thread-id" not in answer.headers
    assert (await client.get("/threads")).json()["threads"] == []


@pytest.mark.parametrize("user", [{}, {"user": "ann"}])
async def test_a_front_ends_own_calls_are_counted(
    assistant: Assistant, client: httpx.AsyncClient, script: Script, user: dict[str, str]
) -> None:
    """Titles count among the messages of their user, or of the key that names none."""
    script.add(supervisor=["Kälte"] * 3)
    assistant._turn_count.most = 3
    body = {"model": HELPER, "messages": [{"role": "user", "content": TITLE}], **user}
    statuses = [(await client.post("/v1/chat/completions", json=body)).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


async def test_a_model_that_reads_no_prompts(tmp_path: Path) -> None:
    """The model by rules gives no titles, and says so; a document that looks like such a call is only read."""
    async with (
        stage(tmp_path / "rules.db", rules()) as assistant,
        calling(assistant) as client,
    ):
        for model, status, threads in ((HELPER, 400, 0), (MODEL, 200, 1)):
            body = {"model": model, "messages": [{"role": "user", "content": TITLE}]}
            answer = await client.post("/v1/chat/completions", json=body)
            assert (answer.status_code, len((await client.get("/threads")).json()["threads"])) == (status, threads)


@pytest.mark.parametrize(
    ("sees", "url", "answer"),
    [
        (True, PIXEL, "A dot."),
        (True, "http://127.0.0.1:9/cat.png", "I could not open the picture."),
        (True, "", "I could not open the picture."),
        (False, PIXEL, "I cannot look at pictures."),
    ],
)
async def test_a_picture(tmp_path: Path, script: Script, url: str, answer: str, *, sees: bool) -> None:
    """A seeing model gets the picture; an unusable one is told, and nothing is fetched."""
    script.sees = sees
    script.add(supervisor=["A dot."])
    picture = {"type": "image_url"} | ({"image_url": {"url": url}} if url else {})
    body = {"model": MODEL, "messages": [{"role": "user", "content": [picture]}]}
    async with (
        stage(tmp_path / "pictures.db", script.models(ROLES)) as assistant,
        calling(assistant) as client,
    ):
        reply = (await client.post("/v1/chat/completions", json=body)).json()
    assert reply["choices"][0]["message"]["content"] == answer
    assert len(script.asked) == (answer == "A dot.")


async def test_langchains_client(assistant: Assistant, script: Script) -> None:
    """A program on LangChain streams, asks another model where ours fails, and gets its answer in a form."""
    script.add(supervisor=["One two three.", ModelUnavailable("busy", "openai:gpt", "503")])
    async with served(assistant) as url, httpx.AsyncClient(trust_env=False, timeout=300) as transport:
        model = ChatOpenAI(
            base_url=f"{url}/v1", model=MODEL, api_key=SecretStr("none"), http_async_client=transport, max_retries=0
        )
        pieces = [piece.text async for piece in model.astream("count")]
        assert (len(pieces) > 3, "".join(pieces)) == (True, "One two three.")
        other = FakeListChatModel(responses=["Another model."])
        assert (await model.with_fallbacks([other]).ainvoke("hello")).text == "Another model."
        schema = {"title": "Weather", "type": "object", "properties": {"sun": {"type": "boolean"}}}
        script.add(supervisor=["Sunny.", Call("write_answer", {"sun": True})])
        structured = model.with_structured_output(schema, method="json_schema")
        assert await structured.ainvoke("the weather") == {"sun": True}
        with pytest.raises(BadRequestError, match="tool_choice"):
            await model.with_structured_output(schema, method="function_calling").ainvoke("the weather")


SOURCE = CitedSource(title="Milk", url="https://milk.example/")
IMAGE = ShownImage(
    url="https://milk.example/cow.png", title="", thumbnail="", width=None, height=None, mime_type="", page=""
)
CITED = Citation(title="Milk", url="https://milk.example/", number=0, start=5, end=8)


@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_order_of_sources_and_annotations(is_stream: bool) -> None:
    """Sources and images (under the names of `inline_data`) come before the text, annotations on it behind it."""
    events = [
        Message(speaker="supervisor", text="Yes."),
        Sources(sources={"0": SOURCE}),
        Images(images=[IMAGE]),
        Token(speaker="supervisor", text="Milk "),
        Token(speaker="supervisor", text="[1].", citations=[CITED]),
        Message(speaker="supervisor", text="Milk [1].", citations=[CITED]),
    ]
    reply = Reply(Answer.over(Turn(thread="ann", text="milk?"), events))
    if is_stream:
        frames = [frame async for frame in reply.stream(with_usage=False)]
        deltas = [json.loads(frame.removeprefix(b"data: "))["choices"][0]["delta"] for frame in frames[1:-2]]
        assert [next(iter(delta)) for delta in deltas] == [
            "content",
            "inline_data",
            "inline_data",
            "content",
            "content",
            "annotations",
        ]
        text = "".join(delta.get("content", "") for delta in deltas)
        inline, annotations = [delta["inline_data"] for delta in deltas[1:3]], deltas[-1]["annotations"]
    else:
        message = (await anext(reply.total()))["choices"][0]["message"]
        text, inline, annotations = message["content"], message["inline_data"], message["annotations"]
    assert inline[0] == {"sources": {"0": SOURCE}}
    [image] = inline[1]["images"]
    assert image == {
        "url": IMAGE["url"],
        "title": "",
        "thumbnail-link": "",
        "original-width": None,
        "original-height": None,
        "mime-type": "",
        "page": "",
    }
    [place] = [each["url_citation"] for each in annotations]
    assert (text, text[place["start_index"] : place["end_index"]]) == ("Yes.\n\nMilk [1].", "[1]")


async def test_new_words_alone_go_on_behind_a_history(sdk: AsyncOpenAI, script: Script) -> None:
    """A client that has sent a history of its thread once may send new messages alone: no talk begins anew."""
    script.add(supervisor=["Hello.", "Noted.", "Fine.", "Good."])
    ask = partial(sdk.chat.completions.create, model=MODEL, extra_headers={"X-Thread-Id": "t"})
    said: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]
    await ask(messages=said)
    said += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "my cat is Miso"}]
    await ask(messages=said)
    for text in ("and she hates tuna", "good night"):
        await ask(messages=[{"role": "user", "content": text}])
    assert user_words(script.asked[-1].messages) == ["hello", "my cat is Miso", "and she hates tuna", "good night"]


@pytest.mark.needs("seat")
async def test_a_person_in_the_assistants_place(sdk: AsyncOpenAI, assistant: Assistant, script: Script) -> None:
    """A client that only gets answers is told who reads, and gets the person's words, once, with its next answer."""
    script.add(supervisor=["Hello.", "On Monday."])
    ask = partial(sdk.chat.completions.create, model=MODEL, extra_headers={"X-Thread-Id": "t"})

    async def answer_to(text: str) -> str | None:
        reply = await ask(messages=[{"role": "user", "content": text}])
        return str(reply.choices[0].message.content)

    await answer_to("hello")
    await takeover.take(assistant, "t")
    held = "Anna reads this; the assistant is silent."
    assert await answer_to("my lamp is broken") == f"{sentence('seat/phrases', 'taken', 'en', name='Anna')}\n\n{held}"
    await takeover.say(assistant, "t", "A new one comes.")
    assert await answer_to("thanks") == f"Anna: A new one comes.\n\n{held}"
    await takeover.hand_back(assistant, "t")
    assert await answer_to("when?") == f"{sentence('seat/phrases', 'back', 'en')}\n\nOn Monday."


@pytest.mark.parametrize("named", [{}, {"X-Thread-Id": "ann"}])
async def test_a_greeting_at_the_head(
    sdk: AsyncOpenAI, assistant: Assistant, script: Script, named: dict[str, str]
) -> None:
    """A front end's greeting is read in once; the first message, said anew, stands after it."""
    script.add(supervisor=["One.", "Two.", "Three."])
    greeting: Any = {"role": "assistant", "content": "Welcome to the shop."}
    hi, more = ({"role": "user", "content": text} for text in ("hi", "more"))
    for said in ([greeting, hi], [greeting, hi, {"role": "assistant", "content": "One."}, more], [greeting, hi]):
        messages: Any = said
        answer = await sdk.chat.completions.with_raw_response.create(
            model=MODEL, messages=messages, extra_headers=named
        )
        assert script.asked[-1].prefix.count("Welcome to the shop.") == 1
        assert ("more" in user_words(script.asked[-1].messages)) is (said[-1] is more)
    lines = [line.text for line in await assistant.history(answer.headers["x-thread-id"])]
    assert lines[:1] == ["Welcome to the shop."]
