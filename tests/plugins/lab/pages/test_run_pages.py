"""The pages on runs: cases and simulated users by form; played and judged."""

import json
import re
from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from app.plugins.lab.cases import Case, CaseTurn, Expected
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.mocks import Mock
from app.plugins.lab.runs import LabRun
from app.plugins.lab.simulation import SimulatedUser
from app.settings import Settings
from tests.plugins.lab.pages.conftest import outcome

pytestmark = pytest.mark.needs("planner", "standin")
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


async def test_a_case_by_form(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A case is written by the form of its turns; what has no field stays, and no other file is replaced."""
    folder, mocks = lab_folder(), (Mock(tool="current_time"),)
    folder.write("cases", "kept", Case(turns=(CaseTurn(user="hi", expect=Expected(trace="hello")),), mocks=mocks))
    fields = {"file": "list", "about": "The list", "lang": "en", "criterion": "It is short.\nIt is polite."}
    calls = 'add_todos {"items": ["milk"]}\r\nlist_todos'
    turns = [("user", "add milk"), ("expect.calls:lines", calls), ("expect.says:lines", "Milk\nTea")]
    turns += [("expect.most_model_calls", "2"), ("expect.holder", "planner"), ("user", "second")]

    async def save(*more: tuple[str, str], **changed: str) -> httpx.Response:
        rows = [(f"turns[].{name}", value) for name, value in (*turns, *more)]
        content = urlencode([*{**fields, **changed}.items(), *rows])
        return await lab.post("/lab/case", content=content, headers=URLENCODED)

    assert (await save()).headers["hx-redirect"] == "/lab/runs"
    first, second = folder.read("cases", "list", Case).turns
    assert [str(call) for call in first.expect.calls] == ["add_todos(items=['milk'])", "list_todos()"]
    assert (first.expect.says, second.user) == (("Milk", "Tea"), "second")
    assert calls.replace("\r", "") in unescape((await lab.get("/lab/case?name=list")).text)
    assert "would change: list" in (await save(about="Else")).text
    assert (await save(is_kept="1")).status_code == 204
    page = unescape((await lab.get("/lab/case?name=kept")).text)
    assert 'name="turns[].expect.trace" rows="1" maxlength="20000">hello<' in page
    assert (await save(("expect.trace", "hello\r\nthere"), file="kept", is_kept="1")).status_code == 204
    kept = folder.read("cases", "kept", Case)
    assert (kept.mocks, kept.turns[1].expect.trace) == (mocks, "hello\nthere")
    for wrong, place, words in (
        (("expect.calls:lines", "add_todos ["), ["turns", 1, "expect", "calls", 0], "a tool is needed"),
        (("expect.calls:lines", "add_todoz"), ["turns", 1, "expect", "calls"], "nothing here is called 'add_todoz'"),
        (("expect.holder", "nobody"), ["turns", 1, "expect", "holder"], "nobody"),
        (("expect.most_model_calls", "many"), ["turns", 1, "expect", "most_model_calls"], "a whole number"),
    ):
        answer = await save(wrong, file="new")
        assert (answer.status_code, words in answer.text) == (409, True), answer.text
        assert json.loads(answer.headers["x-misfit"]) == place
    assert (await save(file="../x")).status_code == 409
    assert folder.names("cases") == ["kept", "list"]


async def test_a_simulated_user_by_form(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is written by the form of their wishes, or has a goal; one without either is refused."""
    folder = lab_folder()
    assert "put milk on my list" in (await lab.get("/lab/user")).text
    fields = {"file": "milk", "lang": "en", "temper": "plain", "wishes[].says:lines": "add milk\nadd tea"}
    fields |= {"wishes[].expect.calls:lines": "add_todos", "wishes[].expect.failed_tools": "true"}
    assert (await lab.post("/lab/user", data=fields)).headers["hx-redirect"] == "/lab/runs"
    [wish] = folder.read("users", "milk", SimulatedUser).wishes
    assert (wish.says, str(wish.expect.calls[0])) == (("add milk", "add tea"), "add_todos()")
    assert 'failed_tools" value="true"' in (await lab.get("/lab/user?name=milk")).text
    goal = {"file": "late", "lang": "en", "goal": "find out when it comes"}
    assert "a goal and a model" in (await lab.post("/lab/user", data=goal)).text
    assert (await lab.post("/lab/user", data={**goal, "model": "local:rules"})).status_code == 204
    assert folder.read("users", "late", SimulatedUser).goal == "find out when it comes"


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
    assert (await lab.post("/lab/delete", data={"name": "shop-ann", "kind": "cases"})).status_code == 204
    assert lab_folder().names("cases") == []


async def test_simulated_users_talk(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A user is written on the page and talks; the findings are shown, and its case is kept."""
    wish = {"wishes[].says:lines": "what time is it?", "wishes[].expect.never_calls:lines": "current_time"}
    assert (await lab.post("/lab/user", data={"file": "clock", "lang": "en", **wish})).status_code == 204
    body = {"users[]": "clock", "talks": "2", "turns": "1"}
    shown = (await outcome(lab, await lab.post("/lab/simulation", data=body))).text
    assert "current_time was called" in shown
    assert lab_folder().names("cases") == ["found-current-time-was-called"]
    assert (await lab.post("/lab/simulation", data={**body, "talks": "x"})).status_code == 409
