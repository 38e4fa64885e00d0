"""Pages in Debian's Chromium, and checks for each of them."""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ConsoleMessage, Page, expect

from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.testing.script import Script
from tests.support.chromium import running
from tests.support.http_door import served
from tests.support.scripted_assistant import ROLES, stage

# A busy machine is slow, and no fault.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)
DESKTOP, PHONE = (1280, 800), (390, 844)
SCREENS = os.environ.get("SCREENS", "")


@pytest_asyncio.fixture(loop_scope="session")
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models, on the loop of the browser."""
    async with stage(tmp_path / "dialogs.db", script.models(ROLES)) as opened:
        yield opened


def is_fault(line: ConsoleMessage) -> bool:
    """Tell whether a line of the browser reports a fault; a refusal with a sentence is none."""
    return line.type == "error" and not re.search(r"(status of|Error Code) 409\b", line.text)


@asynccontextmanager
async def browsing(
    assistant: Assistant,
    size: tuple[int, int] = DESKTOP,
    lang: str = "en-US",
    *,
    is_dark: bool = False,
    keys: str = "",
    path: str = "",
    reader: FileReader | None = None,
) -> AsyncIterator[Page]:
    """Open the page, or another path, in a browser; its errors and refusals fail the test."""
    async with served(assistant, keys, reader=reader) as url:
        context = await running[0].new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if is_dark else "light",
            locale=lang,
            has_touch=size == PHONE,
        )
        context.set_default_timeout(PATIENCE)
        page, faults = await context.new_page(), list[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if is_fault(line) else None)
        page.on("request", lambda asked: None if asked.url.startswith(url) else faults.append(asked.url))
        try:
            await page.goto(f"{url}{path}")
            yield page
            await is_sound(page)
        finally:
            await context.close()
        assert faults == []


async def too_small(page: Page) -> list[str]:
    """Return the controls that a finger would miss: outside of texts and below 44 pixels, or beside the screen."""
    found: list[str] = await page.evaluate(
        """async () => {
        // A drawer that slides in is not there yet.
        const slides = document.getAnimations().filter((each) => each instanceof CSSTransition);
        await Promise.allSettled(slides.map((each) => each.finished));
        return [...document.querySelectorAll("a, button, input, select, textarea, summary")]
            .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest("p, .said, .skip"))
            .map((each) => each.closest("label") ?? each)
            .filter((each) => {
                const { left, right } = each.getBoundingClientRect(), isCut = left < 0 || right > innerWidth;
                return Math.min(each.offsetWidth, each.offsetHeight) < 44 || (isCut && !each.closest(".wide"));
            })
            .map((each) => `${each.offsetWidth}x${each.offsetHeight} ${each.outerHTML.slice(0, 120)}`); }"""
    )
    return found


async def picture(page: Page, name: str) -> None:
    """Take a picture for the documents, if the test run wants pictures."""
    if SCREENS:
        await page.evaluate("document.activeElement?.blur()")
        await page.screenshot(path=Path(SCREENS) / f"{name}.png")


async def is_sound(page: Page) -> None:
    """Check that nothing is wider than the screen, and that axe finds nothing."""
    assert not await page.locator("body").evaluate("(body) => body.scrollWidth > innerWidth")
    problems = (await Axe().run(page)).response["violations"]
    assert [(each["id"], page.url, node["html"][:200]) for each in problems for node in each["nodes"]] == []


async def say(page: Page, text: str, shows: str = "") -> None:
    """Type a message and send it, on a desktop by the keyboard, on a phone by the button; wait for what it shows."""
    await page.fill("#text", text)
    if page.viewport_size == {"width": DESKTOP[0], "height": DESKTOP[1]}:
        await page.press("#text", "Enter")
    else:
        await page.locator(".send").tap()
    if shows:
        await expect(page.locator("#log")).to_contain_text(shows)
