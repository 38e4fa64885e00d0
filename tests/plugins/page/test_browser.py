"""Answers and questions in Debian's Chromium. `make pictures` takes the pictures of docs anew."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from agents.errors import ModelUnavailable
from agents.events import Event, Message, TurnEnd
from agents.events.views import Player
from agents.state.citations import Citation
from app.assistant import Assistant, Turn
from app.testing.script import Call, Script
from tests.support.browser import DESKTOP, PHONE, browsing, is_sound, say, too_small
from tests.support.browser import assistant as assistant
from tests.support.chromium import IN_BROWSER
from tests.support.endpoint_talk import talk
from tests.support.http_door import KEYS, OPERATOR
from tests.support.odd_provider import Provider, end, words
from tests.support.scripted_assistant import MILK_AND_TEA, ROLES, Gate, stage
from tests.support.shop_tools import BEGIN, with_shop

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner"), *IN_BROWSER]


async def test_a_choice_by_its_button_and_undo(assistant: Assistant, script: Script) -> None:
    """A question has buttons that the keyboard reaches; the answer comes once, the list names the talk, undo undoes."""
    script.add(**MILK_AND_TEA)
    async with browsing(assistant) as page:
        await say(page, "add milk and tea", shows="Noted.")
        await expect(page.locator("#conversations")).to_contain_text("add milk and tea")
        await say(page, "delete both")
        yes = page.get_by_role("button", name="Yes")
        await expect(yes).to_be_visible()
        await page.reload()
        await yes.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#log")).to_contain_text("Deleted.")
        await expect(page.locator(".turn.running")).to_have_count(0)
        await expect(yes).to_be_disabled()
        await page.reload()
        await expect(yes).to_have_attribute("aria-pressed", "true")
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
    """In Russian, in the dark, on a small screen: a sentence to begin with, a dialog that takes over, a new talk."""
    script.add(supervisor=[Call("plan_things", {"brief": "список"})], planner=["Что записать?"])
    async with browsing(assistant, PHONE, "ru-RU", is_dark=True) as page:
        assert await too_small(page) == []
        await page.get_by_role("button", name="Помоги спланировать день").tap()
        await expect(page.locator(".speaker")).to_be_visible()
        await expect(page.locator("#log")).to_contain_text("Что записать?")
        await expect(page.locator(".turn.running")).to_have_count(0)
        await page.locator("header").get_by_role("button", name="Разговоры").click()
        await expect(page.locator("#drawer")).to_contain_text("Помоги спланировать день")
        assert await too_small(page) == []
        await page.keyboard.press("Escape")
        await expect(page.locator("#drawer")).to_be_hidden()
        await page.locator(".menu summary").tap()
        assert await too_small(page) == []
        await page.keyboard.press("Escape")
        is_wide = await page.locator("body").evaluate("(body) => body.scrollWidth > innerWidth")
        assert not is_wide
        await page.locator("header").get_by_role("link", name="Новый разговор").click()
        await expect(page.get_by_role("heading", name="Чем могу помочь?")).to_be_visible()


async def test_sources_and_a_thread_of_somebody_else(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of an answer lead to its sources below; another user's conversation is refused."""
    script.add(supervisor=["My secret."])
    async for _ in assistant.play(Turn(thread="other:day", user="other:other", text="keep it")):
        pass
    text, url = "Oat milk keeps ten days [1].", "https://milk.example/oat"
    citation = Citation(title="How long it keeps", url=url, number=0, start=text.index("["), end=text.index("."))

    async def play(_: Turn) -> AsyncIterator[Event]:
        yield Message(seq=1, speaker="supervisor", text=text, citations=[citation])
        yield TurnEnd(seq=2, is_active=True, dialog=None)

    monkeypatch.setattr(assistant, "play", play)
    async with browsing(assistant, keys=KEYS) as page:
        await page.fill("#key", OPERATOR)
        await page.press("#key", "Enter")
        await say(page, "how long does it keep?")
        await expect(page.locator("a.cite")).to_have_attribute("href", url)
        await expect(page.locator("a.cite")).to_have_text("1")
        await expect(page.locator(".sources a")).to_have_text("How long it keeps")
        await expect(page.locator(".sources .site")).to_have_text("milk.example")
        foreign = await page.request.get(re.sub("/talk/.*", "/talk/other%3Aday", page.url))
        assert (foreign.status, "secret" in await foreign.text()) == (404, False)


async def test_a_player_moves(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The playback moves by itself, as a bar and in minutes, and its buttons say a user's words."""
    heard: list[str | None] = []

    async def play(turn: Turn) -> AsyncIterator[Event]:
        heard.append(turn.text)
        state = "paused" if len(heard) > 1 else "playing"
        yield Player.model_validate({"title": "Metropolis", "state": state, "position": 58, "duration": 9000})
        yield TurnEnd(seq=2, is_active=True, dialog=None)

    monkeypatch.setattr(assistant, "play", play)
    async with browsing(assistant) as page:
        await say(page, "play it")
        await expect(page.locator("[data-time]")).to_have_text(re.compile(r"[1-9]:\d\d"))
        assert await page.locator("progress").evaluate("(bar) => bar.value") >= 60
        await is_sound(page)
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_role("button", name="Go on")).to_be_visible()
        await expect(page.locator("[data-time]").last).to_have_text("0:58")
    assert heard == ["play it", "pause the film"]


async def test_a_form(tmp_path: Path, script: Script) -> None:
    """The fields of a question are filled in and sent by the keyboard; then they are closed."""
    script.add(supervisor=BEGIN, planner=[Call("ask_address"), "Fetched there."])
    async with (
        stage(tmp_path / "form.db", script.models(ROLES), change=with_shop) as assistant,
        browsing(assistant) as page,
    ):
        await say(page, "come and fetch it")
        street, code = page.locator("input[name='field.street']"), page.locator("input[name='field.zip']")
        await street.fill("Elm Street 5")
        await code.fill("8001")
        await code.press("Enter")
        await expect(page.locator("#log")).to_contain_text("Fetched there.")
        await expect(street).to_be_disabled()
        assert '{"street":"Elm Street 5","zip":8001}' in str(script.asked[-1].messages)


async def test_a_question_is_left(tmp_path: Path, script: Script) -> None:
    """A form has "cancel", which is a message of the user and closes the form."""
    script.add(supervisor=BEGIN, planner=[Call("ask_address"), "Then not."])
    async with (
        stage(tmp_path / "form.db", script.models(ROLES), change=with_shop) as assistant,
        browsing(assistant) as page,
    ):
        await say(page, "come and fetch it")
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.locator("#log")).to_contain_text("Then not.")
        await expect(page.locator(".heard").last).to_contain_text("Never mind")
        await expect(page.locator("input[name='field.street']")).to_be_disabled()


async def test_try_again(assistant: Assistant, script: Script) -> None:
    """An answer that has failed has a button that asks for it again; the message stands there once."""
    script.add(supervisor=[ModelUnavailable("key_refused", "openai:gpt", "401"), "Here I am."])
    async with browsing(assistant) as page:
        await say(page, "are you there?")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator("#log")).to_contain_text("Here I am.")
        await expect(page.locator(".heard")).to_have_count(1)
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


async def test_go_on(tmp_path: Path) -> None:
    """An answer that was cut has a button by which the assistant goes on."""
    cut = [*words("Once upon a time")[:-1], end("length")]
    async with (
        Provider.open(cut, words("there was a king")) as provider,
        talk(tmp_path, provider.url) as assistant,
        browsing(assistant) as page,
    ):
        await say(page, "tell me")
        await page.get_by_role("button", name="Go on").click()
        await expect(page.locator("#log")).to_contain_text("there was a king")
        await expect(page.locator(".heard").last).to_contain_text("go on")
