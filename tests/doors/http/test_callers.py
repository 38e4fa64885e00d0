"""Callers over HTTP, their scopes and their limits; all errors have one form."""

import hmac
import re
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from agents.errors import ConfigError
from app.assistant import Assistant
from app.doors.http.service import serve
from app.security.api_keys import holder_of, read_keys
from app.settings import Settings
from app.testing.script import Script
from tests.support.compiled import specialists
from tests.support.http_door import KEYS, OPERATOR, OTHER, SHOP, by, served

HELLO = {"text": "hello"}
NEEDED = {
    "GET /healthz": "nothing",
    "GET /readyz": "nothing",
    "GET /metrics": "nothing",
    "GET /threads": "talk",
    "GET /threads/{thread}": "talk",
    "DELETE /threads/{thread}": "talk",
    "GET /threads/{thread}/memory": "talk",
    "GET /threads/{thread}/events": "talk",
    "GET /threads/{thread}/export": "talk",
    "GET /threads/{thread}/system_messages": "operate",
    "PUT /threads/{thread}/system_messages": "operate",
    "POST /threads/{thread}/turns": "talk",
    "POST /threads/{thread}/answers": "talk",
    "POST /threads/{thread}/cancel": "talk",
    "POST /threads/{thread}/undo": "talk",
    "POST /threads/{thread}/say": "operate",
    "POST /threads/{thread}/stop": "talk",
    "GET /users/{user}/memory": "talk",
    "DELETE /users/{user}/memory": "talk",
}
"""The scope that each path wants."""
OF_PLUGINS = {
    "agui": {"POST /agui": "talk"},
    "openai_api": {
        "GET /v1/models": "talk",
        "GET /v1/models/{id}": "talk",
        "POST /v1/chat/completions": "talk",
        "POST /v1/responses": "talk",
    },
    "a2a": {"GET /.well-known/agent-card.json": "nothing", "POST /a2a": "talk"},
}
"""Those of the paths of plug-ins."""
for name in OF_PLUGINS.keys() & specialists().keys():
    NEEDED |= OF_PLUGINS[name]

LAB = "l" * 20
PASSES = 0
REFUSALS = {
    "nothing": {"": PASSES, "w" * 20: PASSES, LAB: PASSES, SHOP: PASSES, OPERATOR: PASSES},
    "talk": {"": 401, "w" * 20: 401, LAB: 403, SHOP: PASSES, OPERATOR: PASSES},
    "operate": {"": 401, "w" * 20: 401, LAB: 403, SHOP: 403, OPERATOR: PASSES},
}
"""The refusal of each key by scope; every other answer comes from the path itself."""


async def test_every_path_wants_its_scope(assistant: Assistant) -> None:
    """Each path that is described stands in the table; each key, none and a wrong one pass as the table says."""
    async with (
        served(assistant, f"{KEYS}, lab:lab:{LAB}") as url,
        httpx.AsyncClient(base_url=url, timeout=300) as client,
    ):
        paths = (await client.get("/openapi.json")).json()["paths"]
        assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} == {*NEEDED}
        for asked, scope in NEEDED.items():
            method, path = asked.split()
            for key, refusal in REFUSALS[scope].items():
                headers = by(key) if key else {}
                # The stream of events has no end: no more is read than what was decided.
                async with client.stream(method, path.format(thread="x", user="x", id="x"), headers=headers) as answer:
                    is_refused = answer.status_code in (401, 403)
                    assert (answer.status_code if is_refused else PASSES) == refusal, (asked, key)
                    if is_refused:
                        await answer.aread()
                if is_refused:
                    assert answer.json()["error"]["code"] == {401: "no_key", 403: "forbidden"}[refusal]


@pytest.mark.parametrize(("secret", "holder"), [(SHOP, "shop"), (OPERATOR, "ops"), ("w", None)])
def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch, secret: str, holder: str | None) -> None:
    """A key is held against every key there is, as digests of one length, by the comparison for secrets."""
    lengths: list[int] = []

    def compare(first: bytes, second: bytes, compare: Callable[[bytes, bytes], bool] = hmac.compare_digest) -> bool:
        lengths.extend((len(first), len(second)))
        return compare(first, second)

    monkeypatch.setattr("app.security.api_keys.hmac.compare_digest", compare)
    key = holder_of(secret, read_keys(KEYS))
    assert (key and key.name, lengths) == (holder, [32] * 6)


async def test_callers_do_not_meet(assistant: Assistant, script: Script) -> None:
    """The names of one key's threads mean nothing to another key; an operator sees all of them."""
    script.add(supervisor=["One.", "Two."])
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
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


FAULTS = [
    ("/threads/x/turns", b"{", 422),
    ("/threads/x/turns", b'{"text": "\xff"}', 400),
    ("/threads/x/turns", b'{"text": "hello", "more": 1}', 422),
    ("/threads/x/turns", b'{"text": 1}', 422),
    ("/threads/x/turns", b'{"text": " "}', 422),
    ("/threads/x/turns", b'{"text": "hello", "lang": "../en"}', 422),
    ("/threads/x/turns", b'{"text": "%s"}' % (b"a" * 1_000_001), 413),
    ("/threads/x/turns", b"[" * 100_000, 400),
    ("/threads/x%00y/turns", b'{"text": "hello"}', 422),
    ("/threads/x%1Fy/turns", b'{"text": "hello"}', 422),
    ("/threads/..%2F..%2Fetc/passwd", b'{"text": "hello"}', 404),
    (f"/threads/{'x' * 201}/turns", b'{"text": "hello"}', 422),
    ("/threads/../../etc/turns", b'{"text": "hello"}', 404),
    ("/nowhere", b"{}", 404),
]
"""Requests that are refused: the path, the body and the answer's status."""


async def test_faults_of_a_request(client: httpx.AsyncClient) -> None:
    """Every refusal has the same form: of a broken, too large or too deep body, and of an unknown path."""
    for path, content, status in FAULTS:
        answer = await client.post(path, content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, {*answer.json()["error"]}) == (status, {"code", "message"}), (path, content[:40])


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ('{"text": "café"}'.encode("latin-1"), "application/json", "is not UTF-8"),
        (b'{"text": "hel', "application/json", "is not JSON"),
        (b'{"text": "hello"}', "application/x-www-form-urlencoded", "Content-Type: application/json"),
        (b"[]", "application/json", "must be a JSON object"),
    ],
)
async def test_a_body_that_is_no_json(client: httpx.AsyncClient, content: bytes, kind: str, words: str) -> None:
    """The fault says what to send."""
    answer = await client.post("/threads/x/turns", content=content, headers={"content-type": kind})
    assert (answer.status_code in (400, 422), words in answer.json()["error"]["message"]) == (True, True)


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
        ({"host": "127.0.0.1:x.evil.example"}, 403),
        ({"host": "localhost:80@evil.example"}, 403),
        ({"host": "[::1"}, 403),
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
    """Requests are counted by their path's form, so that no name of a thread is told; unknown methods as one."""
    await client.get("/threads/secret-name")
    for method in ("PROPFIND", "SEARCH"):
        await client.request(method, "/threads/secret-name")
    text = (await client.get("/metrics")).text
    assert 'http_requests_total{method="GET",path="/threads/{thread}",status="404"} 1.0' in text
    assert 'http_requests_total{method="other",path="/threads/{thread}",status="405"} 2.0' in text
    assert not re.search("secret-name|PROPFIND|SEARCH", text)


async def test_the_description_has_every_event(client: httpx.AsyncClient) -> None:
    """The OpenAPI description has every event with its fields."""
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
    """A server on other addresses needs keys."""
    with pytest.raises(ConfigError, match="API_KEYS"):
        await serve(Settings(_env_file=None), "0.0.0.0", 0)
