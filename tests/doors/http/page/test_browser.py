"""The page in Debian's Chromium: on a desktop and on a phone, by keyboard and by touch."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.models.script import Call, Script
from app.assistant import Assistant
from tests.support.http_door import served
from tests.support.scripted_assistant import Gate

try:
    from playwright.async_api import Page, async_playwright, expect
except ImportError:
    pytest.skip("playwright is missing: make install", allow_module_level=True)

CHROMIUM = Path("/usr/bin/chromium")
if not CHROMIUM.exists():
    pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.needs("planner")]
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
DESKTOP, PHONE = (1280, 800), (390, 844)
AXE = Path(os.environ.get("AXE", "/usr/local/lib/node_modules/axe-core/axe.min.js"))
AXE_SOURCE = AXE.read_text("utf-8") if AXE.exists() else ""


@asynccontextmanager
async def browsing(assistant: Assistant, size: tuple[int, int], lang: str, *, is_dark: bool) -> AsyncIterator[Page]:
    """Open the page in a browser; whatever the browser refuses or finds broken fails the test."""
    async with served(assistant) as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGS, "--disable-sync"])
        context = await browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if is_dark else "light",
            locale=lang,
            has_touch=size == PHONE,
        )
        page, faults = await context.new_page(), list[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(url) else faults.append(asked.url))
        try:
            await page.goto(url)
            yield page
        finally:
            await browser.close()
        assert faults == []


async def say(page: Page, text: str) -> None:
    """Type a message and send it: on a desktop by the keyboard, on a phone by the button."""
    await page.fill("#text", text)
    if page.viewport_size == {"width": DESKTOP[0], "height": DESKTOP[1]}:
        await page.press("#text", "Enter")
    else:
        await page.locator(".send").tap()


async def test_a_choice_by_its_button_and_undo(assistant: Assistant, script: Script) -> None:
    """A question has buttons that the keyboard reaches; the answer comes once, the list names the talk, undo undoes."""
    script.add(
        supervisor=[Call("plan_things", {"brief": "list"})],
        planner=[
            Call("add_todos", {"items": ["milk", "tea"]}),
            "Noted.",
            Call("delete_todos", {"numbers": [1, 2]}),
            "Both are gone.",
        ],
    )
    async with browsing(assistant, DESKTOP, "en-US", is_dark=False) as page:
        await say(page, "add milk and tea")
        await expect(page.locator("#log")).to_contain_text("Noted.")
        await expect(page.locator("#conversations")).to_contain_text("add milk and tea")
        await say(page, "delete both")
        yes = page.get_by_role("button", name="Yes")
        await expect(yes).to_be_visible()
        await page.reload()
        await yes.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#log")).to_contain_text("Both are gone.")
        await expect(page.locator(".turn.running")).to_have_count(0)
        await expect(yes).to_be_disabled()
        await page.get_by_role("button", name="Undo the last change").click()
        await expect(page.locator(".turn").last).to_contain_text("milk")


async def test_a_reload_amid_an_answer_and_stop(assistant: Assistant, script: Script) -> None:
    """A reload and a second tab read the answer from its beginning; Escape stops it, and it stays as far as it came."""
    script.gates["supervisor"] = Gate(2)
    script.add(supervisor=["One two three four five"])
    async with browsing(assistant, DESKTOP, "en-US", is_dark=True) as page:
        await say(page, "count")
        await expect(page.locator(".growing")).to_contain_text("One")
        await page.reload()
        await expect(page.locator(".growing")).to_contain_text("One")
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(other.locator(".growing")).to_contain_text("One")
        await page.keyboard.press("Escape")
        for tab in (page, other):
            await expect(tab.locator("#log")).to_contain_text("Stopped here.")
            await expect(tab.locator(".turn.running")).to_have_count(0)
            await expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
        await expect(page.locator("#log")).not_to_contain_text("five")


async def test_a_switch_on_a_phone(assistant: Assistant, script: Script) -> None:
    """In Russian, in the dark, on a small screen: a dialog takes over, and another conversation begins."""
    script.add(supervisor=[Call("plan_things", {"brief": "список"})], planner=["Что записать?"])
    async with browsing(assistant, PHONE, "ru-RU", is_dark=True) as page:
        await say(page, "веди мой список")
        await expect(page.locator(".speaker")).to_be_visible()
        await expect(page.locator("#log")).to_contain_text("Что записать?")
        await expect(page.locator(".turn.running")).to_have_count(0)
        await page.locator("header").get_by_role("button", name="Разговоры").click()
        await expect(page.locator("#drawer")).to_contain_text("веди мой список")
        await page.keyboard.press("Escape")
        await expect(page.locator("#drawer")).to_be_hidden()
        is_wide = await page.locator("body").evaluate("(body) => body.scrollWidth > innerWidth")
        assert not is_wide
        await page.locator("header").get_by_role("link", name="Новый разговор").click()
        await expect(page.get_by_role("heading", name="Чем могу помочь?")).to_be_visible()


@pytest.mark.skipif(not AXE_SOURCE, reason="axe-core is missing: npm install -g axe-core, or AXE=…/axe.min.js")
@pytest.mark.parametrize(("size", "lang", "is_dark"), [(DESKTOP, "en-US", False), (PHONE, "ru-RU", True)])
async def test_nobody_is_kept_out(
    assistant: Assistant, script: Script, size: tuple[int, int], lang: str, is_dark: bool
) -> None:
    """axe finds nothing serious on a page with an answer and a question."""
    script.add(
        supervisor=[Call("plan_things", {"brief": "list"})],
        planner=[Call("add_todos", {"items": ["milk", "tea"]}), "Noted.", Call("delete_todos", {"numbers": [1, 2]})],
    )
    async with browsing(assistant, size, lang, is_dark=is_dark) as page:
        for text in ("add milk and tea", "delete both"):
            await say(page, text)
            await page.locator(".turn").last.wait_for()
            await expect(page.locator(".turn.running")).to_have_count(0)
        await expect(page.locator("fieldset")).to_have_count(1)
        await page.evaluate(AXE_SOURCE)
        problems = await page.evaluate("axe.run().then((results) => results.violations)")
        assert [(each["id"], each["impact"]) for each in problems if each["impact"] in ("serious", "critical")] == []
