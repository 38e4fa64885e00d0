"""Requests as clients put them: without a body, by HEAD, to a wrong thread, in no language of ours, too many."""

import asyncio
import re
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import httpx
import pytest
from fastapi import APIRouter

from agents.errors import ContractError
from agents.plugin import Plugin
from app.assistant import Assistant
from app.doors.http import service
from app.security.rates import HourlyCount
from app.testing.script import Script
from tests.support.http_door import KEYS, OPERATOR, OTHER, SHOP, by, served

THREADS = "/threads/{thread}"
BEGIN = ("POST /threads/{thread}/turns", "GET /threads/{thread}/events")
"""Paths that begin a missing thread, and paths that may wait for its first turn."""
BODIES: dict[str, object] = {
    "/answers": {"choose": "1"},
    "/say": {"text": "hi"},
    "/system_messages": {"system_messages": []},
}
"""Bodies of those paths that want one."""


async def paths_of(client: httpx.AsyncClient) -> dict[str, Any]:
    """Return the described paths."""
    return dict((await client.get("/openapi.json")).json()["paths"])


async def test_a_wrong_thread_is_told(assistant: Assistant) -> None:
    """Every path of a thread but those that may come first says that there is none, whoever asks."""
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        asked = [
            (method.upper(), path)
            for path, methods in (await paths_of(client)).items()
            for method in methods
            if path.startswith(THREADS) and f"{method.upper()} {path}" not in BEGIN
        ]
        assert asked
        for method, path in asked:
            body = BODIES.get(path.removeprefix(THREADS)) if method in ("POST", "PUT") else None
            answer = await client.request(method, path.format(thread="ann/t1"), json=body, headers=by(OPERATOR))
            assert answer.status_code == 404, (method, path, answer.text)
            encoded = await client.request(method, path.format(thread="ann%2Ft1"), json=body, headers=by(OPERATOR))
            assert (encoded.status_code, encoded.json()["error"]["code"]) == (404, "not_found"), (method, path)
    assert await assistant.threads() == []


async def test_bodies_that_say_nothing_may_be_left_out(client: httpx.AsyncClient, script: Script) -> None:
    """A request without required fields needs no body; an empty one serves as well."""
    script.add(supervisor=["Hello."])
    await client.post("/threads/t/turns", json={"text": "hello"})
    schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]
    optional = []
    for path, methods in (await paths_of(client)).items():
        for method, described in methods.items():
            schema = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            name = re.search(r"schemas/([\w-]+)", str(schema))
            # Nothing said would tell every speaker nothing more, which nobody means by leaving it out.
            if name and not schemas[name[1]].get("required") and not path.endswith("/system_messages"):
                optional.append((method.upper(), path))
    assert optional
    for method, path in optional:
        for content in (None, b"", b"{}"):
            headers = {"content-type": "application/json"} if content is not None else {}
            answer = await client.request(method, path.format(thread="t"), content=content, headers=headers)
            assert answer.status_code != 422, (method, path, content, answer.text)


async def test_head_and_allow(client: httpx.AsyncClient) -> None:
    """Whatever answers GET answers HEAD, without a body; a method that there is not is told with those there are."""
    of_plugins = ("/v1/models", "/sign-in", "/.well-known/agent-card.json")
    for path in ("/healthz", "/readyz", "/metrics", "/threads", *of_plugins):
        got, head = await client.get(path), await client.head(path)
        assert (head.status_code, head.headers["content-type"], head.content) == (
            got.status_code,
            got.headers["content-type"],
            b"",
        )
    assert (await client.head("/threads/nobody")).status_code == 404
    for path, methods in (await paths_of(client)).items():
        answer = await client.request("TRACE", path.format(thread="t", user="u", id="m"))
        allowed = {method.upper() for method in methods}
        assert answer.status_code == 405
        allowed |= {"HEAD"} if "GET" in allowed else set()
        assert {*answer.headers["allow"].split(", ")} == allowed, path
        assert answer.json()["error"]["code"] == "no_such_method"


@pytest.mark.parametrize(("lang", "status"), [("xx", 422), ("en", 200), ("ru-RU", 200), ("EN", 200), ("tlh", 422)])
async def test_a_language_is_one_of_ours(client: httpx.AsyncClient, script: Script, lang: str, status: int) -> None:
    """Another one is refused with those that there are."""
    script.add(supervisor=["Hello."])
    answer = await client.post("/threads/t/turns", json={"text": "hello", "lang": lang})
    assert answer.status_code == status
    assert status == 200 or "en, ru, zh" in answer.json()["error"]["message"]


async def test_a_wrong_key_is_told(assistant: Assistant) -> None:
    """The answer to an unknown key says that, and not to send one."""
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        answers = [await client.get("/threads", headers=headers) for headers in ({}, by("w" * 20))]
        assert [answer.status_code for answer in answers] == [401, 401]
        assert [answer.json()["error"]["message"].split()[0] for answer in answers] == ["Send", "This"]


async def test_not_ready_while_the_database_is_silent(
    client: httpx.AsyncClient, assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that answers nothing makes the process not ready, in its time; others are served meanwhile."""
    silent = asyncio.Event()

    async def entry(*_: str) -> None:
        await silent.wait()

    monkeypatch.setattr(service, "READY_WITHIN", 0.1)
    monkeypatch.setattr(assistant.memory.transcript, "entry", entry)
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage")
    assert (await client.get("/healthz")).text == "ok"


def turn(thread: str, user: str) -> tuple[str, object, dict[str, str]]:
    """Return a message as a turn."""
    return f"/threads/{thread}/turns", {"text": "hello", "user": user}, {}


def completion(thread: str, user: str) -> tuple[str, object, dict[str, str]]:
    """Return a message in the OpenAI form."""
    body = {"model": "dialog-supervisor", "messages": [{"role": "user", "content": "hello"}], "user": user}
    return "/v1/chat/completions", body, {"X-Thread-Id": thread}


def chore(thread: str, user: str) -> tuple[str, object, dict[str, str]]:
    """Return a front end's own request."""
    words = f"Analyze this conversation and provide: {thread}"
    body = {"model": "dialog-supervisor", "messages": [{"role": "user", "content": words}], "user": user}
    return "/v1/chat/completions", body, {}


def run(thread: str, user: str) -> tuple[str, object, dict[str, str]]:
    """Return a message by AG-UI."""
    messages = [{"id": thread, "role": "user", "content": "hello"}]
    body = {"threadId": thread, "runId": thread, "messages": messages}
    return "/agui", {**body, "state": {}, "tools": [], "context": [], "forwardedProps": {}}, {"X-User-Id": user}


@pytest.mark.parametrize(
    "form",
    [
        turn,
        pytest.param(completion, marks=pytest.mark.needs("openai_api")),
        pytest.param(chore, marks=pytest.mark.needs("openai_api")),
        pytest.param(run, marks=pytest.mark.needs("agui")),
    ],
)
async def test_new_names_escape_no_limit_of_a_key(assistant: Assistant, script: Script, form: Any) -> None:
    """New users and threads each time, and a thread that is forgotten between, count for their key; others go on."""
    script.add(supervisor=["Hello."] * 5)
    assistant._player.limits = replace(assistant.limits, key_turns_per_hour=3)
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:

        async def status(number: int, key: str) -> int:
            path, body, headers = form(f"t{number % 2}", f"u{number}")
            answer = await client.post(path, json=body, headers={**headers, **by(key)})
            await client.delete(f"/threads/t{number % 2}", headers=by(key))
            return answer.status_code

        assert [await status(number, SHOP) for number in range(5)] == [200, 200, 200, 429, 429]
        assert await status(0, OTHER) == 200


async def test_one_user_uses_up_no_key(assistant: Assistant, script: Script) -> None:
    """A refusal of one user's messages does not limit the other users of the key."""
    script.add(supervisor=["Hello."] * 3)
    assistant._player.limits = replace(assistant.limits, key_turns_per_hour=3)
    assistant._turn_count.most = 2
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        said = [await client.post(*turn("t", "ann")[:1], json=turn("t", "ann")[1], headers=by(SHOP)) for _ in range(6)]
        codes = [[event["code"] for event in one.json()["events"] if event["type"] == "error"] for one in said]
        assert codes == [[], [], *[["many_turns"]] * 4]
        path, body, _ = turn("t2", "ben")
        assert (await client.post(path, json=body, headers=by(SHOP))).json()["message"] == "Hello."


@pytest.mark.needs("page")
async def test_signing_in_is_bounded_by_address(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many wrong keys nobody signs in from there for a while, in the page's words; a key over HTTP serves."""
    monkeypatch.setattr(service, "MOST_WRONG_KEYS", 3)
    async with served(assistant, KEYS) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:

        async def sign_in(key: str) -> httpx.Response:
            headers = {"HX-Request": "true", "Accept-Language": "ru"}
            return await client.post("/sign-in", data={"key": key}, headers=headers)

        assert (await sign_in(SHOP)).status_code == 204
        assert [(await sign_in("w" * 20)).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        refused = await sign_in(SHOP)
        assert (refused.status_code, "час" in refused.text) == (429, True)
        assert (await client.get("/threads", headers=by(SHOP))).status_code == 200


def test_what_is_not_counted_is_not_kept() -> None:
    """Without a limit nothing is remembered."""
    count = HourlyCount(0)
    assert all(count.admits("ann") for _ in range(3))
    assert not count._times


async def test_a_route_that_ends_the_process_is_a_failure(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller reads what everybody reads of a failure, and everybody else is served on."""
    paths: Any = ModuleType("team_paths")
    paths.router = router = APIRouter()

    @router.get("/away")
    async def away() -> None:
        raise SystemExit(3)

    monkeypatch.setitem(sys.modules, "team_paths", paths)
    monkeypatch.setattr(service, "plugins_found", lambda: {"team": Plugin(routes=["team_paths"])})
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as client:
        answer = await client.get("/away")
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
        assert (await client.get("/healthz")).status_code == 200


async def test_a_plugin_that_cannot_begin_to_serve_is_named(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator reads one line in place of a traceback."""
    paths: Any = ModuleType("team_paths")

    def serving(app: object) -> None:
        raise LookupError("no licence")

    paths.serving = serving
    monkeypatch.setitem(sys.modules, "team_paths", paths)
    monkeypatch.setattr(service, "plugins_found", lambda: {"team": Plugin(routes=["team_paths"])})
    with pytest.raises(ContractError, match=r"^team_paths\.py: LookupError: no licence$"):
        async with served(assistant):
            pass
