"""A user's long-term memory over HTTP."""

import httpx
import pytest

from app.assistant import Assistant
from app.testing.script import Call, Script
from tests.support.http_door import OTHER, SHOP, by, served

pytestmark = pytest.mark.needs("recall", "planner")


async def test_the_memory_of_a_user_is_read_and_deleted(assistant: Assistant, script: Script) -> None:
    """A stopped thread's memory stays, for its own key alone; deleted memory does not come back."""
    keys = f"shop:talk:{SHOP}, other:talk:{OTHER}"
    script.add(supervisor=[Call("plan_things", {"brief": "-"})])
    script.add(planner=[Call("add_todos", {"items": ["buy paint"]}), "It is on the list."])
    async with served(assistant, keys) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        client.headers.update(by(SHOP))
        await client.post("/threads/t/turns", json={"text": "put paint on my list", "user": "ann"})
        assert (await client.get("/users/ann/memory")).json()["memory"] == []
        for _ in range(2):
            assert (await client.post("/threads/t/stop", json={})).status_code == 200
            [entry] = (await client.get("/users/ann/memory")).json()["memory"]
            assert "buy paint" in entry["text"]
            assert (entry["thread"], entry["turn"], entry["dialog"]) == ("t", 1, "planner")
        for path, key in (("/users/bob/memory", SHOP), ("/users/ann/memory", OTHER)):
            assert (await client.get(path, headers=by(key))).json()["memory"] == []
        assert (await client.delete("/users/ann/memory", headers=by(OTHER))).status_code == 200
        assert len((await client.get("/users/ann/memory")).json()["memory"]) == 1
        assert (await client.delete("/users/ann/memory")).json() == {"forgotten": True}
        await client.post("/threads/t/stop", json={})
        assert (await client.get("/users/ann/memory")).json()["memory"] == []
