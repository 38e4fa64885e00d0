"""AG-UI: the assistant as an agent, in the protocol's own types and by its own client."""

import asyncio
import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from ag_ui import core
from pydantic import TypeAdapter

from agents.events import CUT, RETRY, Error, Event, Message, Token
from app.assistant import Assistant
from app.plugins.agui.runs import NewRun, RunWriter
from app.settings import Settings
from app.testing.script import Call, Script
from tests.doors.http.test_conversations import stopped_lines
from tests.support.http_door import KEYS, SHOP, by, calling, served
from tests.support.node import installed, needs_node, node
from tests.support.scripted_assistant import MILK_AND_TEA, ROLES, Gate, stage
from tests.support.shop_tools import with_shop
from tests.support.user_words import results

EVENT: TypeAdapter[Any] = TypeAdapter(core.Event)
BEGIN = Call("plan_things", {"brief": "list"})
DELETION: list[Any] = MILK_AND_TEA["planner"][:3]
PIXEL = base64.b64encode(bytes.fromhex("89504e470d0a1a0a") + b"dot").decode()
CLIENT = """
import { HttpAgent } from "@ag-ui/client";
const agent = new HttpAgent({ url: "ADDRESS/agui", threadId: "ann" });
async function run(text, options = {}) {
  if (text) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  const types = [];
  const result = await agent.runAgent(options, {
    onEvent: ({ event }) => { types.push(event.type); },
    onRunFinishedEvent: ({ event }) => { interrupt = event.outcome.interrupts?.[0]; },
  });
  console.log(JSON.stringify({ types, said: result.newMessages.map((message) => message.content ?? message.role) }));
}
let interrupt;
await run("add milk and tea");
await run("delete both");
await run("", { resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }] });
console.log(JSON.stringify(agent.messages.map((message) => message.role)));
"""


def asked(run: str, text: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a run that says something, or nothing."""
    messages = [{"id": f"{run}-user", "role": "user", "content": text}] if text is not None else []
    return {"threadId": "ann", "runId": run, "messages": messages, **more}


def resume(run: str, interrupt: str, payload: object = None, status: str = "resolved") -> dict[str, Any]:
    """Return a run that answers a question."""
    return asked(run, resume=[{"interruptId": interrupt, "status": status, "payload": payload}])


async def run_of(client: httpx.AsyncClient, body: dict[str, Any], **headers: str) -> list[Any]:
    """Return the events of a run, read by the protocol's own types, which know every field."""
    answer = await client.post("/agui", json=body, headers={name.replace("_", "-"): v for name, v in headers.items()})
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    events = [EVENT.validate_json(data) for data in re.findall(r"^data: (.*)$", answer.text, re.MULTILINE)]
    assert not any(event.model_extra for event in events)
    assert isinstance(events[0], core.RunStartedEvent)
    return events


def said(events: Sequence[Any]) -> list[str]:
    """Return the messages of a run; each is begun before it is spoken, and ended."""
    texts: dict[str, str] = {}
    is_open = False
    for event in events:
        match event:
            case core.TextMessageStartEvent():
                assert not is_open
                is_open = True
                texts[event.message_id] = ""
            case core.TextMessageContentEvent():
                assert is_open
                texts[event.message_id] += event.delta
            case core.TextMessageEndEvent():
                is_open = False
    assert not is_open
    return [*texts.values()]


@pytest.mark.needs("planner")
async def test_a_run_is_a_turn(client: httpx.AsyncClient, script: Script) -> None:
    """A run has its text, its tool calls and their results; the same run again does nothing twice."""
    script.add(supervisor=[BEGIN], planner=[Call("add_todos", {"items": ["milk"]}), "Milk is noted."])
    first, again = [await run_of(client, asked("r1", "add milk")) for _ in "12"]
    for events in (first, again):
        assert (events[0].thread_id, events[0].run_id, events[0].protocol_version) == ("ann", "r1", "1.0")
        assert said(events) == ["Milk is noted."]
        assert (events[-1].type, events[-1].outcome.type) == ("RUN_FINISHED", "success")
    [call] = [event for event in first if isinstance(event, core.ToolCallStartEvent)]
    [result] = [event for event in first if isinstance(event, core.ToolCallResultEvent)]
    assert (call.tool_call_name, result.tool_call_id, result.content) == ("add_todos", call.tool_call_id, "1. milk")
    assert {usage.model for usage in first[-1].usage} == {"script:supervisor", "script:planner"}
    assert "handover" in [event.name for event in first if isinstance(event, core.CustomEvent)]


@pytest.mark.parametrize(
    ("payload", "status", "answer"),
    [
        ({"approved": True}, "resolved", "Gone."),
        ("yes", "resolved", "Gone."),
        (True, "resolved", "Gone."),
        ({"approved": False}, "resolved", "Kept."),
        (None, "cancelled", "Kept."),
    ],
)
@pytest.mark.needs("planner")
async def test_an_interrupt_is_answered(
    client: httpx.AsyncClient, script: Script, payload: object, status: str, answer: str
) -> None:
    """A question ends the run as an interrupt; the next run resumes its call, which is not announced again."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, answer])
    await run_of(client, asked("r1", "add milk and tea"))
    events = await run_of(client, asked("r2", "delete both"))
    [interrupt] = events[-1].outcome.interrupts
    [call] = [event for event in events if isinstance(event, core.ToolCallStartEvent)]
    assert (interrupt.reason, interrupt.tool_call_id) == ("tool_call", call.tool_call_id)
    assert interrupt.response_schema["required"] == ["approved"]
    assert "milk" in interrupt.message

    function = {"name": call.tool_call_name, "arguments": "{}"}
    calls = [{"id": call.tool_call_id, "type": "function", "function": function}]
    spoken = [{"id": "m", "role": "assistant", "content": "", "toolCalls": calls}]
    # Some front ends resume a run under the same id.
    body = {**resume("r2", interrupt.id, payload, status), "messages": spoken}
    for _ in "12":
        resumed = await run_of(client, body)
        assert said(resumed) == [answer]
        assert not {text.message_id for text in resumed if isinstance(text, core.TextMessageStartEvent)} & {
            text.message_id for text in events if isinstance(text, core.TextMessageStartEvent)
        }
        assert not any(isinstance(event, core.ToolCallStartEvent) for event in resumed)
    late = await run_of(client, resume("r4", interrupt.id, payload, status))
    assert (late[-1].type, late[-1].code) == ("RUN_ERROR", "no_answer")


@pytest.mark.needs("planner")
async def test_a_question_may_be_left(client: httpx.AsyncClient, script: Script) -> None:
    """A wrong answer is an error of the run; the next message may answer as well; until then the question is open."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, "Gone."])
    await run_of(client, asked("r1", "add milk and tea"))
    [interrupt] = (await run_of(client, asked("r2", "delete both")))[-1].outcome.interrupts
    for wrong in (resume("r3", interrupt.id, "perhaps"), resume("r4", "another", True), resume("r5", interrupt.id)):
        assert (await run_of(client, wrong))[-1].type == "RUN_ERROR"
    assert said(await run_of(client, asked("r6", "yes"))) == ["Gone."]


@pytest.mark.parametrize(
    ("tool", "kind", "payload", "status", "result"),
    [
        ("choose_order", "string", "2", "resolved", '"id":'),
        ("choose_order", "string", None, "cancelled", "Never mind"),
        ("ask_address", "object", {"street": "Elm Street 5", "zip": 8001}, "resolved", '{"street":"Elm Street 5"'),
    ],
)
@pytest.mark.needs("planner")
async def test_choices_and_forms(
    tmp_path: Path, script: Script, tool: str, kind: str, payload: object, status: str, result: str
) -> None:
    """An option and a form's values answer a question, and a question may be left; the same run does it once."""
    script.add(supervisor=[BEGIN], planner=[Call(tool), "Fine."])
    async with (
        stage(tmp_path / "shop.db", script.models(ROLES), change=with_shop) as assistant,
        calling(assistant) as client,
    ):
        [interrupt] = (await run_of(client, asked("r1", "send it back")))[-1].outcome.interrupts
        assert interrupt.response_schema["type"] == kind
        for _ in "12":
            assert said(await run_of(client, resume("r2", interrupt.id, payload, status)))[-1] == "Fine."
    assert result in str(script.asked[-1].messages)


async def test_who_may_run(assistant: Assistant, script: Script) -> None:
    """A run needs a key; one key's name of a thread means nothing to another key, and does not leak."""
    script.add(supervisor=["Hello."])
    async with calling(assistant, KEYS) as client:
        assert (await client.post("/agui", json=asked("r1", "hello"))).status_code == 401
        events = await run_of(client, asked("r1", "hello"), **by(SHOP), x_user_id="bob")
        assert "shop:" not in str(events)
    assert [thread.thread for thread in await assistant.threads("shop:bob")] == ["shop:ann"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (asked("r", " "), 422),
        ({**asked("r", "hello"), "threadId": "a\nb"}, 422),
        (asked("r", messages=[{"id": "1", "role": "assistant", "content": "hello"}]), 422),
        (asked("r", resume=[{"interruptId": "1", "status": "resolved"}] * 2), 422),
        ({"threadId": "ann"}, 422),
        ([{}] * 300_000, 413),
    ],
)
async def test_what_is_no_run(client: httpx.AsyncClient, body: object, status: int) -> None:
    """A run without a user's message, with an odd name or two answers is refused in the common form."""
    answer = await client.post("/agui", json=body)
    assert (answer.status_code, {*answer.json()["error"]}) == (status, {"code", "message"})


async def test_state_and_context_are_left_alone(client: httpx.AsyncClient, script: Script) -> None:
    """A front end keeps there what it likes."""
    script.add(supervisor=["Hello."])
    kept = {"state": ["a"], "context": [{"description": "page", "value": {"open": 1}}]}
    assert said(await run_of(client, asked("r1", "hello", **kept))) == ["Hello."]


async def test_tools_of_the_front_end(client: httpx.AsyncClient, script: Script) -> None:
    """A call without a result is the front end's; its message has the result, and the next run goes on."""
    script.add(supervisor=[["I look.", Call("weather", {"city": "Rome"})], "Sunny."])
    about = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"name": "weather", "description": "Tells the weather.", "parameters": about}]
    events = await run_of(client, asked("r1", "weather?", tools=tools))
    [call] = [event for event in events if event.type == "TOOL_CALL_START"]
    assert "TOOL_CALL_RESULT" not in [event.type for event in events]
    function = {"name": "weather", "arguments": "{}"}
    said = [
        *asked("r1", "weather?")["messages"],
        {"id": "a", "role": "assistant", "content": "I look."},
        {"id": "b", "role": "assistant", "toolCalls": [{"id": call.tool_call_id, "function": function}]},
        {"id": "c", "role": "tool", "toolCallId": call.tool_call_id, "content": "sun"},
    ]
    events = await run_of(client, {**asked("r2"), "messages": said, "tools": tools})
    assert [event.delta for event in events if event.type == "TEXT_MESSAGE_CONTENT"] == ["Sunny."]
    assert (results(script), [event for event in events if event.type.startswith("TOOL_CALL")]) == (["sun"], [])


async def test_a_stop_and_a_failure(client: httpx.AsyncClient, script: Script) -> None:
    """A run that is stopped ends as cancelled, one that fails with an error, and both are whole."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three"])
    events = []
    async with client.stream("POST", "/agui", json=asked("r1", "count")) as response:
        async for line in response.aiter_lines():
            events += [EVENT.validate_json(line.removeprefix("data: "))] if line else []
            if "two" in line:
                assert (await client.post("/threads/ann/cancel", json={})).json() == {"stopped": True}
    assert (events[-1].type, events[-1].outcome.type) == ("RUN_FINISHED", "cancelled")
    del script.gates["supervisor"]
    failed = await run_of(client, asked("r2", "hello"))
    assert (failed[-1].type, bool(failed[-1].message)) == ("RUN_ERROR", True)


async def test_whoever_leaves_a_run_stops_it(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """A run that nobody reads any more ends with what was shown."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two three four"])
    async with client.stream("POST", "/agui", json=asked("r1", "count")) as response:
        async for line in response.aiter_lines():
            if "two" in line:
                break
    assert await stopped_lines(assistant) == ["user: count", "supervisor: One two ^C"]


def test_what_was_shown_is_not_taken_back() -> None:
    """A message that is asked for again, or that was cut, is another message behind what was shown."""
    again = Error(code=RETRY, text="again")
    cut = Error(code=CUT[0], text="It was cut.")
    before = [Token(speaker="supervisor", text="On"), again, Token(speaker="supervisor", text="Two"), cut]
    events: list[Event] = [*before, Token(speaker="supervisor", text="Thr"), Message(speaker="supervisor", text="Four")]
    writer = RunWriter(NewRun.model_validate(asked("r1", "count")))
    written = [each for event in events for each in writer.take(event)]
    assert said(written) == ["On", "Two", "It was cut.", "Thr", "Four"]


async def test_files(tmp_path: Path, script: Script) -> None:
    """A picture and a text beside a message are read for its run; nothing is fetched, and nothing of them is kept."""
    script.sees = True
    script.add(supervisor=["A dot."])
    picture = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
    elsewhere = {"type": "image", "source": {"type": "url", "value": "http://127.0.0.1:9/cat.png"}}
    body = asked("r1", messages=[{"id": "1", "role": "user", "content": [picture, elsewhere]}])
    async with (
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
        calling(assistant) as client,
    ):
        assert said(await run_of(client, body)) == ["I could not open the picture.", "A dot."]
    assert PIXEL in str(script.asked[0].messages)
    kept = await asyncio.to_thread(lambda: b"".join(path.read_bytes() for path in tmp_path.iterdir()))
    assert PIXEL.encode() not in kept


@needs_node
@pytest.mark.slow
async def test_the_official_client(assistant: Assistant, script: Script, tmp_path: Path) -> None:
    """The client of the protocol accepts the order of all events, and resumes an interrupt."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, "Gone."])
    await installed(tmp_path, "@ag-ui/client@1")
    async with served(assistant) as url:
        *runs, roles = map(json.loads, (await node(CLIENT.replace("ADDRESS", url), tmp_path)).splitlines())
    assert [run["said"][-1] for run in (runs[0], runs[2])] == ["Noted.", "Gone."]
    assert runs[1]["types"][-1] == "RUN_FINISHED"
    assert "TOOL_CALL_RESULT" in runs[2]["types"]
    assert "TOOL_CALL_START" not in runs[2]["types"]
    assert roles.count("tool") == 2


def history(run: str, *texts: str) -> dict[str, Any]:
    """Return a run of a client that sends all that was said; the user begins, and the last message is the user's."""
    roles = ("user", "assistant")
    messages = [{"id": f"m{at}", "role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {**asked(run), "messages": messages}


@pytest.mark.needs("planner")
async def test_again_and_edits_are_branches(client: httpx.AsyncClient, script: Script) -> None:
    """A message that is sent again at its place takes back what its first turn wrote, and so does another one."""
    write: list[Any] = [Call("add_todos", {"items": ["milk"]}), "Milk is noted."]
    script.add(supervisor=["Hello.", BEGIN, BEGIN, BEGIN], planner=[*write, *write, "Then tea."])
    await run_of(client, history("r1", "hello you"))
    await run_of(client, history("r2", "hello you", "Hello.", "please note milk for me"))
    again = await run_of(client, history("r3", "hello you", "Hello.", "please note milk for me"))
    assert [event.content for event in again if isinstance(event, core.ToolCallResultEvent)] == ["2. milk"]
    edited = await run_of(client, history("r4", "hello you", "Hello.", "please think of tea"))
    assert said(edited)[-1] == "Then tea."
    told = ("hello you", "Hello.", "please think of tea", "Then tea.", "show my list")
    assert "milk" not in said(await run_of(client, history("r5", *told)))[-1]


@pytest.mark.needs("planner")
async def test_a_resume_needs_no_messages(client: httpx.AsyncClient, script: Script) -> None:
    """The call is not announced again to a client that sends none; one that sends all goes on behind the answer."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, "Both are gone.", "Nothing is left."])
    await run_of(client, asked("r1", "add milk and tea"))
    [interrupt] = (await run_of(client, asked("r2", "delete both")))[-1].outcome.interrupts
    for wrong in (None, 0, 1, {"approved": 1}):
        assert (await run_of(client, resume(f"wrong {wrong}", interrupt.id, wrong)))[-1].type == "RUN_ERROR"
    for _ in "12":
        events = await run_of(client, resume("r3", interrupt.id, True))
        assert said(events) == ["Both are gone."]
        assert not any(isinstance(event, core.ToolCallStartEvent) for event in events)
    told = ("add milk and tea", "Noted.", "delete both", "Both are gone.", "please go on")
    assert said(await run_of(client, history("r4", *told)))[-1] == "Nothing is left."


@pytest.mark.needs("planner")
@pytest.mark.parametrize("words", ["yes", "please think of tea"])
async def test_a_message_beside_an_answer(client: httpx.AsyncClient, script: Script, words: str) -> None:
    """A message beside a cancelled question counts, and no word of it is a yes, whatever the run's id."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, "Then so."])
    await run_of(client, asked("r1", "add milk and tea"))
    [interrupt] = (await run_of(client, asked("r2", "delete both")))[-1].outcome.interrupts
    told = ("add milk and tea", "Noted.", "delete both", "", words)
    messages = history("", *told)["messages"]
    made_up = {"id": "m", "role": "tool", "toolCallId": interrupt.tool_call_id, "content": '{"status": "cancelled"}'}
    for more in ([], [made_up]):
        body = {**resume("r2", interrupt.id, status="cancelled"), "messages": [*messages, *more]}
        events = await run_of(client, body)
        assert said(events) == ["Then so."]
    assert words in script.asked[-1].prefix
    assert "tea" in said(await run_of(client, history("r5", *told, "Then so.", "show my list")))[-1]


async def test_pages_of_allowed_origins_may_run(assistant: Assistant, script: Script) -> None:
    """Their browsers may send a run and read it; other origins and other paths stay closed, and so does no origin."""
    script.add(supervisor="Hello.")
    page, other = {"origin": "https://chat.example.com"}, {"origin": "https://chat.example.com.evil.example"}
    settings = Settings(allowed_origins=(page["origin"],), _env_file=None)
    async with calling(assistant, KEYS, settings=settings) as client:
        before = await client.options("/agui", headers={**page, "Access-Control-Request-Method": "POST"})
        assert (before.status_code, before.headers["access-control-allow-origin"]) == (204, page["origin"])
        assert "Authorization" in before.headers["access-control-allow-headers"]
        refused = await client.post("/agui", json=asked("r0", "hello you"), headers=page)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, page["origin"])
        answer = await client.post("/agui", json=asked("r1", "hello you"), headers={**page, **by(SHOP)})
        assert (answer.status_code, answer.headers["vary"]) == (200, "Origin")
        assert "access-control-allow-credentials" not in answer.headers
        for path, headers in (("/agui", other), ("/agui", {"origin": "null"}), ("/threads", page)):
            answer = await client.options(path, headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
