"""The desk's pages in Debian's Chromium."""

import json
import re
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from app.assistant import Assistant
from app.composition import open_assistant
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.folder import lab_folder
from app.settings import Settings
from tests.plugins.lab.pages.test_browser import WIDE
from tests.support.browser import PHONE, browsing, is_sound, picture
from tests.support.chromium import IN_BROWSER

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner", "orders"), *IN_BROWSER]


@pytest_asyncio.fixture(loop_scope="session")
async def assistant(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the application, on the loop of the browser."""
    async with open_assistant(settings) as opened:
        yield opened


async def says(page: Page, text: str) -> None:
    """Say something as the user."""
    await page.get_by_label("What the user says").fill(text)
    await page.get_by_role("button", name="Say it").click()


async def calls(page: Page, tool: str, fields: Mapping[str, str]) -> None:
    """Call a tool by its form."""
    await page.get_by_role("button", name=tool, exact=True).click()
    for name, value in fields.items():
        await page.locator(f"#calls [name='calls[].args.{name}']").fill(value)
    await page.get_by_role("button", name="Reply", exact=True).click()
    await expect(page.locator("#calls [name='calls[].tool']")).to_have_count(0)


async def answers(page: Page, text: str) -> None:
    """Write the model's answer."""
    await page.get_by_label("Text of the answer").fill(text)
    await page.get_by_role("button", name="Reply", exact=True).click()
    await expect(page.get_by_label("What the user says")).to_be_visible()


async def test_a_return_is_played_by_clicks(assistant: Assistant, settings: Settings) -> None:
    """An order is found and an item of it sent back; a wrong number is mended, a step is taken back; it is exported."""
    async with browsing(assistant, WIDE, "en-US", is_dark=False, path="/lab") as page:
        await page.get_by_role("link", name="Desk", exact=True).click()
        await page.get_by_label("Name: small letters").fill("bottle")
        await page.get_by_label("What it is about").fill("A bottle is sent back")
        await page.get_by_role("button", name="Begin").click()
        await says(page, "Which of my orders has the bottle?")
        await calls(page, "handle_orders", {"brief": "find the order with the bottle"})
        await calls(page, "list_orders", {})
        await expect(page.locator(".prompt")).to_contain_text("Water Bottle")
        await answers(page, "It is in the first one.")
        await says(page, "Send the bottle of D1001 back")
        await calls(page, "get_order_details", {"order_id": "555"})
        await expect(page.locator(".prompt details").last).to_contain_text("555")
        await calls(page, "get_order_details", {"order_id": "D1001"})
        await page.get_by_role("button", name="Go back to before this").last.click()
        await expect(page.locator(".prompt details").last).to_contain_text("555")
        await calls(page, "get_order_details", {"order_id": "D1001"})
        args = await return_of_the_bottle(page)
        await page.get_by_role("button", name="call_tool", exact=True).click()
        await page.locator("#calls [name='calls[].args.name']").fill("return_delivered_order_items")
        await page.locator("#calls [name='calls[].args.args']").fill(json.dumps(args))
        await page.locator("#scroll").evaluate("(main) => main.scrollTo(0, 0)")
        await is_sound(page)
        await picture(page, "lab-desk")
        await page.get_by_role("button", name="Reply", exact=True).click()
        await page.get_by_role("button", name="yes", exact=True).click()
        await expect(page.locator("#seat")).to_contain_text("return requested")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Fine-tuning data").click()
        assert (await download.value).suggested_filename == "bottle.jsonl"
    kept = lab_folder().read("desk", "bottle", DeskSession)
    assert [len(turn.replies) for turn in kept.turns][:2] == [3, 3]


async def return_of_the_bottle(page: Page) -> Mapping[str, object]:
    """Return the arguments that send back the bottle of the order that a tool has just shown."""
    order = json.loads((await page.locator(".prompt pre").last.text_content() or "").partition("\n")[0])
    bottle = next(item["item_id"] for item in order["items"] if item["name"] == "Water Bottle")
    paid = order["payment_history"][0]["payment_method_id"]
    return {"order_id": order["order_id"], "item_ids": [bottle], "payment_method_id": paid}


async def test_on_a_phone_in_russian(assistant: Assistant, settings: Settings) -> None:
    """The desk fits a small dark screen, and speaks Russian."""
    lab_folder().write("desk", "x", DeskSession(lang="ru"))
    async with browsing(assistant, PHONE, "ru-RU", is_dark=True, path="/lab") as page:
        await page.goto(re.sub("/lab.*", "/lab/desk/session?name=x", page.url))
        await page.get_by_label("Что говорит пользователь").fill("в каком из моих заказов была бутылка?")
        await page.get_by_role("button", name="Сказать").click()
        await expect(page.get_by_label("Текст ответа")).to_be_visible()
        await page.get_by_role("button", name="handle_orders").click()
        await is_sound(page)
