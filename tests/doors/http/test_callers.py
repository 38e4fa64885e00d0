"""Who may call over HTTP, for what, and how much; what is wrong is told in one form."""

from collections.abc import AsyncIterator

import httpx
import pytest

from agents.errors import ConfigError
from agents.models.script import Script
from app.api_keys import read_keys
from app.assistant import Assistant
from app.doors.http.service import serve
from app.settings import Settings
from tests.support.http_door import KEYS, OPERATOR, OTHER, SHOP, by, served

HELLO = {"text": "hello"}
PATHS = (
    ("GET", "/threads"),
    ("POST", "/threads/x/turns"),
    ("POST", "/threads/x/answers"),
    ("POST", "/threads/x/cancel"),
    ("POST", "/threads/x/undo"),
    ("POST", "/threads/x/say"),
    ("POST", "/threads/x/stop"),
    ("GET", "/threads/x"),
    ("GET", "/threads/x/memory"),
    ("GET", "/threads/x/export"),
    ("DELETE", "/threads/x"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
)


async def test_every_path_wants_a_key(assistant: Assistant) -> None:
    """Without a key, with a wrong one and with one of another scope nothing is served; whoever asks is told why."""
    async with (
        served(assistant, f"{KEYS}, lab:lab:{'l' * 20}") as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        for method, path in PATHS:
            bare = await client.request(method, path)
            wrong = await client.request(method, path, headers=by("w" * 20))
            lab = await client.request(method, path, headers=by("l" * 20))
            assert [answer.status_code for answer in (bare, wrong, lab)] == [401, 401, 403], path
            assert bare.json()["error"]["code"] == "no_key"
            assert bare.headers["www-authenticate"] == "Bearer"
        assert (await client.get("/healthz")).text == (await client.get("/readyz")).text == "ok"


async def test_callers_do_not_meet(assistant: Assistant, script: Script) -> None:
    """What one key's threads are called is nothing to another key; whoever operates sees all of them."""
    script.add(supervisor=["One.", "Two."])
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        mine = await client.post("/threads/ann/turns", json=HELLO, headers=by(SHOP))
        assert {event["thread"] for event in mine.json()["events"]} == {"ann"}
        assert (await client.get("/threads/ann", headers=by(OTHER))).status_code == 404
        assert (await client.get("/threads/shop:ann", headers=by(OTHER))).status_code == 404
        theirs = await client.post("/threads/ann/turns", json=HELLO, headers=by(OTHER))
        assert theirs.json()["message"] == "Two."
        listed = {
            key: [info["thread"] for info in (await client.get("/threads", headers=by(key))).json()["threads"]]
            for key in (SHOP, OTHER, OPERATOR)
        }
        assert listed == {SHOP: ["ann"], OTHER: ["ann"], OPERATOR: ["other:ann", "shop:ann"]}


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/threads/x/turns", b"{", 422),
        ("/threads/x/turns", b'{"text": "\xff"}', 400),
        ("/threads/x/turns", b'{"text": "hello", "more": 1}', 422),
        ("/threads/x/turns", b'{"text": 1}', 422),
        ("/threads/x/turns", b'{"text": "hello", "lang": "../en"}', 422),
        ("/threads/x/turns", b'{"text": "%s"}' % (b"a" * 1_000_001), 413),
        ("/threads/x/turns", b"[" * 100_000, 400),
        ("/threads/x%00y/turns", b'{"text": "hello"}', 422),
        (f"/threads/{'x' * 201}/turns", b'{"text": "hello"}', 422),
        ("/threads/../../etc/turns", b'{"text": "hello"}', 404),
        ("/nowhere", b"{}", 404),
    ],
)
async def test_faults_of_a_request(client: httpx.AsyncClient, path: str, content: bytes, status: int) -> None:
    """Every refusal has the same form: of a broken, too large or too deep body, and of an unknown path."""
    answer = await client.post(path, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, {*answer.json()["error"]}) == (status, {"code", "message"})


async def test_a_body_of_unknown_length_is_bounded(client: httpx.AsyncClient) -> None:
    """A body that comes in pieces is counted as it comes."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(1_100):
            yield b"a" * 1_000

    answer = await client.post("/threads/x/turns", content=pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"host": "evil.example:8000"}, 403),
        ({"host": "localhost:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
    ],
)
async def test_pages_of_other_sites(client: httpx.AsyncClient, headers: dict[str, str], status: int) -> None:
    """Without keys only this machine is served: no page of another site, under whatever name it calls."""
    assert (await client.get("/threads", headers=headers)).status_code == status


async def test_every_answer_has_a_number(client: httpx.AsyncClient) -> None:
    """A request's own id comes back; one that could not stand in a log is replaced."""
    assert (await client.get("/healthz", headers={"x-request-id": "a-1"})).headers["x-request-id"] == "a-1"
    assert (await client.get("/healthz", headers={"x-request-id": "a b\\n"})).headers["x-request-id"] != "a b\\n"


async def test_what_is_counted(client: httpx.AsyncClient) -> None:
    """Requests are counted by their path's form, so that no name of a thread is told."""
    await client.get("/threads/secret-name")
    text = (await client.get("/metrics")).text
    assert 'http_requests_total{method="GET",path="/threads/{thread}",status="404"} 1.0' in text
    assert "secret-name" not in text


async def test_the_description_has_every_event(client: httpx.AsyncClient) -> None:
    """Whoever reads the OpenAPI description finds every event with its fields."""
    schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]
    kinds = {
        schema["properties"]["type"].get("const")
        for schema in schemas.values()
        if "type" in schema.get("properties", {})
    }
    assert {"turn.start", "token", "tool.end", "interrupt", "view", "message", "turn.end"} <= kinds


@pytest.mark.parametrize(
    "text",
    ["shop", "shop:talk", "shop:talk:short", f"shop:sing:{SHOP}", f"a:talk:{SHOP}, a:talk:{OTHER}", f"a b:talk:{SHOP}"],
)
def test_keys_that_are_not_written_so(text: str) -> None:
    """A key that cannot be read is a fault that quotes none."""
    with pytest.raises(ValueError, match="key") as fault:
        read_keys(text)
    assert SHOP not in str(fault.value)


async def test_others_are_not_served_without_keys() -> None:
    """Whoever listens on other addresses must set keys."""
    with pytest.raises(ConfigError, match="API_KEYS"):
        await serve(Settings(_env_file=None), "0.0.0.0", 0)
