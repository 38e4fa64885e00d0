"""Actions with conversations, messages and files, in Debian's Chromium."""

from pathlib import Path

import pytest
from playwright.async_api import FilePayload, expect

from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.plugins.seat.seats import Seats
from app.testing.script import Script
from prompts import title_of
from tests.support.browser import PHONE, browsing, say
from tests.support.browser import assistant as assistant
from tests.support.chromium import IN_BROWSER
from tests.support.http_door import KEYS, SHOP
from tests.support.scripted_assistant import ROLES, stage
from tests.support.shop_tools import BEGIN
from tests.support.speech import Heard

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner"), *IN_BROWSER]


async def test_conversations_by_title(assistant: Assistant, script: Script) -> None:
    """By keyboard a talk gets a title, is found by words, and goes after a question; the header says who holds it."""
    script.add(supervisor=BEGIN, planner=["Which day?"])
    async with browsing(assistant) as page:
        await say(page, "hello there", shows="Which day?")
        await expect(page.locator("#holder")).to_have_text(title_of("planner", "en"))
        await page.locator(".menu summary").press("Enter")
        await page.get_by_label("Title").fill("My week")
        await page.get_by_label("Title").press("Enter")
        await expect(page).to_have_title("My week · Dialog Supervisor")
        await expect(page.locator(".menu summary")).to_be_focused()
        await page.get_by_label("Search conversations").fill("nothing of the kind")
        await expect(page.locator("#conversations")).to_contain_text("Nothing found")
        await page.get_by_label("Search conversations").fill("WHICH day")
        await expect(page.locator("#conversations .title")).to_have_text(["My week"])
        page.on("dialog", lambda asked: asked.accept())
        await page.locator(".menu summary").press("Enter")
        await page.get_by_role("button", name="Delete the conversation").press("Enter")
        await expect(page.locator("#conversations")).to_contain_text("Nothing here yet.")


async def test_a_message_is_edited_and_an_answer_rated(assistant: Assistant, script: Script) -> None:
    """An edited message stands in place of all behind it; an answer is copied and rated; a draft stays."""
    script.add(supervisor=["One.", "Two.", "Three **bold**.", "Four.", "Five."])
    async with browsing(assistant) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await say(page, "first", shows="One.")
        await say(page, "second", shows="Two.")
        other = await page.context.new_page()
        await other.goto(page.url)
        await page.fill("#text", "a draft")
        await page.get_by_role("button", name="Edit the message").first.click()
        await page.locator(".editor textarea").press("Escape")
        await expect(page.locator(".editor")).to_have_count(0)
        await page.get_by_role("button", name="Edit the message").first.press("Enter")
        await page.locator(".editor textarea").fill("better")
        await page.locator(".editor textarea").press("Enter")
        await expect(page.locator("#log")).to_contain_text("Three bold.")
        for tab in (page, other):
            await expect(tab.locator(".heard")).to_have_text(["You:\nbetter"])
        await expect(page.locator("#text")).to_have_value("a draft")
        await expect(page.locator(".turn.running")).to_have_count(0)
        await page.get_by_role("button", name="Copy the answer").click()
        await expect(page.locator(".was-copied")).to_have_count(1)
        assert await page.evaluate("navigator.clipboard.readText()") == "Three bold."
        await page.get_by_role("button", name="Bad answer").click()
        await page.get_by_label("What about it?").fill("wrong")
        await page.get_by_label("What about it?").press("Enter")
        await expect(page.locator(".rating")).to_contain_text("Thank you.")
        await expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")
        await page.get_by_role("button", name="Answer anew").click()
        await expect(page.locator("#log")).to_contain_text("Four.")
        await expect(page.locator(".turn")).to_have_count(1)
        await page.reload()
        await expect(page.locator("#text")).to_have_value("a draft")
        await page.locator("#text").press("Enter")
        await expect(page.locator("#log")).to_contain_text("Five.")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("")


async def test_a_talk_is_printed_dark_on_white(assistant: Assistant, script: Script) -> None:
    """In the dark, too, whether the system or the page's switch has chosen it; without what can only be pressed."""
    script.add(supervisor=["Hello."])
    async with browsing(assistant, is_dark=True) as page:
        await say(page, "hi", shows="Hello.")
        for theme in ("", "dark"):
            await page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            await page.emulate_media(media="print")
            await expect(page.locator(".said")).to_have_css("color", "rgb(27, 31, 41)")
            for part in (".actions", "#composer", "#drawer"):
                await expect(page.locator(part)).to_be_hidden()
            await page.emulate_media(media="screen")
            await expect(page.locator(".said")).not_to_have_css("color", "rgb(27, 31, 41)")


async def test_commands_files_and_a_person(tmp_path: Path, script: Script) -> None:
    """Commands are offered by the keyboard, a pasted file goes along, and a button calls a person."""
    script.sees = True
    script.add(supervisor=["A dot."])
    async with stage(tmp_path / "files.db", script.models(ROLES)) as assistant:
        assistant.services.get(Seats).wait = 60
        async with browsing(assistant, reader=FileReader(assistant, None, 1_000)) as page:
            await page.keyboard.type("/he")
            await expect(page.locator("#commands li:visible")).to_have_count(1)
            await page.keyboard.press("Enter")
            await expect(page.locator("#text")).to_have_value("/help ")
            await page.keyboard.press("Enter")
            await expect(page.locator("#log")).to_contain_text("/undo")
            await page.locator("#text").evaluate(
                """(text) => {
                    const files = new DataTransfer(), bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 1]);
                    files.items.add(new File([bytes], "dot.png", { type: "image/png" }));
                    text.dispatchEvent(new ClipboardEvent("paste", { clipboardData: files, cancelable: true }));
                }"""
            )
            await expect(page.locator("#chosen")).to_have_text("dot.png")
            await say(page, "what is it?", shows="A dot.")
            await page.locator(".menu summary").press("Enter")
            await page.get_by_role("button", name="Call a person").press("Enter")
            await expect(page.locator("#log")).to_contain_text("A person is called.")


async def test_code_is_copied(assistant: Assistant, script: Script) -> None:
    """A block of code has a button that copies it and says so. An old answer has the button, too."""
    script.add(supervisor=["Run this:\n```\nmake chat\n```"])
    async with browsing(assistant) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await say(page, "how?")
        for _ in "12":
            await page.get_by_role("button", name="Copy", exact=True).click()
            await expect(page.get_by_role("button", name="Copied")).to_be_visible()
            assert await page.evaluate("navigator.clipboard.readText()") == "make chat\n"
            await page.evaluate("navigator.clipboard.writeText('')")
            await page.reload()


async def test_signing_in(assistant: Assistant, script: Script) -> None:
    """A wrong key is told, a right one leads to the page, and whoever signs out has to sign in again."""
    script.add(supervisor=["Hello."])
    async with browsing(assistant, keys=KEYS) as page:
        await page.fill("#key", "w" * 20)
        await page.press("#key", "Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This key is not known here.")
        await page.fill("#key", SHOP)
        await page.get_by_role("button", name="Sign in").click()
        await say(page, "hello", shows="Hello.")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.locator("#key")).to_be_visible()
    assert [info.thread.partition(":")[0] for info in await assistant.threads("shop:shop")] == ["shop"]


async def test_files_and_spoken_words(tmp_path: Path, script: Script) -> None:
    """A chosen file goes with a message, and what the microphone hears is written down and answered."""
    script.sees = True
    script.add(supervisor=["A dot.", "Once upon a time."])
    dot = bytes.fromhex("89504e470d0a1a0a") + b"dot"
    picture = FilePayload(name="dot.png", mimeType="image/png", buffer=dot)
    async with stage(tmp_path / "files.db", script.models(ROLES)) as assistant:
        speech = Heard("tell me a story")
        reader = FileReader(assistant, speech, 1_000)
        async with browsing(assistant, PHONE, reader=reader) as page:
            async with page.expect_file_chooser() as choosing:
                await page.get_by_role("button", name="Attach files").click()
            await (await choosing.value).set_files([picture] * 11)
            await page.locator(".send").tap()
            await expect(page.locator("#alert")).to_contain_text("up to ten files")
            await page.locator("input[name=file]").set_input_files(picture)
            await expect(page.locator("#chosen")).to_have_text("dot.png")
            await page.locator(".send").tap()
            await expect(page.locator("#log")).to_contain_text("A dot.")
            await expect(page.locator("#chosen")).to_be_hidden()
            microphone = page.get_by_role("button", name="Speak")
            await microphone.click()
            await expect(microphone).to_have_attribute("aria-pressed", "true")
            await page.wait_for_timeout(500)
            await microphone.click()
            await expect(page.locator(".heard").last).to_contain_text("tell me a story")
            await expect(page.locator("#log")).to_contain_text("Once upon a time.")
        [(recording, _)] = speech.asked
        assert recording
