"""Long and busy talks in Debian's Chromium: each answer is drawn as it comes, and nothing else is touched."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from app.assistant import Assistant
from app.testing.script import Call, Line, Script
from tests.support.browser import DESKTOP, PHONE, browsing, is_sound, picture, say
from tests.support.browser import assistant as assistant
from tests.support.chromium import IN_BROWSER
from tests.support.rules import rules
from tests.support.scripted_assistant import ROLES, Gate, stage
from tests.support.shop_tools import BEGIN, with_shop

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner"), *IN_BROWSER]
TALKS = {
    "en-US": (
        "add milk, bread and lemonade to my list",
        "remind me tomorrow at 9 to call mum",
        "delete all from my list",
    ),
    "ru-RU": ("добавь молоко, хлеб и лимонад в мой список", "напомни завтра в 9 позвонить маме", "удали всё из списка"),
}


SEEN = """() => {
    window.ended = {};
    const note = (change) => {
        const turn = change.target;
        const has_ended = /\\brunning\\b/.test(change.oldValue ?? "") && !turn.matches(".running");
        if (has_ended) window.ended[turn.dataset.id] = turn.querySelector(".answer").textContent;
    };
    const watched = { subtree: true, attributeFilter: ["class"], attributeOldValue: true };
    new MutationObserver((changes) => changes.forEach(note)).observe(document.getElementById("log"), watched);
}"""
"""Lets the page note what stands there of each answer at the moment at which it ends."""
TURNS = 8
TYPED = (
    "Elm Street 5, the second door ",
    "ring twice and wait a bit",
)


@pytest.mark.parametrize(("size", "lang", "is_dark"), [(DESKTOP, "en-US", False), (PHONE, "ru-RU", True)])
async def test_a_talk_with_the_stand_in(tmp_path: Path, size: tuple[int, int], lang: str, is_dark: bool) -> None:
    """Each language has its own words throughout, ends with a question's buttons, and axe finds nothing serious."""
    async with (
        stage(tmp_path / "talk.db", rules()) as assistant,
        browsing(assistant, size, lang, is_dark=is_dark) as page,
    ):
        # What stands in the empty field takes one line.
        assert await page.locator("#text").evaluate("each => each.scrollHeight") < 2 * 24
        for count, text in enumerate(TALKS[lang], start=1):
            await say(page, text)
            await expect(page.locator(".turn")).to_have_count(count)
            await expect(page.locator(".turn.running")).to_have_count(0)
        await expect(page.locator("fieldset")).to_have_count(1)
        await picture(page, f"page-{'phone' if size == PHONE else 'desktop'}")
        await is_sound(page)


async def test_turns_on_a_slow_machine(assistant: Assistant, script: Script) -> None:
    """With the CPU slowed six times each of 8 answers is drawn as it comes, and is whole when its turn ends."""
    answers = [f"Answer {number} is long enough." for number in range(TURNS)]
    script.add(supervisor=answers)
    async with browsing(assistant, PHONE) as page:
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 6})
        await page.evaluate(SEEN)
        for number in range(TURNS):
            script.gates["supervisor"] = gate = Gate(2)
            await say(page, f"question {number}")
            await expect(page.locator(".turn").last.locator(".growing")).to_contain_text(f"Answer {number}")
            gate.set()
            await expect(page.locator(".turn.running")).to_have_count(0)
        ended = await page.evaluate("Object.values(window.ended)")
        assert [" ".join(text.split()) for text in ended] == [f"Assistant: {answer}" for answer in answers]
        await expect(page.locator(".turn")).to_have_count(TURNS)


async def test_typing_while_another_tab_talks(tmp_path: Path, script: Script) -> None:
    """Typing into a question's form, and into an editor, loses nothing while another tab talks."""
    planned: list[Line] = [Call("ask_address"), *["Fine."] * 100]
    script.add(supervisor=[*BEGIN, *["Fine."] * 100], planner=planned, observer=["stay"] * 100)
    async with (
        stage(tmp_path / "form.db", script.models(ROLES), change=with_shop) as assistant,
        browsing(assistant) as page,
    ):
        await say(page, "come and fetch it")
        form, other = page.locator("input[name='field.street']"), await page.context.new_page()
        await form.focus()
        await other.goto(page.url)
        await _type_beside_talk(form, other)
        await form.press("Enter")
        await expect(page.locator("#alert")).to_have_text("This question is no longer open.")
        await expect(form).to_have_value("".join(TYPED))
        await page.get_by_role("button", name="Edit the message").last.click()
        editor = page.locator(".editor textarea")
        await editor.fill("")
        await _type_beside_talk(editor, other)


async def _type_beside_talk(field: Locator, other: Page) -> None:
    """Type at the pace of a person, while another tab talks; whatever takes the focus away loses letters."""
    await field.focus()
    before = await other.locator(".heard").count()
    for count, part in enumerate(TYPED, before + 1):
        typing = asyncio.create_task(field.page.keyboard.type(part, delay=30))
        await say(other, f"message {count}")
        await expect(other.locator(".heard")).to_have_count(count)
        await expect(other.locator(".turn.running")).to_have_count(0)
        await typing
    await expect(field).to_have_value("".join(TYPED))
    await expect(field).to_be_focused()


async def test_what_comes_unasked_leaves_the_rest_alone(assistant: Assistant, script: Script) -> None:
    """A notice rings at once and once, and neither what is typed nor what stands there is touched."""
    script.add(supervisor=BEGIN, planner=["Which one shall it be?"])
    async with browsing(assistant) as page:
        await say(page, "hello", shows="Which one shall it be?")
        await expect(page.locator(".turn.running")).to_have_count(0)
        first = await page.locator(".turn").element_handle()
        await page.locator("#text").fill("half a sen")
        thread = page.url.rpartition("/")[2]
        await assistant.memory.notices.add("local", thread, "n", text="The pasta is done.", lang="en")
        await expect(page.locator("#log")).to_contain_text("The pasta is done.")
        await expect(page.locator("#log").get_by_text("The pasta is done.")).to_have_count(1)
        # What was set in another conversation of the page is told in the one that is open.
        await assistant.memory.notices.add("local", "page-other", "o", text="The bread is done.", lang="en")
        await expect(page.locator("#log").get_by_text("The bread is done.")).to_have_count(1)
        assert await page.locator(".turn").first.evaluate("(turn, before) => turn === before", first)
        await page.keyboard.type("tence")
        await expect(page.locator("#text")).to_have_value("half a sentence")
        await expect(page.locator("#text")).to_be_focused()
        # Whoever looks elsewhere is told by the title, and by the system once they have pressed a button.
        await page.context.grant_permissions(["notifications"])
        await page.evaluate(
            "() => { window.Notification = class extends EventTarget { constructor(title, more) {"
            " super(); document.body.dataset.rang = more.body; } static permission = 'granted';"
            " static requestPermission = async () => 'granted'; }; }"
        )
        await page.locator(".menu summary").press("Enter")
        await page.get_by_role("button", name="Notify me").press("Enter")
        await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
        await assistant.memory.notices.add("local", thread, "p", text="The cake is done.", lang="en")
        await expect(page).to_have_title(re.compile("^• "))
        await expect(page.locator("body")).to_have_attribute("data-rang", re.compile("The cake is done"))
