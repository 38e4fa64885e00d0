"""The Telegram door as a process: `python -m app telegram`, its signals, its exit codes, what it prints."""

import os
import signal
from pathlib import Path

import pytest

from agents.memory.sqlite_file import SqliteBackend
from tests.plugins.telegram.people import until_closed
from tests.support.telegram_server import TOKEN, BotApi
from tests.support.warm_process import WarmProcess

ANN = 11

pytestmark = pytest.mark.slow


async def start(world: BotApi, folder: Path, **more: str) -> WarmProcess:
    """Start the bot with the rule-based model."""
    own = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_URL": world.url, "TELEGRAM_ALLOWED_USERS": "*"}
    own["LLM_MODEL"] = "local:rules"
    database = {"DATABASE_URL": f"sqlite:///{folder}/dialogs.db"}
    environment = {**os.environ, **own, **database, **more}
    return await WarmProcess.start("telegram", environment=environment, is_read=True)


async def end(process: WarmProcess, number: signal.Signals) -> tuple[int | None, str]:
    """Send a signal; return the exit code and what was printed."""
    process.send_signal(number)
    output = await process.communicate()
    return process.returncode, b"".join(output).decode()


async def test_a_talk_over_restarts(world: BotApi, tmp_path: Path) -> None:
    """The conversation goes on after a kill and no message is answered twice; SIGTERM ends in good order."""
    process = await start(world, tmp_path)
    assert len(await world.asks(ANN, "/start", sent=1)) == 1
    await world.asks(ANN, "add buy milk to my list", sent=2)
    # The turn ends a moment after its answer is on the screen.
    async with SqliteBackend(f"sqlite:///{tmp_path}/dialogs.db").open() as memory:
        await until_closed(memory, f"telegram-{ANN}")
    code, printed = await end(process, signal.SIGKILL)
    assert code == -signal.SIGKILL
    process = await start(world, tmp_path)
    assert "milk" in (await world.asks(ANN, "what is on my list?", sent=3))[2]
    code, more = await end(process, signal.SIGTERM)
    assert code == 0
    assert len(world.texts(ANN)) == 3
    assert "Listening as @sue_bot" in printed + more
    assert TOKEN not in printed + more
    assert "milk" not in printed + more


async def test_a_stop_while_telegram_is_out_of_reach(world: BotApi, tmp_path: Path) -> None:
    """Without a network the bot waits for one, and still ends when it is told to."""
    process = await start(world, tmp_path, TELEGRAM_API_URL="http://127.0.0.1:9")
    assert b"no messages from Telegram" in await process.stderr.readline()
    assert (await end(process, signal.SIGTERM))[0] == 0


@pytest.mark.parametrize("token", ["", "1234567:wrong"])
async def test_a_token_that_is_missing_or_wrong(world: BotApi, tmp_path: Path, token: str) -> None:
    """One line names the setting, and the exit code is that of a wrong setting."""
    process = await start(world, tmp_path, TELEGRAM_BOT_TOKEN=token)
    printed = b"".join(await process.communicate()).decode()
    assert process.returncode == 2
    assert "TELEGRAM_BOT_TOKEN" in printed
    assert "wrong" not in printed
    assert len(printed.splitlines()) == 1
