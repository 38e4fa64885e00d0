"""The page: what it serves, to whom, and that nothing of a model, a tool or a user becomes HTML."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from agents.errors import ModelUnavailable
from agents.events import Error, Event, Images, Interrupt, Message, PrivateMessage, ShownImage, Token, ToolStart
from agents.events.views import CardList, Document, Entry, Link, Notice, Table
from agents.state.citations import Citation
from app.assistant import Assistant, Turn
from app.assistant.file_reader import FileReader
from app.assistant.transcriber import Transcriber
from app.doors.http import answers
from app.doors.http.answers import Answers
from app.doors.http.page.drawing import Drawing
from app.doors.http.page.guard import COOKIE
from app.doors.http.page.markup import draw, markdown
from app.doors.http.page.router import FILES
from app.security.api_keys import EVERYTHING, read_keys
from app.testing.script import Call, Script
from prompts import table
from tests.support import takeover
from tests.support.http_door import KEYS, OPERATOR, OTHER, SHOP, by, served
from tests.support.http_service import Answer, Service
from tests.support.scripted_assistant import ROLES, Gate, stage
from tests.support.shop_tools import BEGIN, with_shop

BY_PAGE = {"HX-Request": "true"}
TALK = "/talk/day"
PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"dot" * 500_000
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>"
VENDORED = {
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "htmx-ext-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
}
ALLOWED = {
    "article",
    "section",
    "div",
    "span",
    "p",
    "form",
    "fieldset",
    "legend",
    "input",
    "button",
    "label",
    "ul",
    "ol",
}
ALLOWED |= {"li", "table", "thead", "tbody", "tr", "th", "td", "h2", "a", "em", "strong", "details", "summary", "pre"}


class Tags(HTMLParser):
    """Collects what a browser takes for tags, and what they lead to."""

    def __init__(self, drawn: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(drawn)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src", "action")}


@asynccontextmanager
async def visiting(assistant: Assistant, key: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Visit a server with keys; with a key, signed in."""
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as visitor:
        if key:
            assert (await visitor.post("/sign-in", data={"key": key})).status_code == 204
        yield visitor


async def said(client: httpx.AsyncClient, path: str = f"{TALK}/messages", **fields: str) -> str:
    """Send something; return the answer as its stream draws it."""
    shown = await client.post(path, data={"id": "message-1", **fields}, headers=BY_PAGE)
    assert shown.status_code == 200, shown.text
    [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
    return (await client.get(stream)).text


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
    for sign, word in (("up", ""), ("down", "too short")):
        rating = {"message": "message-4", "sign": sign, "word": word}
        assert (await client.post(f"{TALK}/rating", data=rating, headers=BY_PAGE)).status_code == 200
    assert await assistant.memory.feedback.signs("day", "local") == {"message-4": "👎"}
    assert (await client.get(TALK)).text.count('aria-pressed="true"') == 1
    for path in ("edit", "rating"):
        unknown = {"message": "message-9", "text": "x", "id": "message-5"}
        assert (await client.post(f"{TALK}/{path}", data=unknown, headers=BY_PAGE)).status_code == 404


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("2*3*4 = 24", "2*3*4 = 24"),
        ("- [ ] milk\n- [x] tea", "<li>☐ milk</li>\n<li>☑ tea</li>"),
        ("### a\n# b\n#### c", '<h3 aria-level="2">a</h3>\n<h1 aria-level="2">b</h1>\n<h4 aria-level="3">c'),
        ("```python\n1\n```", '<pre tabindex="0" data-lang="python"><code>1\n</code></pre>'),
        ("see https://a.example/x_y_z.", 'href="https://a.example/x_y_z" '),
        ("(https://a.example)", ">https://a.example</a>)"),
    ],
)
def test_what_people_write_is_drawn(text: str, drawn: str) -> None:
    """Stars between numbers, tasks, code with its language and bare addresses are drawn as what they are."""
    assert drawn in markdown(text)


async def test_a_new_message_ends_the_answer_before_it(client: httpx.AsyncClient, script: Script) -> None:
    """Whoever writes meanwhile is answered; of the answer before, what was shown stays. Sent again, it ends nothing."""
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
    script.add(
        supervisor=[Call("plan_things", {"brief": "list"})],
        planner=[
            Call("add_todos", {"items": ["milk", "tea"]}),
            "Noted.",
            Call("delete_todos", {"numbers": [1, 2]}),
            "Deleted.",
        ],
    )
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


ATTACKS: dict[str, Event] = {
    "text": Message(speaker="supervisor", text=ATTACK),
    "link": Message(speaker="supervisor", text="[x](javascript:alert(1)) ![y](data:text/html,z) <javascript:alert(1)>"),
    "speaker": Message(speaker=ATTACK, text="hello"),
    "token": Token(speaker="supervisor", text=ATTACK),
    "tool": ToolStart(speaker="supervisor", tool=ATTACK),
    "private": PrivateMessage(user="ann", text=ATTACK),
    "fault": Error(code="x", text=ATTACK),
    "question": Interrupt(id=ATTACK, kind="choice", prompt=ATTACK, options=[{"id": ATTACK, "label": ATTACK}]),
    "address": Interrupt(id="q", kind="page", prompt="open", url="javascript:alert(1)"),
    "fields": Interrupt(id="q", kind="form", prompt="fill", fields=[{"name": ATTACK, "label": ATTACK}]),
    "cards": CardList(title=ATTACK, entries=[Entry(ATTACK, ATTACK, "https://shop.example/?a=1&b=%22")]),
    "table": Table(title=ATTACK, columns=[ATTACK], rows=[[ATTACK]]),
    "notice": Notice(title=ATTACK, message=ATTACK, level="warning"),
    "view link": Link(title=ATTACK, url="https://shop.example"),
    "document": Document(title=ATTACK, content=ATTACK),
    "images": Images(
        images=[
            ShownImage(
                url="javascript:alert(1)", title=ATTACK, thumbnail="", width=None, height=None, mime_type="", page=""
            )
        ]
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_becomes_html(name: str) -> None:
    """Whatever an event holds stands on the page as text, and no link leads elsewhere than to the web."""
    drawing = Drawing("ann", "en")
    drawn = str(drawing.part(ATTACKS[name])) + str(drawing.progress())
    assert re.search("alert|data:text", drawn), drawn
    tags = Tags(drawn)
    assert tags.names <= ALLOWED
    assert not any(name.startswith("on") or name == "style" for name in tags.attributes)
    assert all(link.startswith(("https://", "http://")) for link in tags.links)


def test_what_the_user_said_is_text() -> None:
    """A message and what it quotes are escaped; a citation leads to its source."""
    assert "<script" not in draw("heard", "en", text=ATTACK, source="message", beside=[ATTACK])
    citation = Citation(title="Milk", url="https://milk.example/", number=0, start=4, end=7)
    forged = Citation(title=ATTACK, url="javascript:alert(1)", number=1, start=7, end=10)
    drawn = Drawing("ann", "en").part(Message(speaker="supervisor", text="milk[1][2]", citations=[citation, forged]))
    tags = Tags(str(drawn))
    assert tags.links == {"https://milk.example/"}
    assert tags.names <= ALLOWED
    assert "<sup" not in markdown("a <sup>b</sup>")
    table = markdown("| a |\n| ---: |\n| 1 |")
    assert ("style" in table, table.count('class="text-align-right"')) == (False, 2)


async def test_headers_and_files(client: httpx.AsyncClient) -> None:
    """The page runs nothing of its own lines, loads nothing from outside, and is shown in no frame."""
    page = await client.get(TALK)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page.text)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert [address for address in addresses if not address.startswith(("/", "#"))] == []
    assert (await client.get("/static/page.css")).headers["content-type"].startswith("text/css")
    assert (await client.get("/static/nothing.js")).status_code == 404
    for name, digest in VENDORED.items():
        assert hashlib.sha256((FILES / name).read_bytes()).hexdigest() == digest
        assert (FILES / f"{name.removesuffix('.min.js')}.LICENSE.txt").is_file()
    own = [path for path in FILES.iterdir() if path.suffix in (".css", ".js") and path.name not in VENDORED]
    assert not any("://" in path.read_text("utf-8") for path in own)


async def test_only_the_page_writes(client: httpx.AsyncClient, script: Script) -> None:
    """A form of another site cannot send; nor can what is no message."""
    body = {"text": "hello", "id": "message-1"}
    foreign = await client.post(f"{TALK}/messages", data=body)
    origin = await client.post(f"{TALK}/messages", data=body, headers={**BY_PAGE, "Origin": "https://bad.example"})
    assert (foreign.status_code, origin.status_code) == (403, 403)
    for wrong in ({"text": " ", "id": "message-1"}, {"text": "hello", "id": "'\"<"}, {"text": "hello"}):
        assert (await client.post(f"{TALK}/messages", data=wrong, headers=BY_PAGE)).status_code == 422


async def test_files_beside_a_message(tmp_path: Path, script: Script) -> None:
    """Pictures and documents are read for their turn; what cannot be read is told."""
    script.sees = True
    script.add(supervisor=["A dot and a list."])
    files = [("file", ("dot.png", PIXEL)), ("file", ("list.csv", b"milk,2\ntea,1\n")), ("file", ("", b""))]
    async with stage(tmp_path / "files.db", script.models(ROLES)) as assistant:
        reader = FileReader(assistant, None, 1_000)
        async with (
            served(assistant, reader=reader) as url,
            httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client,
        ):
            assert 'data-attach aria-label="Attach files"' in (page := (await client.get(TALK)).text)
            assert "data-record" not in page
            fields = {"id": "message-1", "text": "what is this?"}
            shown = await client.post(f"{TALK}/messages", data=fields, files=files)
            [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
            assert "A dot and a list." in (await client.get(stream)).text
            asked = str(script.asked[0].messages)
            assert base64.b64encode(PIXEL).decode() in asked
            assert "milk" in asked
            nothing = await client.post(f"{TALK}/messages", data={"id": "message-2"}, files=[("file", ("x", b"\0\1"))])
            assert "I could not read x" in nothing.text
            assert "sse-connect" not in nothing.text
        assert len(await assistant.history("day")) == 2


UNUSABLE = {
    "picture": ("cat.jpg", b"\xff\xd8\xff" + b"x" * 3_000_000, "The picture is too large: I take up to 3 MB."),
    "text": ("book.txt", b"word " * 4_000_001, "The file is too large: I take up to 20 MB."),
    "empty": ("notes.txt", b"", "I could not read notes.txt"),
}


@pytest.mark.parametrize("name", UNUSABLE)
async def test_files_that_cannot_be_used(tmp_path: Path, script: Script, name: str) -> None:
    """The user is told why, and the words beside are answered; the message stands there as it was written."""
    script.sees = True
    script.add(supervisor=["I see nothing."])
    file, data, remark = UNUSABLE[name]
    async with (
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
        served(assistant, reader=FileReader(assistant, None, 1_000)) as url,
        httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client,
    ):
        fields = {"id": "message-1", "text": "what is this?"}
        shown = await client.post(f"{TALK}/messages", data=fields, files=[("file", (file, data))])
        assert (remark in shown.text, "caption" in shown.text) == (True, False)
        assert "I see nothing." in (await client.get(f"{TALK}/answer?id=message-1")).text


async def test_what_is_said_of_a_message_stays(tmp_path: Path, script: Script) -> None:
    """The page asks for the conversation again and again: remarks on files, and why a message was not taken, stay."""
    script.add(supervisor=["Bread."])
    broken = [("file", ("cat.bin", b"\0\1"))]
    async with (
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
        served(assistant, reader=FileReader(assistant, None, 1_000)) as url,
        httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client,
    ):
        await client.post(f"{TALK}/messages", data={"id": "message-1", "text": "what is this?"}, files=broken)
        await client.get(f"{TALK}/answer?id=message-1")
        assert "I could not read cat.bin" in (await client.get(TALK)).text
        await client.post(f"{TALK}/messages", data={"id": "message-2"}, files=broken)
        assert (await client.get(TALK)).text.count("I could not read cat.bin") == 2
        assert "I take 16000 at most" in await said(client, text="x" * 20_000, id="message-3")
        log = (await client.get(TALK)).text
        assert ("I take 16000 at most" in log, "x" * 20_000 in log) == (True, True)


@pytest.mark.needs("seat", "planner")
async def test_slash_commands(assistant: Assistant, script: Script) -> None:
    """The commands of the other doors: a person is called, an unknown one is told, one leads on, one begins a turn."""
    script.add(supervisor=["Hello.", "Fine."])
    takeover.seats(assistant).wait = 60
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client:

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


async def test_too_much_at_once(client: httpx.AsyncClient) -> None:
    """Too many files, or too large ones, are refused in a sentence."""
    fields, much = {"id": "message-1", "text": "look"}, "This is too much at once."
    many = [("file", (f"{number}.txt", b"x")) for number in range(11)]
    for files in (many, [("file", ("film.mp4", b"x" * 26_000_000))]):
        shown = await client.post(f"{TALK}/messages", data=fields, files=files, headers=BY_PAGE)
        assert shown.text.startswith(much)


async def test_speech_that_is_sent_again(assistant: Assistant, script: Script) -> None:
    """A recording whose answer was lost on the way is the same message, although it would be heard otherwise."""
    script.add(supervisor=["Once upon a time."])
    files = {"voice": ("voice", b"OggS" + b"\1" * 50)}
    async with Service.open(Answer({"text": "a story"}), Answer({"text": "us tory"})) as service:
        reader = FileReader(assistant, Transcriber(service.url, "whisper-1"), 1_000)
        async with served(assistant, reader=reader) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE) as client:
            for _ in "12":
                sent = await client.post(f"{TALK}/messages", data={"id": "message-1"}, files=files)
                assert "a story" in sent.text
                assert "Once upon a time." in (await client.get(f"{TALK}/answer?id=message-1")).text
    assert len(service.asked) == 1


@pytest.mark.needs("planner")
async def test_old_answers_after_a_restart(assistant: Assistant, script: Script) -> None:
    """What another process has answered is drawn as it was: its Markdown, its failure with the way on, its question."""
    delete = Call("delete_todos", {"numbers": [1, 2]})
    script.add(
        supervisor=["Good **morning**.", ModelUnavailable("busy", "m"), Call("plan_things", {"brief": "list"})],
        planner=[Call("add_todos", {"items": ["milk", "tea"]}), "Noted.", delete],
    )
    texts = ("hello", "and now?", "add milk and tea", "delete both")
    drawn = []
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client:
        for place, text in enumerate(texts):
            await said(client, text=text, id=f"message-{place}")
        drawn.append((await client.get(TALK)).text)
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client:
        drawn.append((await client.get(TALK)).text)
    for log in drawn:
        assert "<strong>morning</strong>" in log
        assert log.count("data-again") == log.count('class="fault"') == 1
        assert log.count("<fieldset>") == 1
        assert "Noted." in log


@pytest.mark.needs("planner")
async def test_old_cards_and_steps_after_a_restart(tmp_path: Path, script: Script) -> None:
    """What tools did and showed is drawn by another process as it was by the one that answered."""
    find, send = Call("find_orders", {"name": "e"}), Call("submit_return", {"order": "order_9"})
    script.add(
        supervisor=[*BEGIN, "Good **morning**."],
        planner=[
            "Which one?",
            find,
            "Here they are.",
            send,
            "There is no such order.",
            Call("hand_back", {"reason": "greeting"}),
        ],
    )
    drawn = []
    async with stage(tmp_path / "shop.db", script.models(ROLES), change=with_shop) as assistant:
        for life in range(2):
            async with (
                served(assistant) as url,
                httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client,
            ):
                for place, text in enumerate(("send it back", "which ones are there?", "the ninth", "hello")):
                    if life == 0:
                        await said(client, text=text, id=f"message-{place}")
                log = await client.get(TALK)
                drawn.append(log.text)
    first, second = drawn
    assert first == second
    for shown in ("Blue shoes</", "60 EUR", "<strong>morning</strong>"):
        assert shown in second
    assert "1. Blue shoes" not in second


async def test_spoken_words(assistant: Assistant, script: Script) -> None:
    """What the page has recorded goes to the transcriber, and its words are the user's message."""
    script.add(supervisor=["Once upon a time."])
    voice = [("voice", ("voice", b"\x1a\x45\xdf\xa3webm"))]
    async with Service.open(Answer({"text": "tell me a story"})) as service:
        reader = FileReader(assistant, Transcriber(service.url, "whisper-1"), 0)
        async with (
            served(assistant, reader=reader) as url,
            httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client,
        ):
            assert 'aria-pressed="false"' in (await client.get(TALK)).text
            shown = await client.post(f"{TALK}/messages", data={"id": "message-1", "text": ""}, files=voice)
            assert "tell me a story" in shown.text
            [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
            assert "Once upon a time." in (await client.get(stream)).text
    [line, _] = await assistant.history("day")
    assert (line.text, line.metadata["source"]) == ("tell me a story", "asr")


@pytest.mark.parametrize("name", ["a/b", "a/list", "a~1b", "~0/~1", "telegram-1~2"])
async def test_a_name_with_a_slash(client: httpx.AsyncClient, assistant: Assistant, script: Script, name: str) -> None:
    """Every thread can be opened, whatever it is called, and stands in the list under its address."""
    script.add(supervisor=["Hello.", "Hello again."])
    async for _ in assistant.play(Turn(thread=name, user="local", text="hello")):
        pass
    [address] = re.findall(r'href="(/talk/[^"]+)"', (await client.get(f"{TALK}/list")).text)
    assert "Hello." in (await client.get(address)).text
    assert "Hello again." in await said(client, f"{address}/messages", text="hello")
    assert [info.thread for info in await assistant.threads("local")] == [name]


async def test_signing_in_and_out(assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session there is only the form; a key opens the page, until the cookie is old, forged or gone."""
    async with visiting(assistant) as visitor:
        lost = await visitor.get(TALK, headers={"HX-Request": ""})
        assert (await visitor.get("/sign-in")).status_code == 200
        assert lost.status_code in (303, 401)
        assert (await visitor.get(TALK)).headers["hx-redirect"] == "/sign-in"
        wrong = await visitor.post("/sign-in", data={"key": "x" * 20})
        assert COOKIE not in wrong.cookies
        inside = await visitor.post("/sign-in", data={"key": SHOP})
        cookie = inside.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert SHOP not in cookie
        assert (await visitor.get(TALK)).status_code == 200
        value = visitor.cookies[COOKIE]
        name, expires, signature = value.split(".")
        for forged in (
            f"other.{expires}.{signature}",
            f"{name}.{int(expires) + 1}.{signature}",
            f"{name}.{expires}.",
            "x",
        ):
            visitor.cookies.clear()
            answer = await visitor.get(TALK, headers={"cookie": f"{COOKIE}={forged}"})
            assert answer.status_code == 401
        with monkeypatch.context() as later:
            later.setattr("app.doors.http.page.guard.time.time", lambda: int(expires) + 1.0)
            assert (await visitor.get(TALK, headers={"cookie": f"{COOKIE}={value}"})).status_code == 401
        assert "max-age=0" in (await visitor.post("/sign-out")).headers["set-cookie"].lower()


async def test_a_thread_of_somebody_else(assistant: Assistant, script: Script) -> None:
    """What another key or another user has begun is not there."""
    script.add(supervisor=["My secret."])
    async with visiting(assistant, OTHER) as visitor:
        await said(visitor, text="keep it")
    async with visiting(assistant, OPERATOR) as operator:
        for path in ("", "/events", "/list", "/export", "/answer?id=message-1"):
            assert (await operator.get(f"/talk/other:day{path}")).status_code == 404
        sent = await operator.post("/talk/other:day/messages", data={"text": "hello", "id": "message-2"})
        assert sent.status_code == 404
    async with visiting(assistant, SHOP) as shop:
        assert "secret" not in (await shop.get(TALK)).text
        assert (await shop.get("/threads", headers=by(SHOP))).json()["threads"] == []


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


def test_both_languages_say_the_same() -> None:
    """Every sentence of the page is there in both languages, and each that a template names."""
    english, russian = table("page", "en"), table("page", "ru")
    assert {*english} == {*russian}
    assert {*english["refused"]} == {*russian["refused"]}
    folder = Path("app/doors/http/page/templates")
    named = {key for path in folder.rglob("*.html") for key in re.findall(r"\bt\([\"'](\w+)", path.read_text("utf-8"))}
    assert named <= {*english}
    assert read_keys(KEYS)[0].inside("x") != EVERYTHING.inside("x")


@pytest.mark.needs("seat")
async def test_the_name_of_an_operator(assistant: Assistant, script: Script) -> None:
    """A name of one's own is what users see, and keeps what one holds; none is the key's; one of ours is refused."""
    script.add(supervisor=["Hello."])
    async with visiting(assistant, SHOP) as user:
        await said(user, text="hi")
    async with visiting(assistant, OPERATOR) as operator:

        async def rename(name: str) -> httpx.Response:
            return await operator.post("/seat/name", data={"name": name}, headers=BY_PAGE)

        await operator.post("/seat/talk/shop%3Aday/take", headers=BY_PAGE)
        for name, seen in (("Анна  <b>", "Анна &lt;b&gt;"), ("", "ops")):
            assert f'value="{seen}"' in (await rename(name)).text
            assert f'value="{seen}"' in (await operator.get("/seat")).text
            assert "Hand back" in (await operator.get("/seat/talk/shop%3Aday")).text
        assert (await rename("supervisor")).status_code == 422


@pytest.mark.needs("seat")
async def test_the_seat(assistant: Assistant, script: Script) -> None:
    """Only a key that operates sees it; a second person is told who holds a thread; names and words stay text."""
    script.add(supervisor=["Hello."])
    path = "/seat/talk/shop%3Aday"
    async with visiting(assistant, SHOP) as user:
        await said(user, text="hi")
        assert (await user.get("/seat")).status_code == 403
        for step in ("take", "messages", "back"):
            assert (await user.post(f"{path}/{step}", headers=BY_PAGE)).status_code == 403
    async with visiting(assistant, OPERATOR) as operator:
        assert "shop:day" in (await operator.get(path)).text
        await takeover.take(assistant, "shop:day", (ATTACK, "desk"))
        held = (await operator.post(f"{path}/take", headers=BY_PAGE)).text
        assert "Take it all the same" in held
        assert "<script>" not in held
        await takeover.say(assistant, "shop:day", ATTACK, (ATTACK, "desk"))
        assert "<script>" not in (await operator.get(path)).text
        assert "<script>" not in (await operator.get("/seat")).text
        fields = {"force": "1"}
        assert "Hand back" in (await operator.post(f"{path}/take", data=fields, headers=BY_PAGE)).text
        sent = {"text": "Hello from me.", "id": "12345678"}
        for _ in range(2):
            assert (await operator.post(f"{path}/messages", data=sent, headers=BY_PAGE)).status_code == 204
        shown = (await operator.get(f"{path}/log")).text
        assert (shown.count("Hello from me."), "<script>" in shown) == (1, False)
        row = re.search(r"log\?after=(\d+)", shown)
        assert row
        assert (await operator.get(f"{path}/log?after={row[1]}")).status_code == 204
        blank = await operator.post(f"{path}/messages", data={"text": " ", "id": "22345678"}, headers=BY_PAGE)
        assert (blank.status_code, blank.text) == (422, "That does not fit here. Please check it.")
        assert "Take over" in (await operator.post(f"{path}/back", data={"note": "x"}, headers=BY_PAGE)).text
        late = {"text": "And one thing more.", "id": "32345678"}
        for step in ("back", "messages"):
            refused = await operator.post(f"{path}/{step}", data=late, headers=BY_PAGE)
            assert refused.text == "You do not have this conversation at the moment."
