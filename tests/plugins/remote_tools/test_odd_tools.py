"""Odd but legal tools of an MCP server: every provider takes them, and each call arrives as the server wants it."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from agents.errors import ConfigError
from agents.models import Models
from agents.models.factory import Endpoint, make_model
from agents.state import SUPERVISOR
from agents.toolkit.descriptions import translation_of
from agents.toolkit.speaker import Speaker, Speakers
from app.cli import command_line
from app.composition.served_tools import tried
from app.plugins.remote_tools.answer import NoAnswer
from app.plugins.remote_tools.files import McpFile, ServerSpec
from app.plugins.remote_tools.mcp import words_of
from app.plugins.remote_tools.mcp_answer import LARGEST_ANSWER
from app.plugins.remote_tools.mcp_session import HeldServer
from app.testing import Chat
from app.testing.script import Call
from tests.plugins.remote_tools.odd_mcp_server import TOOLS, UNSHOWN
from tests.plugins.remote_tools.remote_files import opened
from tests.support import tool_dialects
from tests.support.loopback import listening
from tests.support.odd_provider import read_request
from tests.support.places import ROOT
from tests.support.written_arguments import written

pytestmark = pytest.mark.slow
BATCH = 14
"""Tools of a speaker that are all bound."""
FORMS: dict[str, Callable[[Mapping[str, Any]], Iterable[str]]] = {
    "openai:gpt-4o": tool_dialects.openai,
    "anthropic:m": tool_dialects.anthropic,
    "google_genai:m": tool_dialects.gemini,
}
SHOWN = {name: odd for name, odd in TOOLS.items() if name not in UNSHOWN}


def servers(log: Path, names: Iterable[str] = TOOLS) -> dict[str, Any]:
    """Return the file of the odd server: none of its tools is renamed."""
    texts = {"description": {"en": "Odd."}, "examples": {"en": ["odd"], "ru": ["странно"], "zh": ["怪"]}}
    server = {
        "command": sys.executable,
        "args": ["-m", "tests.plugins.remote_tools.odd_mcp_server", str(log)],
        "cwd": str(ROOT),
    }
    tools = {name: {"effect": "read", **texts} for name in names}
    return {"servers": {"odd": {**server, "speaker": SUPERVISOR, "foreign": False, "tools": tools}}}


def arrived(log: Path) -> list[Any]:
    """Return the calls that the server got: the tools' names, and the arguments."""
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("model", FORMS)
async def test_each_tool_is_called_with_the_right_arguments(
    chat: Chat, tmp_path: Path, mock: LLMock, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Calls go through the provider's own client, from the model's schema; a schema that does not fit is named."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, value in mock.env().items():
        monkeypatch.setenv(name, value)
    url = mock.base_url() if model.startswith("openai") else None
    chat.models = Models(default=make_model(model, Endpoint(timeout=60, retries=0, base_url=url)))
    log, unfit = tmp_path / "calls.jsonl", list[ConfigError]()
    alone = Speakers(Speaker(name=SUPERVISOR), {})
    async with opened(tmp_path, alone, servers=servers(log), unfit=unfit.append) as odd:
        everyone, refused = tried(odd, chat.models, "en")
        assert refused == []
        made = dict(zip(SHOWN, everyone.supervisor.tools, strict=True))
        for start in range(0, len(made), BATCH):
            batch = {name: made[name] for name in [*made][start : start + BATCH]}
            chat.speakers = replace(everyone, supervisor=replace(everyone.supervisor, tools=[*batch.values()]))
            calls = [
                ToolCall(tool.name, written(SHOWN[name].args, translation_of(tool).schema))
                for name, tool in batch.items()
            ]
            mock.add(Reply(tool_calls=tuple(calls)), Reply(text="All done."))
            assert "supervisor: All done." in await chat.says("go on", thread=f"t{start}")
    assert [str(left_out).split(": ")[1].rpartition(".")[2] for left_out in unfit] == [*UNSHOWN]
    assert sorted(arrived(log), key=str) == sorted(([name, odd.args] for name, odd in SHOWN.items()), key=str)
    bodies = [record.body for record in mock.requests if "tools" in record.body]
    assert len(bodies) == 2 * -(-len(made) // BATCH)
    assert [wrong for body in bodies for wrong in FORMS[model](body)] == []


async def test_a_shelved_tool_is_called_with_the_right_arguments(
    chat: Chat, tmp_path: Path, mock: LLMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`call_tool` has real parameters with every provider; it takes the arguments as JSON text and as an object."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, value in mock.env().items():
        monkeypatch.setenv(name, value)
    chat.models = Models(default=make_model("google_genai:m", Endpoint(timeout=60, retries=0)))
    log = tmp_path / "calls.jsonl"
    async with opened(tmp_path, Speakers(Speaker(name=SUPERVISOR), {}), servers=servers(log, SHOWN)) as chat.speakers:
        tools = dict(zip(SHOWN, chat.speakers.supervisor.tools, strict=True))
        named = {"keys": json.dumps(SHOWN["keys"].args, ensure_ascii=False), "open": SHOWN["open"].args}
        calls = [ToolCall("call_tool", {"name": tools[name].name, "args": args}) for name, args in named.items()]
        mock.add(Reply(tool_calls=tuple(calls)), Reply(text="All done."))
        await chat.says("go on")
    assert arrived(log) == [[name, SHOWN[name].args] for name in named]
    assert json.dumps(mock.requests[-1].body).count("receipt: https://shop.example/1") == len(named)
    assert [wrong for record in mock.requests for wrong in tool_dialects.gemini(record.body)] == []


def test_check_names_what_no_model_gets(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A tool that is left out is a fault; a rule that no model is told is a warning; each names server, tool, field."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump(servers(tmp_path / "calls.jsonl"), allow_unicode=True), "utf-8")
    monkeypatch.setenv("MCP_SERVERS", str(path))
    assert command_line.main(["check", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    places = {name: f"{path}: servers.odd.tools.{name}: " for name in TOOLS}
    assert sorted(line.partition(": its ")[0] + ": " for line in report["faults"]) == sorted(
        places[name] for name in UNSHOWN
    )
    untold = [line for line in report["warnings"] if "no model is told" in line]
    assert f"{places['rules']}no model is told of a rule: all parameters: if" in untold
    assert f"{places['lost']}no model is told of a rule: a: #/$defs/nowhere, which is not there" in untold
    assert not [line for line in untold if places["plain"] in line]
    assert "plain" in [tool["name"] for tool in report["tools"]]


async def test_what_a_client_refuses_costs_one_tool(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool on which a model's own client fails is left out by name, and its speaker goes on."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    model = make_model("openai:m", Endpoint(base_url="http://127.0.0.1:9/v1"))
    bind = type(model.chat).bind_tools

    def picky(chat: Any, tools: Any, **options: Any) -> Any:
        if any(tool["function"]["name"] == "plain" for tool in tools):
            raise TypeError("plain words\nare not taken")
        return bind(chat, tools, **options)

    monkeypatch.setattr(type(model.chat), "bind_tools", picky)
    alone, log = Speakers(Speaker(name=SUPERVISOR), {}), tmp_path / "calls.jsonl"
    async with opened(tmp_path, alone, servers=servers(log, ["plain", "keys"])) as odd:
        everyone, refused = tried(odd, Models(default=model), "en")
    assert [tool.name for tool in everyone.supervisor.tools] == ["keys"]
    where = f"{tmp_path / 'mcp_servers.yaml'}: servers.odd.tools.plain"
    assert refused == [f"{where}: no model of supervisor gets it: TypeError: plain words are not taken"]


JSON, EVENTS = (f"200 X\r\nContent-Type: {kind}\r\n" for kind in ("application/json", "text/event-stream"))
UNREAD = {
    "a refused key": ("401 X\r\nContent-Length: 0\r\n\r\n", "HTTPStatusError 401"),
    "packed": (f"{JSON}Content-Encoding: gzip\r\n\r\n", "its answer is packed"),
    "text": ("200 X\r\nContent-Type: text/plain\r\n\r\n{}", "neither JSON nor a stream of events"),
    "too long": (f"{JSON}\r\n{'x' * (LARGEST_ANSWER + 1)}", "its answer is longer than"),
    "cut": (f'{JSON}\r\n{{"jsonrpc": "2.0", "id"', "its answer does not follow"),
    "of another call": (f'{JSON}\r\n{{"jsonrpc": "2.0", "id": 7, "result": {{}}}}', "its answer does not follow"),
    "no result": (
        f'{JSON}\r\n{{"jsonrpc": "2.0", "id": 0, "result": {{}}}}',
        "its answer does not follow",
    ),
    "broken off": (f"{JSON}Content-Length: 9\r\n\r\n{{", "its answer ended too early"),
    "none": ("202 X\r\nContent-Length: 0\r\n\r\n", "its answer ended too early"),
    "a stream too long": (f"{EVENTS}\r\n{'x' * (LARGEST_ANSWER + 1)}", "its answer is longer than"),
    "a stream without one": (f"{EVENTS}\r\ndata: {{", "its answer ended too early"),
    "a stream that does not go on": (f"{EVENTS}\r\nid: 1\ndata:\n\n", "its answer ended too early"),
}
"""Answers that are not read, and the operator's reason."""


@pytest.mark.parametrize(("answer", "reason"), UNREAD.values(), ids=UNREAD)
async def test_an_answer_that_is_not_read_is_told_at_once(answer: str, reason: str) -> None:
    """The operator reads why a server's answers are not taken; no call waits for its limit."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        writer.write(b"HTTP/1.1 " + (answer.encode() if head.startswith("POST") else b"404 X\r\n\r\n"))
        writer.close()

    async with listening(serve) as url:
        server = ServerSpec(speaker=SUPERVISOR, url=url, internal=True, tools={"look": None})
        held = HeldServer("odd", server, {})
        with pytest.raises(NoAnswer, match=reason):
            await held.tools()
        await held.close()


async def test_an_error_in_the_structured_content_is_read(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model reads the reason wherever the server has put it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    chat.expects(supervisor=[Call("refuses_in_data"), "Sorry."])
    alone = Speakers(Speaker(name=SUPERVISOR), {})
    async with opened(tmp_path, alone, servers=servers(tmp_path / "log", ["refuses_in_data"])) as chat.speakers:
        trace = await chat.says("go on")
    assert "supervisor.refuses_in_data() ! refuses_in_data was refused: it is sold out." in trace


@pytest.mark.parametrize(
    ("tool", "reason"),
    [("never_ends_a_line", "its answer is longer than"), ("answers_null", "its answer does not follow")],
)
async def test_a_process_that_writes_no_answer_is_told_at_once(tmp_path: Path, tool: str, reason: str) -> None:
    """Its lines are bounded, and a line meant for an answer is not waited for; the next call has a new session."""
    file = McpFile.model_validate(servers(tmp_path / "log", [tool, "plain"]))
    held = HeldServer("odd", file.servers["odd"], {})
    try:
        with pytest.raises(NoAnswer, match=reason):
            await held.call(tool, {}, again=True)
        assert not (await held.call("plain", {}, again=False)).isError
    finally:
        await held.close()
    assert [name for name, _ in arrived(tmp_path / "log")] == [tool, "plain"]


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("breaks_its_promise", (False, "done\nreceipt: https://shop.example/1")),
        ("refuses_arguments", (True, "the number must be positive")),
        ("is_noisy", (False, "done\nreceipt: https://shop.example/1")),
        ("answers_in_odd_parts", (False, "one\ntwo\n(hologram)\nn: here\n5\nhalf \ufffd, \\ud83d, 👍")),
    ],
)
async def test_an_odd_answer_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tool: str, told: tuple[bool, str]
) -> None:
    """A write is not called failed because its answer lacks what the server promised; a reason is no lost server.

    Lines that are no messages cost neither the call nor a line of the log.
    """
    held = HeldServer("odd", McpFile.model_validate(servers(tmp_path / "log", [tool])).servers["odd"], {})
    try:
        answer = await held.call(tool, {}, again=False)
    finally:
        await held.close()
    assert (answer.isError, words_of(answer)) == told
    assert [record for record in caplog.records if record.name.startswith("mcp")] == []
