"""Debian's Chromium: its path, and one browser for all tests of a process; its absence skips the importing tests."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
# A humming microphone, allowed to every page.
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]

if not CHROMIUM.exists():
    pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium", allow_module_level=True)

IN_BROWSER = (pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("chromium"))
"""Marks of tests that share a browser, and its event loop."""
running: list[Browser] = []
"""The browser of the fixture `chromium`."""


@asynccontextmanager
async def started() -> AsyncIterator[Browser]:
    """Run a browser during the block."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*ARGS, *MICROPHONE, "--disable-sync"]
        )
        running.append(browser)
        yield browser
        running.remove(browser)
        await browser.close()
