"""The operator's seat in Debian's Chromium. `make pictures` takes the pictures of docs anew."""

import re

import pytest
from playwright.async_api import expect

from app.assistant import Assistant
from app.plugins.seat.seats import Seats
from app.testing.script import Script
from tests.support.browser import DESKTOP, PHONE, browsing, is_sound, picture, say, too_small
from tests.support.browser import assistant as assistant
from tests.support.chromium import IN_BROWSER

pytestmark = [pytest.mark.slow, pytest.mark.needs("page"), *IN_BROWSER]
RING = """() => { window.Notification = class extends EventTarget {
    constructor(title, more) { super(); document.body.dataset.rang = more.body; }
    static permission = "granted"; static requestPermission = async () => "granted"; }; }"""


async def test_over_answer_and_back(assistant: Assistant, script: Script) -> None:
    """One tab is the user's, one the operator's: over, silence, an answer that comes by itself, back with a note."""
    script.add(supervisor=["Hello.", "On Monday."])
    assistant.services.get(Seats).wait = 600
    async with browsing(assistant, DESKTOP) as seat:
        page = await seat.context.new_page()
        await page.goto(re.sub("/talk.*", "/", seat.url))
        await say(page, "hi, my lamp is broken", shows="Hello.")
        await seat.goto(page.url)
        await seat.get_by_role("link", name="Operator's seat").click()
        await seat.get_by_label("Your name").fill("Anna")
        await seat.get_by_label("Your name").press("Enter")
        await expect(seat.get_by_label("Your name")).to_have_value("Anna")
        await expect(seat.get_by_role("status")).to_have_text("(kept)")
        await seat.context.grant_permissions(["notifications"])
        await seat.evaluate(RING)
        await seat.get_by_role("button", name="Notify me").press("Enter")
        await say(page, "/person my lamp")
        await expect(seat).to_have_title("(1) Dialog Supervisor")
        await expect(seat.locator("body")).to_have_attribute("data-rang", re.compile("hi, my lamp is broken"))
        await expect(seat.locator("#conversations")).to_contain_text("Waiting: 1")
        await expect(seat.locator(".waits")).to_have_text("waits less than a minute")
        await is_sound(seat)
        await seat.get_by_role("link", name="hi, my lamp is broken").click()
        await expect(seat.locator("#seat-foot")).to_contain_text("my lamp")
        first = await seat.locator("#seat-log .said").first.element_handle()
        await seat.get_by_role("button", name="Take over").click()
        await expect(page.locator("#log")).to_contain_text("Anna has taken over")
        await say(page, "when does a new one come?", shows="Anna reads this; the assistant is silent.")
        await expect(seat.locator("#seat-log")).to_contain_text("when does a new one come?")
        await expect(seat).to_have_title(re.compile(r"^\(1\) Anna · hi, my lamp is broken"))
        await is_sound(seat)
        await picture(seat, "seat-desktop")
        answer = seat.get_by_label("Write a message")
        await answer.fill("<b>It comes</b> soon.")
        await answer.press("Shift+Enter")
        await answer.press_sequentially("On Monday.")
        await seat.get_by_label("A note for the assistant").fill("a lamp on Monday")
        await answer.press("Enter")
        await expect(page.locator("#log")).to_contain_text("<b>It comes</b> soon.")
        await expect(answer).to_have_value("")
        await expect(answer).to_be_focused()
        await expect(seat.locator("#seat-log")).to_contain_text("On Monday.")
        await expect(seat).to_have_title(re.compile("^Anna · hi, my lamp is broken"))
        assert await seat.locator("#seat-log .said").first.evaluate("(line, before) => line === before", first)
        await expect(seat.get_by_label("A note for the assistant")).to_have_value("a lamp on Monday")
        await seat.get_by_role("button", name="Hand back").click()
        await expect(seat.get_by_role("button", name="Take over")).to_be_visible()
        await expect(page.locator("#log")).to_contain_text("The assistant is back.")
        await say(page, "when exactly?", shows="On Monday.")
    assert "a lamp on Monday" in script.asked[-1].messages[-1].text


async def test_on_a_phone_in_russian(assistant: Assistant, script: Script) -> None:
    """The list and a conversation fit a small dark screen, and a finger finds everything."""
    script.add(supervisor=["Здравствуйте."])
    assistant.services.get(Seats).wait = 600
    async with browsing(assistant, PHONE, "ru-RU", is_dark=True) as page:
        await page.goto(re.sub("/talk.*", "/", page.url))
        await say(page, "лампа не горит", shows="Здравствуйте.")
        await say(page, "/person лампа", shows="/person back")
        await page.goto(re.sub("/talk.*", "/seat", page.url))
        await expect(page.locator("#drawer").get_by_role("link", name="лампа не горит")).to_be_in_viewport()
        await expect(page.locator("#drawer")).to_contain_text("Ждут: 1")
        await is_sound(page)
        assert await too_small(page) == []
        await page.locator("#drawer").get_by_role("link", name="лампа не горит").click()
        await expect(page.locator("header [data-count='1']")).to_be_visible()
        await page.get_by_role("button", name="Взять разговор").click()
        await expect(page.get_by_label("Заметка для ассистента")).to_be_visible()
        await is_sound(page)
        assert await too_small(page) == []
        await picture(page, "seat-phone")
