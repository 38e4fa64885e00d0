"""Ctrl-C in the command line."""

import json
import os
import signal
from pathlib import Path

import pytest

from app.testing.script import Script
from prompts import phrase
from tests.support.odd_provider import Provider, words
from tests.support.scripted_assistant import ROLES, THREAD, script_lines, stage
from tests.support.user_words import bare
from tests.support.warm_process import WarmProcess

MANY = " ".join(f"word{number}" for number in range(300))


async def ask(server: Provider, folder: Path, *command: str) -> WarmProcess:
    """Start `python -m app ask` with the model behind `server`."""
    variables = {
        "LLM_MODEL": "openai:m",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "key",
        "DATABASE_URL": f"sqlite:///{folder}/talk.db",
        "APP_LANG": "en",
    }
    environment = {**os.environ, **variables}
    return await WarmProcess.start("ask", *command, "--thread", THREAD, environment=environment, is_read=True)


async def ended(process: WarmProcess) -> tuple[int | None, str, str]:
    """Wait for a process; return its exit code and what it said on stdout and stderr."""
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def interrupted(server: Provider, folder: Path, *, after: int) -> tuple[int | None, str, str]:
    """Ask, press Ctrl-C after so many pieces of the answer; return what `ended` does."""
    process = await ask(server, folder, "count")
    await server.has_sent(after)
    process.send_signal(signal.SIGINT)
    return await ended(process)


@pytest.mark.slow
async def test_ctrl_c_in_mid_answer(tmp_path: Path, script: Script) -> None:
    """Ctrl-C of `ask` prints and stores what had come of the answer; the next `ask` goes on from there."""
    async with Provider.open(words(MANY), words("Gladly."), pace=0.02) as server:
        code, out, err = await interrupted(server, tmp_path, after=40)
        assert (code, err) == (130, "⏹ stopped\n")
        partial = out.removesuffix("\n")
        assert partial.startswith("word0 word1 ")
        assert MANY.startswith(partial)
        assert len(partial) < len(MANY)
        async with stage(tmp_path / "talk.db", script.models(ROLES)) as assistant:
            assert await script_lines(assistant) == ["user: count", f"supervisor: {partial} ^C"]
            assert (await assistant.history(THREAD))[-1].metadata["interrupted"] is True
        assert await ended(await ask(server, tmp_path, "go on")) == (0, "Gladly.\n", "")
        heard = [bare(message["content"]) for message in server.bodies[-1]["messages"] if message["role"] != "system"]
        assert heard == ["count", partial, "go on"]


@pytest.mark.slow
async def test_ctrl_c_in_mid_answer_as_json(tmp_path: Path) -> None:
    """With --json the message that ends a stopped answer holds exactly the tokens told before it."""
    async with Provider.open(words(MANY), pace=0.02) as server:
        process = await ask(server, tmp_path, "count", "--json")
        output = ""
        while '"token"' not in output:
            output += (await process.stdout.readline()).decode()
        process.send_signal(signal.SIGINT)
        code, out, err = await ended(process)
    events = [json.loads(line) for line in (output + out).splitlines()]
    assert (code, err) == (130, "")
    assert [event["type"] for event in events[-2:]] == ["message", "turn.end"]
    assert events[-2]["interrupted"] is True
    assert events[-2]["text"] == "".join(event["text"] for event in events if event["type"] == "token")


@pytest.mark.slow
async def test_ctrl_c_before_the_first_word(tmp_path: Path, script: Script) -> None:
    """Ctrl-C while the model still thinks leaves an empty answer, and a thread that goes on and tells it."""
    async with Provider.open(words(MANY), words("Gladly."), pace=60) as server:
        assert await interrupted(server, tmp_path, after=1) == (130, "", "⏹ stopped\n")
        async with stage(tmp_path / "talk.db", script.models(ROLES)) as assistant:
            assert await script_lines(assistant) == ["user: count", "supervisor:  ^C"]
        server.pace = 0
        unanswered = phrase("left_unanswered", "en", text="count")
        assert await ended(await ask(server, tmp_path, "go on")) == (0, "Gladly.\n", f"{unanswered}\n")
