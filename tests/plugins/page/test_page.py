"""The page: messages and their answers, questions, commands and the list of conversations."""

import re
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import httpx
import pytest

from agents.events import Event, Token
from app.assistant import Assistant, Turn
from app.doors.http import answers
from app.doors.http.answers import Answers
from app.testing.script import Script
from prompts import table
from tests.support import takeover
from tests.support.http_door import calling
from tests.support.page_visits import BY_PAGE, TALK, said
from tests.support.scripted_assistant import MILK_AND_TEA, Gate, script_lines
from tests.support.simulated_time import advance

TEMPLATES = Path("app/plugins/page/templates")


@pytest.mark.parametrize(("first", "second"), [("привет", "ok"), ("ok", "привет")])
async def test_a_limit_is_told_in_the_users_language(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, first: str, second: str
) -> None:
    """In that of the thread; in a new one in that of the page, and in that of the message where its letters tell it."""
    script.add(supervisor=["Да."])
    assistant._turn_count.most = 1
    client.headers["Accept-Language"] = "ru"
    await said(client, text=first)
    for path in (TALK, "/talk/new"):
        refused = await said(client, f"{path}/messages", id=f"message-{path[-3:]}", text=second)
        assert "За этот час было много сообщений" in refused


@pytest.mark.needs("planner")
async def test_a_message_its_answer_and_a_reload(client: httpx.AsyncClient, script: Script) -> None:
    """A message is answered by a stream; the same id does nothing twice; a reload shows both, and the list the talk."""
    script.add(supervisor=["Good **morning**."])
    assert (await client.get("/")).headers["location"].startswith("/talk/page-")
    assert "Help me plan my day" in (await client.get(TALK)).text
    assert "帮我安排一天" in (await client.get(TALK, headers={"Accept-Language": "zh"})).text
    for _ in "12":
        stream = await said(client, text="hello & <i>you</i>")
        assert "Good <strong>morning</strong>." in stream
        assert stream.index("event: begin") < stream.index("event: over")
    page = (await client.get(TALK)).text
    assert page.count("hello &amp; &lt;i&gt;you&lt;/i&gt;") == 2  # in the conversation and in the list
    assert page.count("Good <strong>morning</strong>.") == 1
    assert "event: over" in (await client.get(f"{TALK}/answer?id=unknown-1")).text


async def test_the_list_of_conversations(client: httpx.AsyncClient, script: Script) -> None:
    """Titles tell more than "hello", or are the user's own; words are searched for; the list comes by pages.

    A conversation is handed out, and deleted; the list reads no more threads than it shows.
    """
    script.add(supervisor=["Good evening."] * 34)
    for number in range(32):
        await said(client, f"/talk/t{number}/messages", text=f"subject number {number}", id=f"message-{number}")
    await said(client, "/talk/t5/messages", text="hello", id="message-a")
    await said(client, text="hello", id="message-b")
    listed = (await client.get(f"{TALK}/list")).text
    assert listed.count('class="title"') == 30
    assert listed.index("/talk/day") < listed.index("/talk/t5") < listed.index("/talk/t31")
    [further] = re.findall(r'hx-get="([^"]+)"', listed)
    rest = (await client.get(further.replace("&amp;", "&"))).text
    assert (rest.count('class="title"'), "hx-get" in rest) == (3, False)
    await client.post("/talk/t7/title", data={"title": "Lamps & <b>"}, headers=BY_PAGE)
    assert "Lamps &amp; &lt;b&gt;" in (await client.get(f"{TALK}/list?query=lAMPS")).text
    assert (await client.get(f"{TALK}/list?query=Number%2031")).text.count('class="title"') == 1
    assert "Nothing found" in (await client.get(f"{TALK}/list?query=zebra")).text
    assert "Good evening." in (await client.get("/talk/t7/export")).text
    gone = await client.post("/talk/t7/forget", headers=BY_PAGE)
    assert (gone.status_code, gone.headers["hx-redirect"]) == (204, "/")
    assert "Lamps" not in (await client.get(f"{TALK}/list?query=lamps")).text
    assert "Good evening." not in (await client.get("/talk/t7/export")).text


async def test_what_a_plugin_fails_to_delete_is_told(
    client: httpx.AsyncClient, assistant: Assistant, script: Script
) -> None:
    """The page says that something went wrong, and does not leave the conversation as if it were gone."""

    async def fail(thread: str, users: Collection[str]) -> None:
        raise OSError("the disk is full")

    script.add(supervisor=["Good evening."])
    await said(client, text="hello")
    assistant.memory.erasers.append(fail)
    answer = await client.post(f"{TALK}/forget", headers=BY_PAGE)
    assert (answer.status_code, answer.headers.get("hx-redirect")) == (500, None)


async def test_edited_answered_anew_and_rated(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """A message is replaced with all behind it, also after a reload; a sign is kept with its turn, with a word."""
    script.add(supervisor=["One.", "Two.", "Three.", "Four."])
    await said(client, text="first", id="message-1")
    await said(client, text="second", id="message-2")
    await said(client, f"{TALK}/edit", text="other", message="message-2", id="message-3")
    assert [message.text for message in script.asked[-1].messages if message.text == "second"] == []
    page = (await client.get(TALK)).text
    assert ("One." in page, "Two." in page, "Three." in page) == (True, False, True)
    assert "Four." in await said(client, f"{TALK}/edit", message="message-1", id="message-4")
    page = (await client.get(TALK)).text
    assert ("One." in page, "Three." in page, page.count('class="heard"')) == (False, False, 1)
    kept = (await client.get(f"{TALK}/export")).text
    assert ("# Conversation “first”" in kept, "**Assistant**" in kept) == (True, True)
    assert ("One." in kept, "Three." in kept, "Four." in kept) == (False, False, True)
    for sign, word in (("up", ""), ("down", "too short")):
        rating = {"message": "message-4", "sign": sign, "word": word}
        assert (await client.post(f"{TALK}/rating", data=rating, headers=BY_PAGE)).status_code == 200
    assert await assistant.memory.feedback.signs("day", "local") == {"message-4": "👎"}
    assert (await client.get(TALK)).text.count('aria-pressed="true"') == 1
    for path in ("edit", "rating"):
        unknown = {"message": "message-9", "text": "x", "id": "message-5"}
        assert (await client.post(f"{TALK}/{path}", data=unknown, headers=BY_PAGE)).status_code == 404


async def test_an_answer_outlives_its_page(client: httpx.AsyncClient, assistant: Assistant, script: Script) -> None:
    """Of a page that is too slow to read, or sleeps, the answer is made whole, and stands there when it comes back."""
    script.gates["supervisor"] = gate = Gate(2)
    script.add(supervisor=["One two three four five"])
    await client.post(f"{TALK}/messages", data={"id": "message-1", "text": "count"}, headers=BY_PAGE)
    async with client.stream("GET", f"{TALK}/answer?id=message-1") as stream:
        async for piece in stream.aiter_text():
            if "One" in piece:
                break
    for _ in range(3):
        advance(answers.RECONNECT)
        assert not await script_lines(assistant, "day")
    gate.set()
    assert "five" in (await client.get(f"{TALK}/answer?id=message-1")).text
    page = (await client.get(TALK)).text
    assert ("Stopped here." in page, "five" in page) == (False, True)


async def test_a_new_message_ends_the_answer_before_it(client: httpx.AsyncClient, script: Script) -> None:
    """A message meanwhile is answered; the shown part of the answer before stays. Sent again, it ends nothing."""
    script.gates["supervisor"] = gate = Gate(2)
    script.add(supervisor=["One two three four five", "Six."])
    count, wait = {"id": "message-1", "text": "count"}, {"id": "message-2", "text": "no, wait"}
    for _ in "12":
        await client.post(f"{TALK}/messages", data=count, headers=BY_PAGE)
    async with client.stream("GET", f"{TALK}/answer?id=message-1") as stream:
        async for piece in stream.aiter_text():
            if "One" in piece:
                break
        await client.post(f"{TALK}/messages", data=wait, headers=BY_PAGE)
        gate.set()
    assert "Six." in (await client.get(f"{TALK}/answer?id=message-2")).text
    page = (await client.get(TALK)).text
    assert ("Stopped here." in page, "five" in page) == (True, False)


@pytest.mark.needs("planner")
async def test_a_question_is_answered_once_and_undone(client: httpx.AsyncClient, script: Script) -> None:
    """An open question stands on the page after a reload; a button answers it and no other one."""
    script.add(**MILK_AND_TEA)
    await said(client, text="add milk and tea")
    assert "data-choice" in await said(client, text="delete both", id="message-2")
    page = (await client.get(TALK)).text
    [question] = re.findall(r'name="question" value="(\w+)"', page)
    answer = {"choose": "yes", "question": "another", "id": "message-3"}
    assert (await client.post(f"{TALK}/choices", data=answer, headers=BY_PAGE)).status_code == 409
    for _ in "12":
        assert "Deleted." in await said(client, f"{TALK}/choices", choose="yes", question=question, id="message-3")
    page = (await client.get(TALK)).text
    assert ("<fieldset disabled>" in page, "<fieldset>" in page) == (True, False)
    assert "milk" in await said(client, f"{TALK}/undo", id="message-4")


@pytest.mark.needs("seat", "planner")
async def test_slash_commands(assistant: Assistant, script: Script) -> None:
    """The commands of the other doors: a person is called, an unknown one is told, one leads on, one begins a turn."""
    script.add(supervisor=["Hello.", "Fine."])
    takeover.seats(assistant).wait = 60
    async with calling(assistant, headers=BY_PAGE) as client:

        async def shown(text: str, number: int) -> httpx.Response:
            return await client.post(f"{TALK}/messages", data={"id": f"message-{number}", "text": text})

        await said(client, text="hello")
        assert "A person is called." in (await shown("/person my lamp", 2)).text
        [seat] = await takeover.seats(assistant).all()
        assert (seat.thread, seat.caller, seat.reason) == ("day", "user", "my lamp")
        assert "/person" in (await shown("/help", 3)).text
        assert "/quit" not in (await shown("/help", 3)).text
        assert "/dance" in (await shown("/dance <b>", 4)).text
        assert (await shown("/new", 5)).headers["hx-redirect"].startswith("/talk/page-")
        assert (await shown("/new bob", 6)).headers["hx-redirect"] == "/talk/bob"
        assert "Fine." in await said(client, text="/retry", id="message-7")
    assert [message.text for message in script.asked[-1].messages][-1].endswith("hello")


async def test_an_answer_that_fails_is_read_to_its_end(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error that ends an answer has the next number, so that whoever reads along gets it."""

    async def broken(_: Turn) -> AsyncIterator[Event]:
        yield Token(seq=1, speaker="supervisor", text="One")
        raise RuntimeError

    monkeypatch.setattr(assistant, "play", broken)
    answer = answers.Answer(Turn(thread="ann", text="count"), lambda _: None)
    await answer.play(assistant)
    assert [event.seq async for event in answer.read()] == [1, 2]
    assert not Answers(assistant).running_in("ann")


def test_each_sentence_that_a_template_names_is_there() -> None:
    """And none is idle."""
    english = table("page/phrases", "en")
    templates = "".join(path.read_text("utf-8") for path in TEMPLATES.rglob("*.html"))
    called = {*re.findall(r"""\bt\(["'](\w+)""", templates)}
    assert {*english} <= called <= {*english, *table("page", "en")}
    assert english.keys().isdisjoint(table("page", "en"))
