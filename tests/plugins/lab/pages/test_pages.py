"""The lab's pages: who may see them, that nothing becomes HTML, and that both languages say the same."""

import json
import re
import threading
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from agents.memory.feedback import ShownTurn
from app.assistant import Assistant, Turn
from app.mocks import Mock, MockOutcome
from app.plugins.lab.cases import Case, CaseTurn, Expected
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.pages.router import PAGES
from app.plugins.lab.pages.visit import PARTS
from app.plugins.lab.runs import CaseResult, LabRun
from app.plugins.lab.simulation import SimulatedUser, UserWish
from app.plugins.lab.thread_search import ThreadQuery, ThreadSearch
from app.plugins.lab.threads import view
from app.plugins.lab.turn_notes import notes_of
from app.settings import Settings
from app.yaml_file import read_yaml
from prompts import card_file, table
from tests.plugins.lab.pages.conftest import BY_PAGE, LAB, OTHER_LAB, visiting
from tests.support.http_door import SHOP, served
from tests.support.until import until

pytestmark = pytest.mark.needs("planner")
THREAD = "/lab/thread?name=shop:ann"
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
TEMPLATES = Path("app/plugins/lab/pages/templates")


async def test_only_keys_with_the_scope_come_in(assistant: Assistant, settings: Settings) -> None:
    """No session is led to sign in, a key without the scope is refused everywhere, one with it sees every thread."""
    paths = {str(getattr(route, "path", "")) for part in PAGES for route in part.routes}
    paths.remove("/lab/static/{name}")
    assert len(paths) > 3
    async with visiting(assistant, settings, "") as nobody:
        assert (await nobody.get("/lab")).headers["hx-redirect"] == "/sign-in"
    async with visiting(assistant, settings, SHOP) as shop:
        for path in paths:
            for method in ("GET", "POST"):
                assert (await shop.request(method, path)).status_code in (403, 405), path
    async with visiting(assistant, settings, LAB) as tutor:
        assert (await tutor.get("/lab")).status_code == 200
        assert "what is on my list?" in (await tutor.get(THREAD)).text
        assert (await tutor.get("/talk/day")).status_code == 403


async def test_headers_and_foreign_forms(lab: httpx.AsyncClient) -> None:
    """A page of the lab runs no line of its own and loads nothing from outside; another site cannot write."""
    page = await lab.get(THREAD)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page.text)
    assert all(link.startswith(("/", "#")) for link in re.findall(r'(?:src|href)="([^"]+)"', page.text))
    for name in re.findall(r'"(/lab/static/lab\.[^"]+)"', page.text):
        assert (await lab.get(name)).status_code == 200
    del lab.headers["HX-Request"]
    foreign = await lab.post("/lab/thread/back", data={"name": "shop:ann", "turn": "1"})
    assert foreign.status_code == 403


async def test_a_thread_is_looked_at(lab: httpx.AsyncClient) -> None:
    """The list leads to the thread; its texts are escaped; state, test and replay are there."""
    assert "shop:ann" in (await lab.get("/lab/threads")).text
    page = (await lab.get(THREAD)).text
    assert "<b>milk" not in page
    assert "&lt;b&gt;milk" in page
    assert "turn       1" in (await lab.get("/lab/thread/state?name=shop:ann&turn=1")).text
    assert (await lab.get("/lab/thread/state?name=shop:ann&turn=9")).status_code == 404
    test = await lab.get("/lab/thread/test?name=shop:ann&download=1")
    assert "attachment" in test.headers["content-disposition"]
    assert "async def test_conversation" in test.text
    replayed = await lab.post("/lab/thread/replay", data={"name": "shop:ann", "variant.model": "local:rules"})
    assert "the same" in replayed.text
    wrong = await lab.post("/lab/thread/replay", data={"name": "shop:ann", "variant.model": "nonsense"})
    assert (wrong.status_code, "LLM_MODEL" in wrong.text) == (409, True)
    assert (await lab.get("/lab/thread?name=nobody")).status_code == 409


async def test_threads_are_found(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Words, user, tool, verdict, language and trouble find a thread; all that is asked of turns is asked of one."""
    for thread, user in (("shop:bob", "bob"), ("shop:old", "ann")):
        async for _ in assistant.play(Turn(thread=thread, text="what time is it?", user=user)):
            pass
    everything = {"shop:ann", "shop:bob", "shop:old"}
    queries: dict[str, set[str]] = {
        "words=MILK": {"shop:ann"},
        "words=:BO": {"shop:bob"},
        "user=An": {"shop:ann", "shop:old"},
        "tool=add_todos": {"shop:ann"},
        "tool=add_todos&trouble=true": set(),
        "tool=current_time&user=bob": {"shop:bob"},
        "tool=add_todos&verdict=stay": set(),
        "verdict=stay&words=": everything,
        "verdict=finished": set(),
        "lang=ru": set(),
        "lang=en": everything,
        "words=%3Cb%3E": {"shop:ann"},
        "calls=&tokens=": everything,
        "calls=3": {"shop:ann"},
        "calls=99": set(),
        "tokens=1": set(),
    }
    for query, wanted in queries.items():
        shown = (await lab.get(f"/lab/threads?{query}")).text
        assert {*re.findall(r'name=shop%3A(\w+)"', shown)} == {name.partition(":")[2] for name in wanted}, query
    assert (await lab.get("/lab/threads?verdict=maybe")).status_code == 422


async def test_a_note_and_the_thumbs_of_users(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Notes of the team, and what users think, stand at the turn; threads are found by them; `forget` deletes them."""
    turn = [turn for turn in (await view(assistant, "shop:ann"))[1] if turn.number][-1]
    shown = ShownTurn("shop:ann", turn.id, "ann")
    await assistant.memory.feedback.rate(shown, "ann", "👎", "where is <b>bread</b>?")
    body = {
        "name": "shop:ann",
        "message": turn.id,
        "labels": "wrong tool, <i>, wrong  tool",
        "text": "lists <b>too much",
    }
    for _ in "12":
        assert "Kept." in (await lab.post("/lab/thread/note", data=body)).text
    page = (await lab.get(THREAD)).text
    for words in ("👎", "where is &lt;b&gt;bread", "lists &lt;b&gt;too much", 'value="wrong tool, &lt;i&gt;"'):
        assert words in page
    for query, is_found in (
        ("label=Wrong+tool", True),
        ("label=tool", False),
        ("rating=down", True),
        ("rating=up", False),
    ):
        assert ("shop%3Aann" in (await lab.get(f"/lab/threads?{query}")).text) == is_found, query
    assert (await lab.post("/lab/thread/note", data={**body, "message": "nothing"})).status_code == 404
    await assistant.forgetting.thread("shop:ann")
    assert await notes_of(assistant.memory.store, "shop:ann") == {}
    assert await assistant.memory.feedback.of("shop:ann") == []


async def test_cases_as_a_table(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A case is a table of turns, handed out as CSV and taken back; nothing is replaced unasked, or by halves."""
    folder = lab_folder()
    mocked = Case(turns=(CaseTurn(user="hi", expect=Expected(trace="hello")),), mocks=(Mock(tool="current_time"),))
    folder.write("cases", "kept", mocked)
    whole = {
        "sheet": "cases",
        "file": "list",
        "about": "The list",
        "lang": "en",
        "criterion": "It is short.\nIt is polite.",
    }
    first = {"message": "=1+1", "calls": 'add_todos {"items": ["milk"]}\nlist_todos', "says": "Milk\nTea"}
    rows = [{**first, "most_model_calls": "2", "holder": "planner"}, {"message": "second", "calls": ""}]
    turns = [(f"turns[].{name}", value) for row in rows for name, value in row.items()]

    async def save(**fields: str) -> httpx.Response:
        content = urlencode([*{**whole, **fields}.items(), *turns])
        return await lab.post("/lab/sheet", content=content, headers=URLENCODED)

    assert (await save()).headers["hx-redirect"] == "/lab/runs"
    case = folder.read("cases", "list", Case)
    assert [str(call) for call in case.turns[0].expect.calls] == ["add_todos(items=['milk'])", "list_todos()"]
    assert (case.turns[0].expect.says, case.turns[1].user) == (("Milk", "Tea"), "second")
    assert (await save(about="Else")).status_code == 409
    assert (await save(is_kept="1")).status_code == 204
    table = (await lab.get("/lab/csv?sheet=cases")).content
    assert b"'=1+1" in table

    async def take(data: bytes, **fields: str) -> httpx.Response:
        return await lab.post("/lab/csv", data=fields, files={"table": ("cases.csv", data)})

    assert (await take(table)).status_code == 204
    assert (folder.read("cases", "list", Case), folder.read("cases", "kept", Case)) == (case, mocked)
    changed = b"case;message;says\nlist;hello;Hi\nnew;bye;Bye\n"
    refused = await take(changed)
    assert (refused.status_code, "would change: list" in refused.text, folder.names("cases")) == (
        409,
        True,
        ["kept", "list"],
    )
    assert (await take(changed, replace="yes")).status_code == 204
    assert folder.read("cases", "new", Case).turns[0].expect.says == ("Bye",)
    for wrong, words in (
        (b"\xff\xfe", "UTF-8"),
        (b"case,message,colour\nx,y,z", "no column 'colour'"),
        (b"case,says\nx,y", "case and message are needed"),
        (b"case,message,calls\nx,y,add_todos [1]", "Row 2, calls"),
        (b"case,message,most_model_calls\nx,y,many", "Row 2, most_model_calls"),
        (b"case,message\n../x,y", "small letters"),
        (b"case,message\n,y", "Row 2, case"),
        (b"case,message\n", "no row"),
    ):
        answer = await take(wrong, replace="yes")
        assert (answer.status_code, words in answer.text) == (409, True), answer.text
    assert folder.names("cases") == ["kept", "list", "new"]


async def test_simulated_users_as_a_table(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is a table of wishes by form and by CSV; what has no column stays; one without a wish is refused."""
    folder = lab_folder()
    assert "put milk on my list" in (await lab.get("/lab/user")).text
    fields = {"sheet": "users", "file": "milk", "lang": "en", "temper": "plain", "turns[].message": "add milk\nadd tea"}
    fields |= {"turns[].calls": "add_todos"}
    assert (await lab.post("/lab/sheet", data=fields)).headers["hx-redirect"] == "/lab/runs"
    kept = folder.read("users", "milk", SimulatedUser)
    assert (kept.wishes[0].says, str(kept.wishes[0].expect.calls[0])) == (("add milk", "add tea"), "add_todos()")
    expect = Expected(calls=kept.wishes[0].expect.calls, failed_tools=True)
    folder.write("users", "milk", SimulatedUser(wishes=(UserWish(says=kept.wishes[0].says, expect=expect),)))
    table = (await lab.get("/lab/csv?sheet=users")).content
    assert b"user,lang,goal,temper,model,message" in table

    async def take(data: bytes) -> httpx.Response:
        body = {"sheet": "users", "replace": "yes"}
        return await lab.post("/lab/csv", data=body, files={"table": ("users.csv", data)})

    assert (await take(table)).status_code == 204
    assert folder.read("users", "milk", SimulatedUser).wishes[0].expect.failed_tools
    goal = b"user;message;goal;model\nlate;;find out when it comes;openai:gpt-5-mini\n"
    assert (await take(goal)).status_code == 204
    assert folder.read("users", "late", SimulatedUser).goal == "find out when it comes"
    for wrong, words in (
        (b"user,message\nnew,", "a goal and a model"),
        (b"case,message\nx,y", "no column 'case'"),
        (b"user,message,calls\nx,y,add_todos [1]", "Row 2, calls"),
    ):
        answer = await take(wrong)
        assert (answer.status_code, words in answer.text) == (409, True), answer.text
    assert folder.names("users") == ["late", "milk"]


async def test_threads_by_the_page(assistant: Assistant) -> None:
    """A page ends with so many threads found, or read, and says where the next one begins; each is told once."""
    for number in range(4):
        async for _ in assistant.play(Turn(thread=f"t{number}", text="zebras" if number % 2 else "lions")):
            pass

    async def threads(words: str, **most: int) -> list[list[str]]:
        pages, query = list[list[str]](), ThreadQuery(words=words)
        while True:
            page = await ThreadSearch(assistant, query, **most).page()
            pages.append([info.thread for info in page.rows])
            if page.next is None:
                return pages
            query = ThreadQuery(words=words, before=page.next)

    assert await threads("", most_listed=2) == [["t3", "t2"], ["t1", "t0"], ["shop:ann"]]
    assert await threads("zebra", most_read=2) == [["t3"], ["t1"], []]


async def test_files_are_read_beside_the_loop(
    lab: httpx.AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that shows many files, or a long one, keeps nobody's answer waiting."""
    folder, threads = lab_folder(), list[threading.Thread]()
    folder.write("cases", "hello", Case(turns=(CaseTurn(user="hello"),)))
    folder.write("mocks", "clock", Mock(tool="current_time"))
    folder.write("runs", "one", LabRun(begun="2026-11-20", results=(CaseResult(case="hello", variant="as set"),)))

    def read(text: str, *, aliases: bool) -> object:
        threads.append(threading.current_thread())
        return read_yaml(text, aliases=aliases)

    monkeypatch.setattr("app.yaml_file.read_yaml", read)
    for path in ("runs", "run?name=one", "file?kind=cases&name=hello", "mocks", "mock?name=clock", "desk"):
        assert (await lab.get(f"/lab/{path}")).status_code == 200
    assert len(threads) == 5
    assert threading.main_thread() not in threads


@pytest.mark.needs("seat")
async def test_the_seat_leads_here(assistant: Assistant) -> None:
    """Whoever operates and may use the lab gets from a conversation of the seat to its page here; others do not."""
    keys = {"l" * 20: "operate+lab", "o" * 20: "operate"}
    listed = ", ".join(f"{scopes.partition('+')[2] or 'ops'}:{scopes}:{key}" for key, scopes in keys.items())
    async with served(assistant, listed) as url:
        for key, scopes in keys.items():
            async with httpx.AsyncClient(base_url=url, headers=BY_PAGE) as operator:
                await operator.post("/sign-in", data={"key": key})
                page = (await operator.get("/seat/talk/shop%3Aann")).text
            assert ('href="/lab/thread?name=shop%3Aann"' in page) == ("lab" in scopes)


async def test_time_travel(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Going back to a turn that is kept changes the thread; to another one it is refused."""
    body = {"name": "shop:ann", "turn": "1"}
    assert (await lab.post("/lab/thread/back", data=body)).headers["hx-redirect"].startswith("/lab/thread")
    history = await assistant.history("shop:ann")
    assert "turn 1" in history[-1].text
    assert (await lab.post("/lab/thread/back", data={**body, "turn": "7"})).status_code == 404


async def test_a_turn_is_gone_on_from(lab: httpx.AsyncClient) -> None:
    """A session of the desk, and a case, begin with a kept turn of a thread; another turn is refused."""
    body = {"name": "shop:ann", "turn": "2"}
    desk = await lab.post("/lab/thread/desk", data={**body, "turn": "1"})
    page = (await lab.get(desk.headers["hx-redirect"])).text
    assert 'href="/lab/thread?name=shop%3Aann"' in page
    assert "&lt;b&gt;milk" in page
    case = await lab.post("/lab/thread/case", data=body)
    assert "begins with" in (await lab.get(case.headers["hx-redirect"])).text
    for path in ("desk", "case"):
        assert (await lab.post(f"/lab/thread/{path}", data={**body, "turn": "9"})).status_code == 409


def _keys(entries: dict[str, Any], before: str = "") -> set[str]:
    inner = (_keys(value, f"{key}.") for key, value in entries.items() if isinstance(value, dict))
    return {f"{before}{key}" for key, value in entries.items() if isinstance(value, str)}.union(*inner)


def test_both_languages_say_the_same() -> None:
    """Every sentence of the lab is there in both languages; each that a template names is there, and none is idle."""
    english, russian = _keys(table("lab/phrases", "en")), _keys(table("lab/phrases", "ru"))
    assert english == russian
    sources = [
        path.read_text("utf-8") for path in [*TEMPLATES.rglob("*.html"), *Path("app/plugins/lab/pages").glob("*.py")]
    ]
    named = {key for text in sources for key in re.findall(r"""\bt(?:ext)?\(["']([\w.]*\w)["']""", text)}
    others = {call for text in sources for call in re.findall(r"\bt\(([^()]* else [^()]*)\)", text)}
    named |= {key for call in others for key in re.findall(r"""else ["']([\w.]+)["']""", call)}
    named = {key for key in named if not key.endswith("_")}
    assert named - english <= _keys(table("page", "en"))
    sections = {key for text in sources for key in re.findall(r"""\bt\(["'](\w+)\.["'] ~""", text)}
    sections |= {"new_case", "new_user", "cell_call", "cell_contradicts", "gate"}  # Not named by a template.
    idle = {key for key in english if key not in named and key.partition(".")[0] not in sections}
    assert idle == set()
    assert {f"part.{part}" for part in PARTS} | {f"about.{part}" for part in PARTS} <= english


async def _outcome(lab: httpx.AsyncClient, answer: httpx.Response) -> httpx.Response:
    """Wait for the outcome of some work, as the page does."""

    async def is_done() -> bool:
        nonlocal answer
        if address := re.search(r'hx-get="(/lab/work\?id=\w+)"', answer.text):
            answer = await lab.get(address[1])
        return address is None

    await until(is_done)
    return answer


async def test_a_case_is_made_run_and_judged(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A thread becomes a case, two variants are compared, and a person judges a result; what is wrong is said."""
    made = await lab.post("/lab/cases/from-thread", data={"name": "shop:ann"})
    assert made.headers["hx-redirect"] == "/lab/case?name=shop-ann"
    assert "what is on my list?" in (await lab.get("/lab/case?name=shop-ann")).text
    assert '<datalist id="models"><option>local:rules</option></datalist>' in (await lab.get("/lab/runs")).text
    choice = {"cases[]": "shop-ann", "variants.A.model": "local:rules", "variants.B.direct_switch": "no", "times": "1"}
    choice["id"] = "given-by-the-page"
    ran = await _outcome(lab, await lab.post("/lab/runs", data=choice))
    address = ran.headers["hx-redirect"]
    assert re.search("[12] / 1|1 / 1", (await lab.get(address)).text)
    file = address.partition("name=")[2]
    judged = await lab.post("/lab/run/judge", data={"file": file, "place": "1", "verdict": "bad"})
    assert judged.text.count('aria-pressed="true"') == 1
    assert lab_folder().read("runs", file, LabRun).results[1].person is False
    assert (await lab.post("/lab/run/judge", data={"file": file, "place": "9", "verdict": "bad"})).status_code == 409
    often = await lab.post("/lab/runs", data={**choice, "times": "often"}, headers={"Accept-Language": "ru"})
    assert (often.status_code, often.text[:18]) == (409, "нужно целое число,")
    assert json.loads(often.headers["x-misfit"]) == ["times"]
    assert "judges nothing" in (await lab.post("/lab/runs", data={**choice, "judge": "local:x"})).text
    absent = await _outcome(lab, await lab.post("/lab/runs", data={**choice, "cases[]": "nothing"}))
    assert "there is no" in absent.text
    wrong = await lab.post("/lab/file", data={"kind": "cases", "file": "../../x", "text": "turns: [{user: a}]"})
    assert (wrong.status_code, "small letters" in wrong.text) == (409, True)
    assert (await lab.post("/lab/file", data={"kind": "cases", "file": "x", "text": "turns: 5"})).status_code == 409
    deep = await lab.post("/lab/file", data={"kind": "cases", "file": "x", "text": "[" * 100_000 + "]" * 100_000})
    assert deep.status_code == 409
    assert (await lab.post("/lab/delete", data={"name": "shop-ann", "kind": "cases"})).status_code == 204
    assert lab_folder().names("cases") == []


async def test_simulated_users_talk(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is written on the page and talks; what was found is shown, and its case is kept."""
    text = "wishes:\n- says: ['what time is it?']\n  expect: {never_calls: [current_time]}\n"
    assert (await lab.post("/lab/file", data={"kind": "users", "file": "clock", "text": text})).status_code == 204
    body = {"users[]": "clock", "talks": "2", "turns": "1"}
    shown = (await _outcome(lab, await lab.post("/lab/simulation", data=body))).text
    assert "current_time was called" in shown
    assert lab_folder().names("cases") == ["found-current-time-was-called"]
    assert (await lab.post("/lab/simulation", data={**body, "talks": "x"})).status_code == 409


async def test_a_mock_by_form(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A mock is made by the form, tried, listed, and recorded from a thread; it can be deleted."""
    body = {"tool": "depot_weather", "description": "Used for <b>weather</b>.", "parameters[].name": "city"}
    body |= {"parameters[].required": "yes", "outcomes[].when:json": '{"city": "Riga"}', "outcomes[].kind": "object"}
    body |= {"outcomes[].value": '{"degrees": -3}', "outcomes[].seconds": "0"}
    assert "degrees" in (await lab.post("/lab/mock/try", data={**body, "args:json": '{"city": "Riga"}'})).text
    assert "none fits" in (await lab.post("/lab/mock/try", data={**body, "args:json": "{}"})).text
    broken = await lab.post("/lab/mock/try", data={**body, "outcomes[].when:json": "{"})
    assert (broken.status_code, json.loads(broken.headers["x-misfit"])) == (409, ["outcomes", 0, "when"])
    assert broken.text.startswith("JSON is needed")
    assert (await lab.post("/lab/mock", data=body)).status_code == 204
    listed = (await lab.get("/lab/mocks")).text
    assert "depot-weather" in listed
    assert "a tool that does not exist" in listed
    page = (await lab.get("/lab/mock?name=depot-weather")).text
    assert "<b>weather" not in page
    folder, view = lab_folder(), {"kind": "table", "title": 'a "<b>"'}
    folder.write("mocks", "seen", Mock(tool="seen", outcomes=(MockOutcome(text="ok", view=view),)))
    [kept] = re.findall(r'name="outcomes\[\].view:json" value="([^"]+)"', (await lab.get("/lab/mock?name=seen")).text)
    again = {"file": "seen", "tool": "seen", "outcomes[].kind": "text", "outcomes[].value": "yes"}
    assert (await lab.post("/lab/mock", data={**again, "outcomes[].view:json": unescape(kept)})).status_code == 204
    assert folder.read("mocks", "seen", Mock).outcomes == (MockOutcome(text="yes", view=view),)
    assert 'value="{&#34;city&#34;: &#34;Riga&#34;}"' in page
    assert (await lab.post("/lab/mocks/from-thread", data={"name": "shop:ann"})).status_code == 204
    assert "list-todos" in lab_folder().names("mocks")
    assert (await lab.post("/lab/delete", data={"kind": "mocks", "name": "depot-weather"})).status_code == 204
    assert (await lab.get("/lab/mock?name=depot-weather")).status_code == 409


async def test_an_agent_belongs_to_its_maker(assistant: Assistant, settings: Settings) -> None:
    """An agent is made, tried and compared by its maker; another key does not see it until it is shared."""
    body = {"file": "clerk", "description": "depots", "prompt.en": "You <b>help</b>.", "tools[]": "current_time"}
    async with visiting(assistant, settings, LAB) as tutor:
        assert (await tutor.post("/lab/agent", data=body)).status_code == 204
        assert (await tutor.post("/lab/agent", data={**body, "prompt.en": "You help more."})).status_code == 204
        assert "+  en: You help more." in (await tutor.get("/lab/agent/changes?name=clerk&old=1&new=2")).text
        assert "<b>help" not in (await tutor.get("/lab/agent?name=clerk&version=1")).text
        answer = await tutor.post("/lab/trial/clerk/messages", data={"text": "what time is it?", "id": "message-1"})
        [stream] = re.findall(r'sse-connect="([^"]+)"', answer.text)
        assert "event: over" in (await tutor.get(stream)).text
        live = (await tutor.get("/lab/trial/clerk/trace")).text
        assert "supervisor.current_time()" in live
        [number] = re.findall(r"seen=(\d+)", live)
        assert (await tutor.get(f"/lab/trial/clerk/trace?seen={number}")).status_code == 204
        assert (await tutor.post("/lab/agent", data={**body, "file": "../x"})).status_code == 409
        assert (await tutor.post("/lab/agent", data={**body, "tools[]": "no_tool"})).status_code == 409
    async with visiting(assistant, settings, OTHER_LAB) as other:
        assert "clerk" not in (await other.get("/lab/agents")).text
        for path in ("/lab/agent?name=clerk", "/lab/trial/clerk/trace", "/lab/trial/clerk/answer?id=message-1"):
            assert (await other.get(path)).status_code == 409
        for path in ("/lab/agent/share", "/lab/agent/delete"):
            assert (await other.post(path, data={"file": "clerk"})).status_code == 409
    async with visiting(assistant, settings, LAB) as tutor:
        assert (await tutor.post("/lab/agent/share", data={"file": "clerk"})).status_code == 204
    async with visiting(assistant, settings, OTHER_LAB) as other:
        assert "clerk" in (await other.get("/lab/agents")).text
        assert (await other.post("/lab/agent/share", data={"file": "clerk", "take_back": "1"})).status_code == 409


async def test_a_card_is_edited_as_a_draft(lab: httpx.AsyncClient, settings: Settings) -> None:
    """The effect of another text is shown; a draft stays in the lab's folder, and no name leads out of it."""
    body = {"kind": "card", "name": "list_todos", "lang": "en", "text": "Show <b>it</b>.\n- what is on my list\n"}
    assert "Find it as before" in (await lab.post("/lab/tool/effect", data=body)).text
    assert (await lab.post("/lab/text", data=body)).status_code == 204
    assert (lab_folder().root / "cards" / "en" / "list_todos.md").read_text("utf-8") == body["text"]
    page = (await lab.get("/lab/tool?name=list_todos&lang=en")).text
    assert "&lt;b&gt;it" in page
    assert ">draft<" in page
    assert "list_todos" in (await lab.get("/lab/tools")).text
    assert (await lab.post("/lab/tool/effect", data={**body, "text": "- {nothing}"})).status_code == 409
    for wrong in ({"name": "../x"}, {"lang": "../en"}, {"lang": "xx"}):
        assert (await lab.post("/lab/text", data={**body, **wrong})).status_code == 409


async def test_prompts_and_cards_are_made_live(assistant: Assistant, settings: Settings, house: Path) -> None:
    """Whoever operates lets everybody have a text, at once for prompts; who changed what is shown, and put back."""
    file, card = house / "en/planner/prompt.md", card_file("current_time", "en")
    before, text = file.read_text("utf-8"), "You keep <b>lists</b>."
    body = {"kind": "prompt", "name": "planner", "lang": "en", "text": text}
    on_card = {**body, "kind": "card", "name": "current_time", "text": "The clock.\n- what does the clock say\n"}
    async with visiting(assistant, settings, LAB) as tutor:
        assert (await tutor.post("/lab/text", data=body)).status_code == 204
        assert (await tutor.post("/lab/text", data={**body, "live": "true"})).status_code == 403
        assert "Make it live" not in (await tutor.get("/lab/prompt?name=planner&lang=en")).text
    assert file.read_text("utf-8") == before
    keys = f"boss:operate+lab:{LAB}, tutor:lab:{OTHER_LAB}"
    async with (
        served(assistant, keys, settings=settings) as url,
        httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=60) as boss,
    ):
        await boss.post("/sign-in", data={"key": LAB})
        page = (await boss.get("/lab/prompt?name=planner&lang=en")).text
        assert "You keep &lt;b&gt;lists" in page
        tried = (await boss.post("/lab/prompt/try", data={**body, "said": "add milk to my list"})).text
        assert "planner.add_todos" in tried
        for wrong in ({"text": "Hi $you"}, {"text": ""}, {"name": "nobody"}, {"name": "../planner"}):
            assert (await boss.post("/lab/text", data={**body, **wrong, "live": "true"})).status_code == 409
        for each in (body, on_card):
            assert (await boss.post("/lab/text", data={**each, "live": "true"})).status_code == 204
        assert (file.read_text("utf-8"), card.read_text("utf-8")) == (text, on_card["text"])
        assert assistant.prompt("planner", "en").endswith(text)
        listed = (await boss.get("/lab/tools")).text
        assert "boss, 20" in listed
        assert "+The clock." in listed
        [change] = [name for name in lab_folder().names("changes") if name.endswith("planner")]
        await boss.post("/sign-in", data={"key": OTHER_LAB})
        assert "boss, 20" in (await boss.get("/lab/tools")).text
        assert (await boss.post("/lab/text/back", data={"change": change})).status_code == 403
        await boss.post("/sign-in", data={"key": LAB})
        assert (await boss.post("/lab/text/back", data={"change": change})).status_code == 204
        assert (await boss.post("/lab/text/back", data={"change": "../x"})).status_code == 409
    assert file.read_text("utf-8") == before
    assert not assistant.prompt("planner", "en").endswith(text)
    assert len(lab_folder().names("changes")) == 3
