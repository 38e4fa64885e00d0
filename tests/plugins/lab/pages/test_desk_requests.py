"""The desk's pages, played by requests."""

import json

import httpx
import pytest

from app.plugins.lab.folder import lab_folder
from app.settings import Settings

pytestmark = pytest.mark.needs("planner", "orders")
NEW = {"file": "bottle", "lang": "en", "user": "me", "device": "terminal"}


@pytest.mark.needs("standin")
async def test_a_session_by_requests(lab: httpx.AsyncClient, settings: Settings) -> None:
    """A session is begun, played, taken a step back, exported and deleted; faults are told."""

    async def post(path: str, **fields: str) -> httpx.Response:
        return await lab.post(f"/lab/desk/{path}", data={"name": "bottle", **fields})

    assert (await lab.post("/lab/desk", data={**NEW, "lang": "xx"})).status_code == 422
    begun = await lab.post("/lab/desk", data={**NEW, "about": "<b>bottle</b>"})
    assert begun.headers["hx-redirect"] == "/lab/desk/session?name=bottle"
    assert "&lt;b&gt;bottle" in (await lab.get("/lab/desk")).text
    asked = (await post("say", text="which <i>order</i> has the bottle?")).text
    assert "supervisor is asked" in asked
    assert "<i>" not in asked
    assert 'name="calls[].args.brief"' in asked
    assert (await post("say", text="and?")).status_code == 409
    assert (await post("reply")).status_code == 409
    assert (await post("reply", **{"calls[].tool": "rm_rf"})).status_code == 409
    assert (
        "orders is asked"
        in (await post("reply", **{"calls[].tool": "handle_orders", "calls[].args.brief": "the bottle"})).text
    )
    wrong = await post("reply", **{"calls[].tool": "list_orders", "calls[].args.page": "first"})
    assert json.loads(wrong.headers["x-misfit"]) == ["calls", 0, "args", "page"]
    assert wrong.text.startswith("JSON is needed")
    assert "Water Bottle" in (await post("reply", **{"calls[].tool": "list_orders", "calls[].args.page": "1"})).text
    assert "D1001" in (await post("reply", text="The first one.")).text
    assert "orders is asked" in (await post("back", steps="3")).text
    assert "D1001" in (await post("reply", text="It is the first one.")).text
    exported = await lab.get("/lab/desk/export?name=bottle&form=jsonl")
    assert "bottle.jsonl" in exported.headers["content-disposition"]
    assert [json.loads(line)["messages"][-1]["role"] for line in exported.text.splitlines()] == ["assistant"] * 3
    test = await lab.get("/lab/desk/export?name=bottle&form=test")
    assert "device='terminal'" in test.text
    deleted = await lab.post("/lab/delete", data={"kind": "desk", "name": "bottle"})
    assert deleted.headers["hx-redirect"] == "/lab/desk"
    assert lab_folder().names("desk") == []
    assert (await lab.get("/lab/desk/session?name=bottle")).status_code == 409
