"""The lab in Debian's Chromium. `make pictures` takes the pictures of docs anew."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from agents.memory.feedback import ShownTurn
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.mocks import Mock
from app.plugins.lab.simulation import SimulatedUser
from app.settings import Settings
from tests.support.browser import DESKTOP, PHONE, browsing, is_sound, picture, too_small
from tests.support.chromium import IN_BROWSER

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner"), *IN_BROWSER]
WIDE = (1400, 1000)


@pytest_asyncio.fixture(loop_scope="session")
async def assistant(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the application; somebody has talked already, also to the supervisor."""
    async with open_assistant(settings) as opened:
        await talk(opened, "ann", "add milk, bread and tea to my list", "what is on my list?", "what time is it?")
        yield opened


async def talk(assistant: Assistant, user: str, *texts: str) -> None:
    """Say something as a user of the shop."""
    for text in texts:
        async for _ in assistant.play(Turn(thread=f"shop:{user}", text=text, user=user)):
            pass


async def tell(page: Page, text: str, answer: str) -> None:
    """Say something to an agent and wait for its answer."""
    await page.fill("#text", text)
    await page.press("#text", "Enter")
    await expect(page.locator("#log")).to_contain_text(answer)
    await expect(page.locator(".turn.running")).to_have_count(0)


async def test_an_agent_by_clicks(assistant: Assistant, settings: Settings) -> None:
    """An agent of three tools and a mocked one is put together, tried, shared, met in Telegram, and deleted."""
    async with browsing(assistant, WIDE, "en-US", is_dark=False, path="/lab") as page:
        page.on("dialog", lambda dialog: asyncio.create_task(dialog.accept()))
        await page.get_by_role("link", name="Mocks", exact=True).click()
        await page.get_by_role("link", name="New mock").click()
        await page.get_by_label("Tool", exact=True).fill("depot_weather")
        await page.get_by_label("Description that a model reads").fill("Used for the weather at a depot.")
        await page.get_by_label("What people say who want it, one a line (en)").fill("how cold is it at the depot")
        await page.get_by_label("Answers with").select_option("object")
        await page.get_by_label("Value").fill('{"degrees": -3}')
        await page.get_by_role("button", name="Try").click()
        await expect(page.locator("#result")).to_contain_text("a fixed result")
        await is_sound(page)
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("table")).to_contain_text("a tool that does not exist")

        await page.get_by_role("link", name="Agents", exact=True).click()
        await page.get_by_role("link", name="New agent").click()
        await page.get_by_label("Name: small letters").fill("depot_clerk")
        await page.get_by_label("What it is used for").fill("Used for depots: what they need and how cold they are.")
        await page.get_by_label("Prompt (en)").fill("You help the people of a depot. Be brief.")
        await page.get_by_label("What people say who want it, one a line (en)").fill("I need the depot")
        await page.locator("summary", has_text="supervisor").click()
        await page.locator("[value=current_time]").check()
        await page.locator("summary", has_text="planner").click()
        for tool in ("add_todos", "list_todos"):
            await page.locator(f"[value={tool}]").check()
        await page.locator("[value=depot_weather]").check()
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_url("**/lab/agent?name=depot_clerk")
        await tell(page, "I need the depot", "What can I do")
        await tell(page, "how cold is it at the depot", "-3")
        await expect(page.locator("#live .mock")).to_contain_text("depot_clerk.depot_weather is mocked")
        await is_sound(page)
        await page.locator("#scroll").evaluate("(main) => main.scrollTo(0, 0)")
        await picture(page, "lab-agent")
        await page.get_by_role("button", name="Share with everybody").click()
        await expect(page.get_by_role("button", name="Take back")).to_be_visible()

        elsewhere = settings.model_copy(update={"database_url": f"{settings.database_url}.another"})
        async with open_assistant(elsewhere) as another:
            turn = Turn(thread="bob", text="how cold is it at the depot")
            assert "-3" in str([event async for event in another.play(turn)])

        await page.get_by_role("button", name="Delete", exact=True).click()
        await page.wait_for_url("**/lab/agents")
        await expect(page.get_by_text("Nothing here yet.")).to_be_visible()
    assert await asyncio.to_thread(lambda: [*lab_folder().root.rglob("*depot_clerk*")]) == []


async def test_a_thread_a_run_and_simulated_users(assistant: Assistant, settings: Settings) -> None:
    """A thread is replayed and becomes a test and a case; two variants are compared and judged; users are simulated."""
    folder = lab_folder()
    wishes = [{"says": ["what time is it?"], "expect": {"never_calls": ["current_time"]}}]
    folder.write("users", "clock", SimulatedUser.model_validate({"wishes": wishes}))
    async with browsing(assistant, WIDE, "en-US", is_dark=False, path="/lab") as page:
        page.on("dialog", lambda dialog: asyncio.create_task(dialog.accept()))
        await page.get_by_role("link", name="Threads", exact=True).click()
        await page.get_by_role("link", name="shop:ann").click()
        await page.get_by_role("button", name="State then").first.click()
        await expect(page.locator("#side")).to_contain_text("State after turn 1")
        await is_sound(page)
        await picture(page, "lab-thread")
        await page.get_by_role("button", name="Try from here").first.click()
        await page.wait_for_url("**/lab/desk/session?**")
        await expect(page.locator("#seat")).to_contain_text("begins with")
        await expect(page.locator("#seat .said")).to_contain_text("milk")
        await is_sound(page)
        await page.go_back()
        await page.get_by_role("button", name="Make a case of this turn").last.click()
        await page.wait_for_url("**/lab/case?name=shop-ann-3")
        await is_sound(page)
        await page.get_by_role("button", name="Delete", exact=True).last.click()
        await page.wait_for_url("**/lab/runs")
        await page.goto(re.sub("/lab.*", "/lab/thread?name=shop:ann", page.url))
        await page.get_by_role("button", name="Make it a test").click()
        await expect(page.locator("#result")).to_contain_text("async def test_conversation")
        await is_sound(page)
        await page.get_by_role("button", name="Replay").click()
        await expect(page.locator("#result")).to_contain_text("Then and now")
        await is_sound(page)
        await page.get_by_role("button", name="Make it a case").click()
        await page.wait_for_url("**/lab/case?**")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("button", name="Side by side with B").click()
        await page.get_by_label("Direct switch").nth(1).select_option("no")
        await page.get_by_label("Times").fill("ab")
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(page.locator("#alert")).to_have_text("Times: a whole number is needed, such as 12")
        await expect(page.get_by_label("Times")).to_be_focused()
        await page.get_by_label("Times").fill("2")
        await is_sound(page)
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(page.locator("table")).to_contain_text("2 / 2", timeout=60_000)
        await page.locator(".results summary").first.click()
        await page.locator(".verdicts").first.get_by_role("button", name="good", exact=True).click()
        await expect(page.locator(".verdicts").first.locator("[aria-pressed=true]")).to_have_count(1)
        await page.reload()
        await expect(page.get_by_text("Checks = You: 1 / 1")).to_be_visible()
        await page.locator(".results summary").first.click()
        await is_sound(page)
        await picture(page, "lab-run")
        await page.get_by_role("link", name="Runs", exact=True).click()
        await page.get_by_label("Talks").fill("3")
        await page.get_by_role("button", name="Let them talk").click()
        await expect(page.locator("#result")).to_contain_text("current_time was called", timeout=60_000)
        await is_sound(page)


async def test_a_form_a_run_and_its_difference(assistant: Assistant, settings: Settings) -> None:
    """A case is edited in its form, and run; expectation and outcome stand side by side."""
    folder, wanted = lab_folder(), Expected(calls=(ExpectedCall(tool="add_todos"),), says=("Tea",))
    folder.write("cases", "clock", Case(turns=(CaseTurn(user="what time is it?"),)))
    folder.write("cases", "list", Case(turns=(CaseTurn(user="add milk to my list", expect=wanted),)))
    async with browsing(assistant, WIDE, "en-US", is_dark=True, path="/lab") as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_role("link", name="Runs", exact=True).click()
        await page.get_by_role("link", name="list", exact=True).click()
        await page.get_by_role("button", name="One more turn").click()
        rows = page.locator("#case-turns [data-row]")
        await rows.last.get_by_label("What the user says").fill("what is on my list?")
        await rows.last.get_by_label("Calls of models at most").fill("some")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("#alert")).to_contain_text("Calls of models at most: a whole number is needed")
        await expect(rows.last.get_by_label("Calls of models at most")).to_be_focused()
        await rows.last.get_by_label("Calls of models at most").fill("0")
        await is_sound(page)
        await picture(page, "lab-case")
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_url("**/lab/runs")
        await is_sound(page)
        await page.get_by_role("button", name="Run", exact=True).click()
        await page.wait_for_url("**/lab/run?**")
        await expect(page.locator("#result-1 .beside tbody tr").first).to_contain_text("Tea")
        await expect(page.locator("#result-1")).to_contain_text("the answer lacks 'Tea'")
        await is_sound(page)
        await picture(page, "lab-difference")
        await page.locator("#result-1").get_by_role("button", name="Copy the link").click()
        await expect(page.locator("#result-1").get_by_role("button", name="Copied")).to_be_visible()
        link = await page.evaluate("navigator.clipboard.readText()")
        assert link.endswith("#result-1")
        other = await page.context.new_page()
        await other.goto(link)
        await expect(other.locator("#result-1")).to_have_attribute("open", "")


async def test_threads_are_found_and_noted(assistant: Assistant, settings: Settings) -> None:
    """A note is kept at a turn, beside its user's thumb; threads are found by what was noted, done and decided."""
    await talk(assistant, "bob", "add milk to my list", "and how much milk is that")
    turn = (await assistant.memory.transcript.lines("shop:ann"))[-1]
    shown = ShownTurn("shop:ann", turn.message_id, "ann")
    await assistant.memory.feedback.rate(shown, "ann", "👎", "the wrong zone")
    async with browsing(assistant, WIDE, "en-US", path="/lab") as page:
        await page.get_by_role("link", name="Threads", exact=True).click()
        await page.locator("[name=tool]").select_option("current_time")
        await page.get_by_label("Users think").select_option("Bad answer")
        await page.get_by_role("button", name="Find").click()
        await expect(page.get_by_role("link", name="shop:ann")).to_be_visible()
        await is_sound(page)
        await picture(page, "lab-threads")
        await page.get_by_role("link", name="shop:ann").click()
        last = page.locator("article").last
        await expect(last).to_contain_text("the wrong zone")
        await last.locator("summary", has_text="Note").click()
        await last.get_by_label("Labels").fill("zone, to be trained")
        await last.locator("textarea").fill("It told the time of the server.")
        await last.get_by_role("button", name="Save").click()
        await expect(last.get_by_role("status")).to_have_text("Kept.")
        await is_sound(page)
        await page.get_by_role("link", name="Threads", exact=True).click()
        await page.get_by_label("Label of a note").fill("Zone")
        await page.get_by_role("button", name="Find").click()
        await expect(page.get_by_role("link", name="shop:ann")).to_be_visible()
        await page.get_by_label("Calls of models, at least").fill("99")
        await page.get_by_role("button", name="Find").click()
        await expect(page.get_by_text("None of these is one.")).to_be_visible()
        await page.get_by_label("Calls of models, at least").fill("")
        await page.get_by_label("Words in it").fill("nothing of the kind")
        await page.get_by_label("Words in it").press("Enter")
        await expect(page.get_by_text("None of these is one.")).to_be_visible()
        await page.get_by_role("link", name="Threads", exact=True).click()
        await page.get_by_label("Words in it").fill("how much milk")
        await page.get_by_label("Words in it").press("Enter")
        await page.get_by_role("link", name="shop:bob").click()
        reason = page.locator(".decisions li", has_text="gate, the gate")
        await expect(reason).to_contain_text("No observer was asked, because the message looks as if it stayed in the")
        await expect(reason).to_contain_text("score -")
        await is_sound(page)


async def test_a_prompt_for_everybody_and_back(house: Path, assistant: Assistant, settings: Settings) -> None:
    """A prompt is edited, tried and made live; below it stand the editor and the difference, with a way back."""
    file = house / "en/planner/prompt.md"
    before = await asyncio.to_thread(file.read_text, "utf-8")
    async with browsing(assistant, WIDE, "en-US", path="/lab/prompt?name=planner&lang=en") as page:
        page.on("dialog", lambda dialog: asyncio.create_task(dialog.accept()))
        prompt = page.locator("textarea[name=text]")
        await prompt.fill("You keep short lists.")
        await page.get_by_label("What the user says; one message a line").fill("add milk to my list")
        await page.get_by_role("button", name="Try", exact=True).click()
        await expect(page.locator("#result")).to_contain_text("planner.add_todos")
        await is_sound(page)
        await page.get_by_role("button", name="Save as a draft").click()
        await expect(page.locator("form .tag")).to_contain_text("draft")
        assert await asyncio.to_thread(file.read_text, "utf-8") == before
        await page.get_by_role("button", name="Make it live").click()
        await page.locator("summary", has_text="planner (en)").first.click()
        await expect(page.locator("details[open]")).to_contain_text("+You keep short lists.")
        assert await asyncio.to_thread(file.read_text, "utf-8") == "You keep short lists."
        await is_sound(page)
        await page.get_by_role("button", name="Put it back").first.click()
        await expect(prompt).to_have_value(before)
        assert await asyncio.to_thread(file.read_text, "utf-8") == before


@pytest.mark.usefixtures("trained_whole")
async def test_a_card_while_it_is_written(assistant: Assistant, settings: Settings) -> None:
    """A card's new text shows the requests that find the tool now; the draft is kept."""
    async with browsing(assistant, WIDE, "en-US", is_dark=True, path="/lab") as page:
        await page.goto(re.sub("/lab.*", "/lab/tool?name=list_todos&lang=en", page.url))
        await expect(page.locator("#effect")).to_contain_text("Find it as before", timeout=120_000)
        await page.locator("[name=text]").press("Control+End")
        await page.keyboard.type("\n- unroll the scroll of my duties\n- what are my tasks for this week")
        await expect(page.locator("#effect")).to_contain_text("Find it now", timeout=120_000)
        await is_sound(page)
        # Debian's Chromium comes without a font for Chinese.
        chinese = page.locator("#effect li").filter(has_text=re.compile("[\u4e00-\u9fff]"))
        await chinese.evaluate_all("(rows) => rows.forEach((row) => row.remove())")
        await picture(page, "lab-card")
        await page.get_by_role("button", name="Save as a draft").click()
        await expect(page.locator("form .tag")).to_contain_text("draft")


async def test_on_a_phone_in_russian(assistant: Assistant, settings: Settings) -> None:
    """Every page fits a small dark screen, and speaks Russian."""
    lab_folder().write("mocks", "x", Mock(tool="current_time"))
    async with browsing(assistant, PHONE, "ru-RU", is_dark=True, path="/lab") as page:
        for name in ("Нити", "Прогоны", "Заглушки", "Агенты", "Инструменты"):
            await page.locator("header").get_by_role("button", name="Части лаборатории").click()
            await page.locator("#drawer").get_by_role("link", name=name).click()
            await expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
            await is_sound(page)
            assert await too_small(page) == []
        for path in (
            "/lab/thread?name=shop:ann",
            "/lab/agent",
            "/lab/mock?name=x",
            "/lab/case",
            "/lab/user",
            "/lab/prompt?name=planner&lang=ru",
        ):
            await page.goto(re.sub("/lab.*", path, page.url))
            await is_sound(page)
            assert await too_small(page) == []
        await page.goto(re.sub("/lab.*", "/lab/thread?name=shop:ann", page.url))
        await picture(page, "lab-phone")


async def test_by_keyboard_alone(assistant: Assistant, settings: Settings) -> None:
    """Tab and Enter lead from the first page to a thread and make a test of it."""
    async with browsing(assistant, DESKTOP, "en-US", is_dark=False, path="/lab") as page:
        await _tab_to(page, "Threads")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/lab/threads")
        await _tab_to(page, "shop:ann")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/lab/thread?**")
        await _tab_to(page, "Make it a test")
        await page.keyboard.press("Enter")
        await expect(page.locator("#result")).to_contain_text("async def test_conversation")


async def _tab_to(page: Page, text: str) -> None:
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    raise AssertionError(text)
