"""`ring` with dunst, a notification server that people use, on a screen in memory."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.plugins.ring.running import ring_service
from tests.support.ringing import remind, told
from tests.support.until import until

PROGRAMS = ("Xvfb", "dunst", "dunstctl")
SCREEN = "Xvfb_screen0"
"""The file in which Xvfb keeps the picture."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="Xvfb or dunst is not installed"),
]


@asynccontextmanager
async def running(*command: str | Path, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program during the block."""
    pipe, quiet = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdout=pipe, stderr=quiet, env={**os.environ, **environment}
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def dunst(folder: Path) -> AsyncIterator[Path]:
    """Let dunst show notifications on a screen in memory; yield the file with the picture."""
    options = ("-screen", "0", "800x200x24", "-nolisten", "tcp", "-fbdir", str(folder), "-displayfd", "1")
    config = folder / "dunstrc"
    config.write_text("[global]\nfont = Monospace 14\nmarkup = full\n", "utf-8")
    async with running("Xvfb", *options) as server:
        assert server.stdout is not None
        display = f":{(await server.stdout.readline()).decode().strip()}"
        async with running("dunst", "-conf", config, DISPLAY=display):
            await until_displayed(0)
            yield folder / SCREEN


async def dunstctl(*words: str) -> str:
    """Ask dunst; empty while it does not answer."""
    async with running("dunstctl", *words) as process:
        return (await process.communicate())[0].decode().strip()


async def until_displayed(count: int) -> None:
    """Wait until so many notifications are on the screen."""

    async def are_displayed() -> bool:
        return await dunstctl("count", "displayed") == str(count)

    await until(are_displayed)


async def test_dunst_shows_a_reminder_until_it_is_closed(bus: str, tmp_path: Path) -> None:
    """A late one and one on time stand on the screen, their words as they were written, and stay."""
    path = tmp_path / "dialogs.db"
    await remind(path, "tea <b>& biscuits</b>", ago=0)
    await remind(path, "call Ann", ago=7200)
    async with dunst(tmp_path) as picture:
        empty = picture.read_bytes()
        async with ring_service(path):
            await until_displayed(2)
        assert picture.read_bytes() != empty
        await dunstctl("close-all")
        [shown] = json.loads(await dunstctl("history"))["data"]
    texts = sorted(entry["message"]["data"] for entry in shown)
    assert texts[0].startswith("<b>Reminder</b>\n⏰ call Ann (missed: it was due ")
    assert texts[1] == "<b>Reminder</b>\n⏰ tea &lt;b&gt;&amp; biscuits&lt;/b&gt;"
    assert len(await told(path)) == 2
