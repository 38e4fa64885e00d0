"""Visitors of the page, their own conversations, and refusals to others."""

import hashlib
import re

import httpx
import pytest

from app.assistant import Assistant, Turn
from app.doors.http.pages.guard import COOKIE
from app.doors.http.pages.paths import FILES
from app.testing.script import Script
from tests.support.http_door import OPERATOR, OTHER, SHOP, by
from tests.support.page_visits import BY_PAGE, TALK, said, visiting

VENDORED = {
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "htmx-ext-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
}


async def test_headers_and_files(client: httpx.AsyncClient) -> None:
    """The page runs nothing of its own lines, loads nothing from outside, and is shown in no frame."""
    page = await client.get(TALK)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page.text)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert [address for address in addresses if not address.startswith(("/", "#"))] == []
    assert (await client.get("/static/page.css")).headers["content-type"].startswith("text/css")
    assert (await client.get("/static/nothing.js")).status_code == 404
    for name, digest in VENDORED.items():
        assert hashlib.sha256((FILES / name).read_bytes()).hexdigest() == digest
        assert (FILES / f"{name.removesuffix('.min.js')}.LICENSE.txt").is_file()
    own = [path for path in FILES.iterdir() if path.suffix in (".css", ".js") and path.name not in VENDORED]
    assert not any("://" in path.read_text("utf-8") for path in own)


async def test_only_the_page_writes(client: httpx.AsyncClient, script: Script) -> None:
    """A form of another site cannot send; nor can what is no message."""
    body = {"text": "hello", "id": "message-1"}
    foreign = await client.post(f"{TALK}/messages", data=body)
    origin = await client.post(f"{TALK}/messages", data=body, headers={**BY_PAGE, "Origin": "https://bad.example"})
    assert (foreign.status_code, origin.status_code) == (403, 403)
    for wrong in ({"text": " ", "id": "message-1"}, {"text": "hello", "id": "'\"<"}, {"text": "hello"}):
        assert (await client.post(f"{TALK}/messages", data=wrong, headers=BY_PAGE)).status_code == 422


async def test_signing_in_and_out(assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session there is only the form; a key opens the page, until the cookie is old, forged or gone."""
    async with visiting(assistant) as visitor:
        lost = await visitor.get(TALK, headers={"HX-Request": ""})
        assert (await visitor.get("/sign-in")).status_code == 200
        assert lost.status_code in (303, 401)
        assert (await visitor.get(TALK)).headers["hx-redirect"] == "/sign-in"
        wrong = await visitor.post("/sign-in", data={"key": "x" * 20})
        assert COOKIE not in wrong.cookies
        inside = await visitor.post("/sign-in", data={"key": SHOP})
        cookie = inside.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert SHOP not in cookie
        assert (await visitor.get(TALK)).status_code == 200
        value = visitor.cookies[COOKIE]
        name, expires, signature = value.split(".")
        for forged in (
            f"other.{expires}.{signature}",
            f"{name}.{int(expires) + 1}.{signature}",
            f"{name}.{expires}.",
            "x",
        ):
            visitor.cookies.clear()
            answer = await visitor.get(TALK, headers={"cookie": f"{COOKIE}={forged}"})
            assert answer.status_code == 401
        with monkeypatch.context() as later:
            later.setattr("app.doors.http.pages.guard.time.time", lambda: int(expires) + 1.0)
            assert (await visitor.get(TALK, headers={"cookie": f"{COOKIE}={value}"})).status_code == 401
        assert "max-age=0" in (await visitor.post("/sign-out")).headers["set-cookie"].lower()


async def test_a_thread_of_somebody_else(assistant: Assistant, script: Script) -> None:
    """A conversation of another key or another user is not there."""
    script.add(supervisor=["My secret."])
    async with visiting(assistant, OTHER) as visitor:
        await said(visitor, text="keep it")
    async with visiting(assistant, OPERATOR) as operator:
        for path in ("", "/events", "/list", "/export", "/answer?id=message-1"):
            assert (await operator.get(f"/talk/other:day{path}")).status_code == 404
        sent = await operator.post("/talk/other:day/messages", data={"text": "hello", "id": "message-2"})
        assert sent.status_code == 404
    async with visiting(assistant, SHOP) as shop:
        assert "secret" not in (await shop.get(TALK)).text
        assert (await shop.get("/threads", headers=by(SHOP))).json()["threads"] == []


@pytest.mark.parametrize("name", ["a/b", "a/list", "a~1b", "~0/~1", "telegram-1~2"])
async def test_a_name_with_a_slash(client: httpx.AsyncClient, assistant: Assistant, script: Script, name: str) -> None:
    """Every thread can be opened, whatever it is called, and stands in the list under its address."""
    script.add(supervisor=["Hello.", "Hello again."])
    async for _ in assistant.play(Turn(thread=name, user="local", text="hello")):
        pass
    [address] = re.findall(r'href="(/talk/[^"]+)"', (await client.get(f"{TALK}/list")).text)
    assert "Hello." in (await client.get(address)).text
    assert "Hello again." in await said(client, f"{address}/messages", text="hello")
    assert [info.thread for info in await assistant.threads("local")] == [name]
