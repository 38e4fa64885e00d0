"""The seat on the page: for whom it is there, and under which name one sits."""

import re

import httpx
import pytest

from app.assistant import Assistant
from app.testing.script import Script
from tests.support import takeover
from tests.support.http_door import OPERATOR, SHOP
from tests.support.page_visits import BY_PAGE, said, visiting

ATTACK = "<script>alert(1)</script>\"'><b>"


@pytest.mark.needs("page")
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


@pytest.mark.needs("page")
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
