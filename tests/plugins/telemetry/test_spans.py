"""Turns are traced for OpenTelemetry and LangSmith; texts leave only where that is allowed."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from app.assistant import Turn
from app.cli.installation import report
from app.composition import open_assistant
from app.extensions import plugins
from app.settings import Settings
from tests.support.odd_provider import Provider, call, usage, words
from tests.support.places import ROOT
from tests.support.postgres_server import PostgresServer
from tests.support.trace_receiver import RUNS, TraceReceiver, attributes_of
from tests.support.worker_fleet import Fleet

ASKED, ANSWER = "what is today's date, Sue", "It is late in the autumn."
LONG = " ".join(f"word{number}" for number in range(400))


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TraceReceiver]:
    """Take traces of all that is opened."""
    async with TraceReceiver.open() as taking:
        monkeypatch.setenv("TRACES_URL", f"{taking.url}/v1/traces")
        yield taking


async def traced(folder: Path, **more: object) -> None:
    """Hold a turn in which a model calls a tool and answers."""
    first = [*call("current_time", "{}"), usage(50, 5, 40)]
    async with Provider.open(first, [*words(ANSWER), usage(70, 7, 60)]) as provider:
        settings = Settings.model_validate(
            {
                "_env_file": None,
                "llm_model": "openai:slow",
                "openai_base_url": provider.url,
                "database_url": f"sqlite:///{folder}/traces.db",
                **more,
            }
        )
        async with open_assistant(settings) as assistant:
            async for _ in assistant.play(Turn(thread="ann", text=ASKED, id="m1", lang="en")):
                pass


async def test_a_turn_its_calls_and_its_tools_are_spans(tmp_path: Path, receiver: TraceReceiver) -> None:
    """They are named by the conventions, stand in one trace that the message has, and hold no text."""
    await traced(tmp_path)
    *steps, turn = receiver.spans
    assert [step.name for step in steps] == ["chat slow", "execute_tool current_time", "chat slow"]
    assert turn.name == "invoke_agent dialog-supervisor"
    assert {step.parent_span_id for step in steps} == {turn.span_id}
    assert {span.trace_id for span in receiver.spans} == {hashlib.sha256(b"ann\nm1").digest()[:16]}
    assert attributes_of(turn) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "dialog-supervisor",
        "gen_ai.conversation.id": "ann",
        "dialogs.turn": 1,
        "dialogs.message_id": "m1",
        "dialogs.device": "",
        "dialogs.outcome": "done",
    }
    assert attributes_of(steps[0]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "slow",
        "gen_ai.agent.name": "supervisor",
        "gen_ai.conversation.id": "ann",
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "dialogs.turn": 1,
        "dialogs.is_used": True,
    }
    tool = attributes_of(steps[1])
    assert tool.pop("gen_ai.tool.call.id")
    assert tool == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "current_time",
        "gen_ai.agent.name": "supervisor",
        "gen_ai.conversation.id": "ann",
        "dialogs.turn": 1,
    }
    assert not any(text.encode() in receiver.everything for text in (ASKED, ANSWER))


async def test_texts_go_along_where_that_is_allowed(tmp_path: Path, receiver: TraceReceiver) -> None:
    """Messages, and the arguments and results of tools, are in the spans."""
    await traced(tmp_path, trace_content=True)
    _, tool, _, turn = map(attributes_of, receiver.spans)
    assert ASKED in turn["gen_ai.input.messages"]
    assert ANSWER in turn["gen_ai.output.messages"]
    assert tool["gen_ai.tool.call.arguments"] == "{}"
    assert tool["gen_ai.tool.call.result"]


async def test_a_turn_goes_on_with_the_trace_around_it(tmp_path: Path, receiver: TraceReceiver) -> None:
    """A caller of the assistant within a span of their own finds the turn below it."""
    around = SpanContext(trace_id=7, span_id=8, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    with use_span(NonRecordingSpan(around)):
        await traced(tmp_path)
    turn = receiver.spans[-1]
    assert (int.from_bytes(turn.trace_id), int.from_bytes(turn.parent_span_id)) == (7, 8)


async def test_a_failed_turn_is_an_error(tmp_path: Path, receiver: TraceReceiver) -> None:
    """A turn that no model could answer says so, without the words of the server."""
    await traced(tmp_path, openai_base_url="http://127.0.0.1:9/secret", model_retries=0)
    *_, asked, turn = receiver.spans
    assert (turn.status.code, attributes_of(turn)["error.type"]) == (2, "ModelUnavailable")
    assert not attributes_of(asked)["dialogs.is_used"]
    assert b"secret" not in receiver.everything


@pytest.mark.slow
async def test_a_collector_that_is_gone_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn is answered as ever, and the log tells what was not sent."""
    monkeypatch.setenv("TRACES_URL", "http://127.0.0.1:9/v1/traces")
    await traced(tmp_path)
    assert "Failed to export" in caplog.text


@pytest.mark.needs("standin")
def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in is off, and `check` lists it."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    assert "telemetry" not in plugins()
    told = report(Settings.model_validate({"_env_file": None}))
    assert told["uninstalled"] == {"telemetry": "pip install --require-hashes -r requirements-otel.txt"}
    assert told["faults"] == []


@pytest.mark.slow
async def test_langsmith_from_the_env_file(tmp_path: Path, receiver: TraceReceiver) -> None:
    """It gets nothing without leave; with it, every run of the graph, under the thread."""
    lines = [
        "LANGSMITH_TRACING=true",
        "LANGSMITH_API_KEY=key",
        f"LANGSMITH_ENDPOINT={receiver.url}",
        "LANGSMITH_PROJECT=dialogs",
    ]
    (tmp_path / ".env").write_text("\n".join(lines))
    code, told = await ask(tmp_path)
    assert (code, receiver.taken) == (2, [])
    assert "LANGSMITH_TRACING" in told
    assert "TRACE_CONTENT=1" in told
    (tmp_path / ".env").write_text("\n".join([*lines, "TRACE_CONTENT=1"]))
    assert (await ask(tmp_path))[0] == 0
    assert {path for path, _ in receiver.taken} <= {"/info", RUNS}
    [root] = [run for run in receiver.runs if not run.get("parent_run_id")]
    assert (root["session_name"], root["extra"]["metadata"]["thread_id"]) == ("dialogs", "ann")
    assert {"llm", "tool"} <= {run["run_type"] for run in receiver.runs}
    assert b"call mum" in receiver.everything


async def ask(folder: Path) -> tuple[int | None, str]:
    """Play a turn by the command line in a folder; return the exit code and what stands on stderr."""
    words = "ask", "remind me tomorrow at 9 to call mum", "--thread", "ann"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", *words),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LLM_MODEL": "local:rules", "TRACES_URL": ""},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    return process.returncode, told.decode()


@pytest.mark.slow
async def test_two_workers_write_to_one_trace(postgres_server: PostgresServer, receiver: TraceReceiver) -> None:
    """A turn that one worker hands on and another one plays stands in the trace of its message, with its number."""
    async with Provider.open(words(LONG), words("All is said."), pace=0.1) as provider:
        model = {"LLM_MODEL": "openai:slow", "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "key"}
        fleet = Fleet(postgres_server.fresh(), model)
        async with fleet.door() as client:
            async with fleet.command("worker"):
                asking = asyncio.create_task(client.post("/threads/ann/turns", json={"text": "count", "id": "m1"}))
                await provider.has_sent(2)
            async with fleet.command("worker"):
                assert (await asking).status_code == 200
        handed_on, played = await receiver.until_turns(2)
    assert handed_on.trace_id == played.trace_id == hashlib.sha256(b"ann\nm1").digest()[:16]
    both = [attributes_of(turn) for turn in (handed_on, played)]
    assert [(turn["gen_ai.conversation.id"], turn["dialogs.turn"]) for turn in both] == [("ann", 1), ("ann", 1)]
    assert [turn["dialogs.outcome"] for turn in both] == ["left", "done"]
