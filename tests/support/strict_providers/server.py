"""Serve the strict forms below one address, and note in a journal what became of each request."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.support.loopback import listening
from tests.support.odd_provider import HEAD, read_request
from tests.support.strict_providers.script import Reply, Script

STATUSES = {"busy": 429, "overflow": 400}


@dataclass
class Refusal(Exception):
    """A request is not taken."""

    rule: str
    """The kind of the rule, as the journal names it."""
    words: str
    status: int = 400


class WireForm(Protocol):
    """A form of requests and replies, with its rules."""

    path: str
    """The path of its requests, below the form's name."""

    @property
    def overflow(self) -> str:
        """The refusal of a too long prompt."""

    def check(self, body: dict[str, Any]) -> None:
        """Raise Refusal for what the form does not take."""

    def reply(self, body: dict[str, Any], script: Script) -> Reply:
        """Return the model's answer to a request."""

    def events(self, reply: Reply) -> Sequence[str]:
        """Return the reply as the events of a stream."""

    def whole(self, reply: Reply) -> object:
        """Return the reply as one object."""

    def error(self, refusal: Refusal) -> object:
        """Return a refusal as the body of an error."""

    def broken(self) -> str:
        """Return the event that tells of an error in the middle of a stream."""


@dataclass
class StrictServer:
    """The forms by their names, and the journal of what they were asked."""

    forms: Mapping[str, Sequence[WireForm]]
    url: str = ""
    journal: list[dict[str, Any]] = field(default_factory=list)
    _scripts: dict[str, Script] = field(default_factory=dict)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Listen on a port; give the address."""
        async with listening(self._serve) as self.url:
            yield self.url

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, body = await read_request(reader)
            method, path, _ = head.split(" ", 2)
            path, _, query = path.partition("?")
            if path == "/journal":
                _send(writer, 200, self._journal(method, whole="full=1" in query))
                return
            name, _, rest = path.removeprefix("/").partition("/")
            form = next((form for form in self.forms.get(name, ()) if f"/{rest}" == form.path), None)
            if form is None or method != "POST":
                _send(writer, 404, '{"error": {"message": "Not found"}}')
                return
            entry = {"n": len(self.journal) + 1, "form": name, "verdict": "open", "rule": "", "status": 200}
            self.journal.append({**entry, "message": "", "body": body})
            await self._answer(form, name, self.journal[-1], writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _journal(self, method: str, *, whole: bool) -> str:
        if method == "DELETE":
            self.journal.clear()
        shown = [{name: value for name, value in entry.items() if whole or name != "body"} for entry in self.journal]
        return "".join(json.dumps(entry) + "\n" for entry in shown)

    async def _answer(self, form: WireForm, name: str, entry: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        body = entry["body"]
        try:
            form.check(body)
            reply = form.reply(body, self._scripts.setdefault(name, Script()))
            if reply.trouble in STATUSES:
                words = "Rate limit reached" if reply.trouble == "busy" else form.overflow
                raise Refusal(reply.trouble, words, STATUSES[reply.trouble])
        except Refusal as refusal:
            is_rule = refusal.rule not in STATUSES
            entry.update(rule=refusal.rule, status=refusal.status, message=refusal.words)
            entry["verdict"] = "refused" if is_rule else refusal.rule
            _send(writer, refusal.status, json.dumps(form.error(refusal)))
            return
        if body.get("stream"):
            await _stream(form, reply, entry, writer)
        else:
            entry["verdict"] = "ok"
            _send(writer, 200, json.dumps(form.whole(reply)))


async def _stream(form: WireForm, reply: Reply, entry: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    events, entry["verdict"] = [*form.events(reply)], "open"
    if reply.trouble:
        events = events[: len(events) // 2] + ([form.broken()] if reply.trouble == "fail" else [])
    end = {"fail": "failed", "break": "broken"}.get(reply.trouble or "", "ok")
    try:
        writer.write(HEAD)
        for event in events:
            writer.write(event.encode())
            await writer.drain()
            await asyncio.sleep(reply.pause)
        entry["verdict"] = end
    except ConnectionError:
        entry["verdict"] = "left"
        raise


def _send(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    data = text.encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nRetry-After-Ms: 1\r\n"
    writer.write(f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
