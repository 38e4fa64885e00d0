"""The page in Debian's Chromium. `make pictures` takes the pictures of docs anew."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.errors import ModelUnavailable
from agents.events import Event, Message, TurnEnd
from agents.models import Model, Models
from agents.state.citations import Citation
from app.assistant import Assistant, Turn
from app.assistant.file_reader import FileReader
from app.assistant.transcriber import Transcriber
from app.plugins.seat.seats import Seats
from app.testing.script import Call, Line, Script
from prompts import title_of
from tests.support.chromium import ARGS, CHROMIUM
from tests.support.endpoint_talk import talk
from tests.support.http_door import KEYS, OPERATOR, SHOP, served
from tests.support.http_service import Answer, Service
from tests.support.odd_provider import Provider, end, words
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import ROLES, Gate, stage
from tests.support.shop_tools import BEGIN, with_shop

try:
    from playwright.async_api import ConsoleMessage, FilePayload, Locator, Page, async_playwright, expect
except ImportError:
    pytest.skip("playwright is missing: make install", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.needs("planner")]
# A machine that does much besides is slow, and no fault.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)
# A microphone that hums, and is given to whoever asks.
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
DESKTOP, PHONE = (1280, 800), (390, 844)
AXE = Path(os.environ.get("AXE", "/usr/local/lib/node_modules/axe-core/axe.min.js"))
SCREENS = os.environ.get("SCREENS", "")
AXE_SOURCE = AXE.read_text("utf-8") if AXE.exists() else ""


def is_fault(line: ConsoleMessage) -> bool:
    """Tell whether a line of the browser tells of a fault: what is refused with a sentence is none."""
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
    """Open the page, or what is at a path, in a browser; what it refuses or finds broken fails the test."""
    async with served(assistant, keys, reader=reader) as url, async_playwright() as playwright:
        arguments = [*ARGS, *MICROPHONE, "--disable-sync"]
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = await browser.new_context(
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
            await browser.close()
        assert faults == []


async def too_small(page: Page) -> list[str]:
    """Return what a finger would miss: what is narrower or lower than 44 pixels and stands in no text."""
    found: list[str] = await page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, textarea, summary")]
            .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest("p, .said, .skip"))
            .map((each) => each.closest("label") ?? each)
            .filter((each) => Math.min(each.offsetWidth, each.offsetHeight) < 44)
            .map((each) => `${each.offsetWidth}x${each.offsetHeight} ${each.outerHTML.slice(0, 120)}`)"""
    )
    return found


async def picture(page: Page, name: str) -> None:
    """Take a picture for the documents, if that is asked for."""
    if SCREENS:
        await page.evaluate("document.activeElement?.blur()")
        await page.screenshot(path=Path(SCREENS) / f"{name}.png")


async def is_sound(page: Page) -> None:
    """Check that nothing is wider than the screen, and that axe finds nothing."""
    assert not await page.locator("body").evaluate("(body) => body.scrollWidth > innerWidth")
    if AXE_SOURCE:
        await page.evaluate(AXE_SOURCE)
        problems = await page.evaluate("axe.run().then((results) => results.violations)")
        assert [(each["id"], page.url, node["html"][:200]) for each in problems for node in each["nodes"]] == []


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
    async with browsing(assistant) as page:
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
        is_wide = await page.locator("body").evaluate("(body) => body.scrollWidth > innerWidth")
        assert not is_wide
        await page.locator("header").get_by_role("link", name="Новый разговор").click()
        await expect(page.get_by_role("heading", name="Чем могу помочь?")).to_be_visible()


async def test_sources_and_a_thread_of_somebody_else(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of an answer lead to its sources, which stand below; what somebody else has begun is refused."""
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


async def test_try_again(assistant: Assistant, script: Script) -> None:
    """An answer that has failed has a button that asks for it again; the message stands there once."""
    script.add(supervisor=[ModelUnavailable("key_refused", "openai:gpt", "401"), "Here I am."])
    async with browsing(assistant) as page:
        await say(page, "are you there?")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator("#log")).to_contain_text("Here I am.")
        await expect(page.locator(".heard")).to_have_count(1)
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


async def test_conversations_by_title(assistant: Assistant, script: Script) -> None:
    """By keyboard a talk gets a title, is found by words, and goes after a question; the header says who holds it."""
    script.add(supervisor=BEGIN, planner=["Which day?"])
    async with browsing(assistant) as page:
        await say(page, "hello there")
        await expect(page.locator("#log")).to_contain_text("Which day?")
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
    """An edited message and its answer stand in place of all behind it; an answer is copied, and rated with a word."""
    script.add(supervisor=["One.", "Two.", "Three **bold**.", "Four."])
    async with browsing(assistant) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await say(page, "first")
        await expect(page.locator("#log")).to_contain_text("One.")
        await say(page, "second")
        await expect(page.locator("#log")).to_contain_text("Two.")
        other = await page.context.new_page()
        await other.goto(page.url)
        await page.fill("#text", "a draft")
        await page.get_by_role("button", name="Edit the message").first.click()
        await page.locator(".editor textarea").fill("better")
        await page.locator(".editor").get_by_role("button", name="Send").click()
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
            await say(page, "what is it?")
            await expect(page.locator("#log")).to_contain_text("A dot.")
            await page.locator(".menu summary").press("Enter")
            await page.get_by_role("button", name="Call a person").press("Enter")
            await expect(page.locator("#log")).to_contain_text("A person is called.")


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


async def test_signing_in(assistant: Assistant, script: Script) -> None:
    """A wrong key is told, a right one leads to the page, and whoever signs out has to sign in again."""
    script.add(supervisor=["Hello."])
    async with browsing(assistant, keys=KEYS) as page:
        await page.fill("#key", "w" * 20)
        await page.press("#key", "Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This key is not known here.")
        await page.fill("#key", SHOP)
        await page.get_by_role("button", name="Sign in").click()
        await say(page, "hello")
        await expect(page.locator("#log")).to_contain_text("Hello.")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.locator("#key")).to_be_visible()
    assert [info.thread.partition(":")[0] for info in await assistant.threads("shop:shop")] == ["shop"]


async def test_files_and_spoken_words(tmp_path: Path, script: Script) -> None:
    """A chosen file goes with a message, and what the microphone hears is written down and answered."""
    script.sees = True
    script.add(supervisor=["A dot.", "Once upon a time."])
    dot = bytes.fromhex("89504e470d0a1a0a") + b"dot"
    picture = FilePayload(name="dot.png", mimeType="image/png", buffer=dot)
    async with (
        Service.open(Answer({"text": "tell me a story"})) as service,
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
    ):
        reader = FileReader(assistant, Transcriber(service.url, "whisper-1"), 1_000)
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
        [recording] = service.asked
        assert recording.body


TALKS = {
    "en-US": (
        "add milk, bread and lemonade to my list",
        "remind me tomorrow at 9 to call mum",
        "delete all from my list",
    ),
    "ru-RU": ("добавь молоко, хлеб и лимонад в мой список", "напомни завтра в 9 позвонить маме", "удали всё из списка"),
}


@pytest.mark.parametrize(("size", "lang", "is_dark"), [(DESKTOP, "en-US", False), (PHONE, "ru-RU", True)])
async def test_a_talk_with_the_stand_in(tmp_path: Path, size: tuple[int, int], lang: str, is_dark: bool) -> None:
    """Each language has its own words throughout, ends with a question's buttons, and axe finds nothing serious."""
    async with (
        stage(tmp_path / "talk.db", Models(default=Model("local:rules", RulesModel()))) as assistant,
        browsing(assistant, size, lang, is_dark=is_dark) as page,
    ):
        # What stands in the empty field takes one line.
        assert await page.locator("#text").evaluate("each => each.scrollHeight") < 2 * 24
        for text in TALKS[lang]:
            await say(page, text)
            await page.locator(".turn").last.wait_for()
            await expect(page.locator(".turn.running")).to_have_count(0)
        await expect(page.locator("fieldset")).to_have_count(1)
        await picture(page, f"page-{'phone' if size == PHONE else 'desktop'}")
        await is_sound(page)


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


async def test_sixty_turns_on_a_slow_machine(assistant: Assistant, script: Script) -> None:
    """With the CPU slowed six times each of 60 answers is drawn as it comes, and is whole when its turn ends."""
    answers = [f"Answer {number} is long enough." for number in range(60)]
    script.add(supervisor=answers)
    async with browsing(assistant, PHONE) as page:
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 6})
        await page.evaluate(SEEN)
        for number in range(60):
            script.gates["supervisor"] = gate = Gate(2)
            await say(page, f"question {number}")
            await expect(page.locator(".turn").last.locator(".growing")).to_contain_text(f"Answer {number}")
            gate.set()
            await expect(page.locator(".turn.running")).to_have_count(0)
        ended = await page.evaluate("Object.values(window.ended)")
        assert [" ".join(text.split()) for text in ended] == [f"Assistant: {answer}" for answer in answers]
        await expect(page.locator(".turn")).to_have_count(60)


TYPED = "Elm Street 5, the second door behind the yard, where the blue bicycle stands; ring twice and wait a bit"


async def test_typing_while_another_tab_talks(tmp_path: Path, script: Script) -> None:
    """Ten seconds of typing into a question's form, and into an editor, lose nothing while another tab talks."""
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
        await expect(form).to_have_value(TYPED)
        await page.get_by_role("button", name="Edit the message").last.click()
        editor = page.locator(".editor textarea")
        await editor.fill("")
        await _type_beside_talk(editor, other)


async def _type_beside_talk(field: Locator, other: Page) -> None:
    """Type at the pace of a person until all stands there, while another tab talks."""
    typing, before = (
        asyncio.create_task(field.press_sequentially(TYPED, delay=100)),
        await other.locator(".heard").count(),
    )
    count = before
    while not typing.done():
        count += 1
        await say(other, f"message {count}")
        await expect(other.locator(".heard")).to_have_count(count)
        await expect(other.locator(".turn.running")).to_have_count(0)
    await expect(field).to_have_value(TYPED)
    await expect(field).to_be_focused()
    assert count > before + 2


async def test_what_comes_unasked_leaves_the_rest_alone(assistant: Assistant, script: Script) -> None:
    """A notice rings at once and once, and neither what is typed nor what stands there is touched."""
    script.add(supervisor=BEGIN, planner=["Which one shall it be?"])
    async with browsing(assistant) as page:
        await say(page, "hello")
        await expect(page.locator("#log")).to_contain_text("Which one shall it be?")
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
