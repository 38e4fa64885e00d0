"""The pages on which mocks, agents, cards and prompts are written."""

import json
import re
from html import unescape
from pathlib import Path

import httpx
import pytest

from app.assistant import Assistant
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.mocks import Mock, MockOutcome
from app.settings import Settings
from prompts import card_file
from tests.plugins.lab.pages.conftest import BY_PAGE, LAB, OTHER_LAB, visiting
from tests.support.http_door import calling

pytestmark = pytest.mark.needs("planner", "standin")


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
    """An operator makes a text live for everybody, at once for prompts; the page shows each change with a way back."""
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
    async with calling(assistant, keys, settings=settings, headers=BY_PAGE) as boss:
        await boss.post("/sign-in", data={"key": LAB})
        page = (await boss.get("/lab/prompt?name=planner&lang=en")).text
        assert "You keep &lt;b&gt;lists" in page
        assert ">Help me plan my day</textarea>" in page
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
