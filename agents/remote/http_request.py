"""Make the request of a call: values can change its path, query, headers and body, never where it goes."""

import hashlib
import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from agents.remote.http_file import PLACEHOLDER, HttpTool, Service
from agents.remote.yaml_file import Trusted
from agents.state.talk import Json
from agents.toolkit.result import Failed, Misused
from agents.toolkit.runtime import Runtime
from prompts import phrase

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "


@dataclass(frozen=True)
class Request:
    """One request; repeated, it is the same."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def trusted_values(runtime: Runtime) -> dict[Trusted, str]:
    """Return what the system says of the turn."""
    context = runtime.context
    return {"user": context.user, "thread": context.thread, "device": context.device, "lang": runtime.state["lang"]}


def request_of(tool: HttpTool, service: Service, args: Mapping[str, object], runtime: Runtime) -> Request:
    """Return the request of a call with these arguments.

    Raises:
        Misused: a value of the model's would lead to another path.
        Failed: one of the system's would.
    """
    values = {**args, **tool.set_values(trusted_values(runtime))}
    places: dict[str, dict[str, object]] = {"path": {}, "query": {}, "header": {}, "body": {}}
    # What the system sets comes last, and stands wherever a value of the model's would have the same place.
    for key, parameter in sorted(tool.parameters.items(), key=lambda item: not item[1].is_the_models):
        if (value := values.get(key)) is not None:
            places[parameter.in_][key if parameter.in_ == "path" else parameter.name or key] = value
    filled = PLACEHOLDER.sub(lambda slot: _segment(slot[1], places["path"][slot[1]], tool, runtime), tool.path)
    query = urlencode({name: _listed(value) for name, value in places["query"].items()}, doseq=True)
    separator = "&" if "?" in filled else "?"
    headers = {name: header_value(value) for name, value in places["header"].items()}
    if tool.writes:
        headers["Idempotency-Key"] = write_key(tool.name, tool.key, args, runtime)
    body = _nested(places["body"]) if any(parameter.in_ == "body" for parameter in tool.parameters.values()) else None
    if body is not None:
        headers["Content-Type"] = "application/json"
    return Request(
        tool.method,
        f"{service.url.rstrip('/')}{filled}{separator if query else ''}{query}",
        headers,
        None if body is None else json.dumps(body, ensure_ascii=False).encode(),
    )


def write_key(tool: str, key: tuple[str, ...], args: Mapping[str, object], runtime: Runtime) -> str:
    """Return what tells a service that a write is the same one: the values of its key, else the call itself."""
    context = runtime.context
    # A service that never forgets a key would answer next month's write with this one's outcome.
    mark = context.ledger.mark() if context.ledger else ""
    same: list[object] = [[args.get(name) for name in key], mark] if key else [context.thread, runtime.tool_call_id]
    text = json.dumps([context.user, tool, same], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _segment(name: str, value: object, tool: HttpTool, runtime: Runtime) -> str:
    """Write a value into the path: as one part of it, or as several where the file allows slashes."""
    text = _plain(value)
    # Many servers decode a path before they read it, so that an escaped slash would lead elsewhere after all.
    bare = re.sub("%(?:25)+", "%", text).lower()
    parts = re.split(r"[/\\]|%2f|%5c", bare)
    leads_away = any(part.replace("%2e", ".") in ("", ".", "..") for part in parts)
    if leads_away or (len(parts) > 1 and not tool.parameters[name].slashes) or not text.isprintable():
        if not tool.parameters[name].is_the_models:
            # No model can mend it, and none may see it.
            raise Failed
        lang = runtime.state["lang"]
        raise Misused(phrase("tool_arguments", lang, tool=tool.name, problem=f"{text!r} cannot stand in an address"))
    return quote(text, safe="/" if tool.parameters[name].slashes else "")


def header_value(value: object) -> str:
    """Return a value as a header may have it: what is no plain character is escaped."""
    return quote(_plain(value), safe=PRINTABLE)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _listed(value: object) -> str | list[str]:
    return [_plain(entry) for entry in value] if isinstance(value, list) else _plain(value)


def _nested(values: Mapping[str, object]) -> Json:
    body: Json = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        place = body
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return body
