"""The pages on runs: cases and simulated users as tables, by form and by CSV; played and judged."""

import json
import os
import re
from urllib.parse import urlencode

import httpx
import pytest

from app.assistant import Assistant
from app.plugins.lab.case_table import keep_table
from app.plugins.lab.cases import Case, CaseTurn, Expected
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.mocks import Mock
from app.plugins.lab.runs import LabRun
from app.plugins.lab.simulation import SimulatedUser, UserWish
from app.settings import Settings
from tests.plugins.lab.pages.conftest import outcome

pytestmark = pytest.mark.needs("planner", "standin")
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


async def test_cases_as_a_table(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """A case is a table of turns, handed out as CSV and taken back; nothing is replaced unasked, or by halves."""
    folder = lab_folder()
    mocked = Case(turns=(CaseTurn(user="hi", expect=Expected(trace="hello")),), mocks=(Mock(tool="current_time"),))
    folder.write("cases", "kept", mocked)
    case_fields = {
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
        content = urlencode([*{**case_fields, **fields}.items(), *turns])
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
        (b"case,message,calls\nx,y,add_todoz {}", "Row 2, calls: nothing here is called 'add_todoz'"),
        (b"case,message,holder\nx,y,nobody", "Row 2, holder"),
        (b"case,message,lang\nx,y,xx", "Row 2, lang"),
        (b"case,message\n../x,y", "small letters"),
        (b"case,message\n,y", "Row 2, case"),
        (b"case,message\n", "no row"),
    ):
        answer = await take(wrong, replace="yes")
        assert (answer.status_code, words in answer.text) == (409, True), answer.text
    (folder.root / f"cases/.second.yaml.{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="second"):
        keep_table(
            folder, assistant.speakers, "cases", [{"case": name, "message": "hello"} for name in ("first", "second")]
        )
    assert folder.names("cases") == ["kept", "list", "new"]


async def test_simulated_users_as_a_table(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is a table of wishes by form and by CSV; fields without a column stay; one without a wish is refused."""
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


async def test_a_case_is_made_run_and_judged(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A thread becomes a case, two variants are compared, and a person judges a result; faults are told."""
    made = await lab.post("/lab/cases/from-thread", data={"name": "shop:ann"})
    assert made.headers["hx-redirect"] == "/lab/case?name=shop-ann"
    assert "what is on my list?" in (await lab.get("/lab/case?name=shop-ann")).text
    assert '<datalist id="models"><option>local:rules</option></datalist>' in (await lab.get("/lab/runs")).text
    choice = {"cases[]": "shop-ann", "variants.A.model": "local:rules", "variants.B.direct_switch": "no", "times": "1"}
    choice["id"] = "given-by-the-page"
    ran = await outcome(lab, await lab.post("/lab/runs", data=choice))
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
    absent = await outcome(lab, await lab.post("/lab/runs", data={**choice, "cases[]": "nothing"}))
    assert "there is no" in absent.text
    wrong = await lab.post("/lab/file", data={"kind": "cases", "file": "../../x", "text": "turns: [{user: a}]"})
    assert (wrong.status_code, "small letters" in wrong.text) == (409, True)
    assert (await lab.post("/lab/file", data={"kind": "cases", "file": "x", "text": "turns: 5"})).status_code == 409
    deep = await lab.post("/lab/file", data={"kind": "cases", "file": "x", "text": "[" * 100_000 + "]" * 100_000})
    assert deep.status_code == 409
    assert (await lab.post("/lab/delete", data={"name": "shop-ann", "kind": "cases"})).status_code == 204
    assert lab_folder().names("cases") == []


async def test_simulated_users_talk(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is written on the page and talks; the findings are shown, and its case is kept."""
    text = "wishes:\n- says: ['what time is it?']\n  expect: {never_calls: [current_time]}\n"
    assert (await lab.post("/lab/file", data={"kind": "users", "file": "clock", "text": text})).status_code == 204
    body = {"users[]": "clock", "talks": "2", "turns": "1"}
    shown = (await outcome(lab, await lab.post("/lab/simulation", data=body))).text
    assert "current_time was called" in shown
    assert lab_folder().names("cases") == ["found-current-time-was-called"]
    assert (await lab.post("/lab/simulation", data={**body, "talks": "x"})).status_code == 409
