"""The HTTP service: its gate, its limits, its error responses, and its routes."""

import asyncio
import logging
import re
import signal
import time
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.discovery import code_of, load
from agents.errors import BrokenState, ConfigError, DatabaseError, Undeleted, UsageError
from agents.events import EVENTS
from agents.foreign import contained
from app.assistant import Assistant
from app.assistant.clocks import Clock, Ring
from app.assistant.file_reader import FileReader
from app.composition import make_file_reader, plugins_found
from app.composition.doors import open_for_door
from app.doors.http import event_paths, events, exchange, threads, turns
from app.doors.http.answers import Answers, Busy, Measures, TurnLimitReached
from app.doors.http.pages import paths as pages
from app.doors.http.pages.guard import PageRoute, refused
from app.doors.http.server import make_server
from app.process.exit_codes import FAULTS
from app.process.logs import log_on_stderr
from app.process.tasks import on_signal
from app.security.api_keys import Key
from app.security.rates import HourlyCount
from app.settings import Settings

LOG = logging.getLogger(__name__)
READY_WITHIN = 2.0
"""Deadline for the database's answer to a readiness check, in seconds."""
MOST_WRONG_KEYS = 20
"""Wrong keys that one address may try on the page within an hour."""
MOST_BYTES, MOST_UPLOADED = 1_000_000, 25_000_000
"""Bytes of a request's body, and of a body that may bring files; HISTORY_BYTES limits one with a history."""
MARKS, MOST_MARKS = (b",", b"[", b"{"), 500_000
"""Marks between JSON values, and their limit in a body: parsing many values delays everybody."""
LABELS = ("method", "path", "status")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The methods that the metrics count by name; a client may send any word as a method."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d{1,5})?", re.ASCII)
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Other sites must not learn the address of a conversation; a form of the page still sends its origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
}
"""The default headers of every response."""


class Gate:
    """The gate before all paths: it limits bodies, numbers and counts requests, and refuses pages of other sites."""

    def __init__(
        self,
        app: ASGIApp,
        measures: CollectorRegistry,
        *,
        most: Mapping[str, int],
        uploads: Collection[str],
        is_local: bool,
        front_ends: Collection[str],
        origins: Collection[str],
    ) -> None:
        """`most` limits the bytes of a body, by the beginning of its path; bodies of `uploads` may bring files.

        Pages of the `origins` may call the `front_ends`.
        """
        self._app, self._is_local, self._front_ends, self._origins = app, is_local, front_ends, origins
        self._most, self._uploads = {**dict.fromkeys(uploads, MOST_UPLOADED), **most}, tuple(uploads)
        self._requests = Counter("http_requests_total", "Requests answered.", LABELS, registry=measures)
        self._seconds = Histogram("http_request_seconds", "Seconds to the end of an answer.", registry=measures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sent_id = headers.get("x-request-id", "")
        id = sent_id if _ID.fullmatch(sent_id) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        scope["path"] = _undivided(scope["raw_path"])
        begun, status = time.monotonic(), 500
        allowed_headers = self._allowed(scope["path"], headers)
        # Each GET path also answers HEAD; the server leaves the body out.
        get = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                shown = MutableHeaders(raw=message["headers"])
                shown.update(allowed_headers)
                for name, value in (*HEADERS.items(), ("X-Request-Id", id)):
                    shown.setdefault(name, value)
            await send(message)

        try:
            path = scope["path"]
            most = next((bytes for start, bytes in self._most.items() if path.startswith(start)), MOST_BYTES)
            if allowed_headers and scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, answer)
            elif problem := self._problem(headers, most, is_allowed=bool(allowed_headers)):
                refusal = await answer_failure(Request(scope), HTTPException(*problem))
                await refusal(scope, receive, answer)
            else:
                with contained():
                    await self._app(get, _bounded(receive, most, is_json=not path.startswith(self._uploads)), answer)
        finally:
            # The path of a route holds no names of users or threads.
            path = getattr(get.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, path, str(status)).inc()
            self._seconds.observe(time.monotonic() - begun)

    def _allowed(self, path: str, headers: Headers) -> dict[str, str]:
        """Return the CORS headers for a page of an allowed origin; none for any other."""
        origin = headers.get("origin")
        if path not in self._front_ends or origin not in self._origins:
            return {}
        return {
            "Access-Control-Allow-Origin": str(origin),
            "Access-Control-Allow-Methods": "POST",
            "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, Idempotency-Key, X-User-Id",
            "Access-Control-Expose-Headers": "X-Request-Id",
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Vary": "Origin",
        }

    def _problem(self, headers: Headers, most: int, *, is_allowed: bool) -> tuple[int, str] | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return 413, f"A body may have {most} bytes."
        host = ",".join(headers.getlist("host"))
        name = _HOST.fullmatch(host)
        if not is_allowed and "origin" in headers and headers["origin"].partition("://")[2] != host:
            return 403, "A page of another site may not call."
        # Without keys, a page could reach this machine under a host name of its own.
        if self._is_local and not (name and _is_loopback(name[1].strip("[]"))):
            return 403, "Without keys only this machine is served, by the names localhost, 127.0.0.1 and ::1."
        return None


def _undivided(raw: bytes) -> str:
    """Return the path for routing: an encoded slash within a name does not divide it."""
    parts = re.split("%2f", raw.decode("ascii"), flags=re.IGNORECASE)
    return exchange.SLASH.join(unquote(part).replace(exchange.SLASH, "\0") for part in parts)


def _bounded(receive: Receive, most: int, *, is_json: bool) -> Receive:
    """Return a receiver that limits the bytes of a body, also without a given length, and the marks of its JSON."""
    size = marks = 0

    async def bounded() -> Message:
        nonlocal size, marks
        message = await receive()
        body = message.get("body", b"")
        size += len(body)
        marks += sum(map(body.count, MARKS)) if is_json else 0
        if size > most:
            raise HTTPException(413, f"A body may have {most} bytes.")
        if marks > MOST_MARKS:
            raise HTTPException(413, f"A body may have {MOST_MARKS} commas and brackets.")
        return message

    return bounded


def fault(request: Request, status: int, message: str, code: str = "", param: str | None = None) -> JSONResponse:
    """Return an error response; a plug-in may give the errors of its paths another form."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}.get(status, {})
    if status == 405:
        headers = {"Allow": ", ".join(_methods(request))}
    code = code or exchange.CODES[status][0]
    error: dict[str, object] = {"code": code, "message": message}
    for module in request.app.state.plugins:
        if hasattr(module, "error_of") and request.url.path.startswith(module.router.prefix):
            error = module.error_of(status, message, code, param or None)
            status = getattr(module, "STATUSES", {}).get(status, status)
    return JSONResponse({"error": error}, status_code=status, headers=headers)


def _methods(request: Request) -> Iterator[str]:
    """Yield the methods of a path."""
    for method in METHODS:
        scope = {**request.scope, "method": "GET" if method == "HEAD" else method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            yield method


operations = APIRouter()


@operations.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """Tell that the process runs."""
    return "ok"


@operations.get("/readyz", response_class=PlainTextResponse, responses=exchange.FAULTS)
async def readyz(assistant: exchange.Served) -> str:
    """Tell that the database works and answers at once."""
    async with asyncio.timeout(READY_WITHIN):
        assistant.memory.storage.check()
        await assistant.memory.transcript.entry("", "")
    return "ok"


@operations.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    return Response(generate_latest(request.app.state.measures), media_type=CONTENT_TYPE_LATEST)


UNREAD = "The body cannot be read: it is not UTF-8, is nested too deeply, or has too long a number."
FAULTY = (StarletteHTTPException, RequestValidationError, Busy, DatabaseError, OSError, BrokenState)


async def answer_failure(request: Request, failure: Exception) -> Response:
    """Return the error response to a failure, without internals; on a page it is a sentence."""
    status, message, code, param = 500, "Something went wrong here.", "", None
    match failure:
        case exchange.HttpRefusal():
            status, message, code, param = failure.status_code, str(failure.detail), failure.code, failure.param
        case StarletteHTTPException():
            status, message = failure.status_code, UNREAD if failure.status_code == 400 else str(failure.detail)
        case RequestValidationError():
            status, (param, message) = 422, exchange.first_fault(failure)
        case UsageError():
            status, message = 409, str(failure)
        case Undeleted():
            message, code = str(failure), "undeleted"
        case TurnLimitReached():
            status, message = 429, str(failure)
        case Busy():
            status, message = 503, "Too many turns are being played; come again in some seconds."
        case DatabaseError() | OSError() | BrokenState():
            kind = type(failure).__name__
            LOG.error("request %s: the database cannot be used (%s)", request.state.request_id, kind)
            status, message, code = 503, "The database cannot be used.", "storage"
        case _:
            LOG.error("request %s failed", request.state.request_id, exc_info=failure)
    if isinstance(request.scope.get("route"), PageRoute) or "hx-request" in request.headers:
        return refused(request, status, failure)
    return fault(request, status, message, code, param)


class HttpApplication(FastAPI):
    """The application; its OpenAPI description has the types of all events."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description."""
        if not self.openapi_schema:
            schema, kinds = super().openapi(), EVENTS.values()
            place = "#/components/schemas/{model}"
            _, own = models_json_schema([(kind, "validation") for kind in kinds], ref_template=place)
            schemas = schema["components"]["schemas"] | own["$defs"]
            for kind in kinds:
                schemas[kind.__name__]["properties"] |= {"v": {"type": "integer"}, "type": {"const": kind.type}}
            schema["components"]["schemas"] = schemas
        return super().openapi()


def make_app(
    assistant: Assistant,
    keys: Sequence[Key],
    *,
    settings: Settings | None = None,
    reader: FileReader | None = None,
) -> FastAPI:
    """Return the application; it works within `serving`."""
    answers = Answers(assistant, [key.name for key in keys if key.allows("operate")])
    (measures := CollectorRegistry()).register(Measures(assistant, answers))
    app = HttpApplication(title="Dialog Supervisor", version="1", docs_url=None, redoc_url=None)
    for kind in (*FAULTY, *FAULTS, Exception):
        app.add_exception_handler(kind, answer_failure)
    app.state.assistant, app.state.answers = assistant, answers
    app.state.keys, app.state.reader = keys, reader or FileReader(assistant, None, 0)
    app.state.wrong_keys = HourlyCount(MOST_WRONG_KEYS)
    app.state.streams = streams = events.EventStreams(assistant)
    answers.changed = streams.wake
    app.state.measures = measures
    for router in (turns.router, threads.router):
        app.include_router(router, dependencies=[exchange.allowed("talk")])
    for router in (event_paths.router, pages.router, operations):
        app.include_router(router)
    app.state.plugins = [load(name) for plugin in plugins_found().values() for name in plugin.routes]
    brought = [module.router for module in app.state.plugins if hasattr(module, "router")]
    for router in brought:
        app.include_router(router)
    with_history = [way for each in brought for way in each.routes if isinstance(way, exchange.HistoryRoute)]
    longest_history = settings.history_bytes if settings else MOST_UPLOADED
    app.add_middleware(
        Gate,
        measures=measures,
        most={way.path: longest_history for way in with_history},
        uploads=[module.UPLOADS for module in app.state.plugins if hasattr(module, "UPLOADS")],
        is_local=not keys,
        front_ends=[way.path for way in with_history if isinstance(way, exchange.FrontEndRoute)],
        origins=settings.allowed_origins if settings else (),
    )
    return app


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Run an application's services; at the end its running answers have some seconds to finish."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.state.streams)
        stack.push_async_callback(app.state.answers.close)
        for module in app.state.plugins:
            if hasattr(module, "serving"):
                with code_of(module.__name__):
                    await stack.enter_async_context(module.serving(app))
        yield


@asynccontextmanager
async def opened(settings: Settings, *, keys: Sequence[Key]) -> AsyncIterator[FastAPI]:
    """Yield the application; at the end its running answers have some seconds to finish."""
    async with open_for_door(settings) as assistant, AsyncExitStack() as stack:
        # Silent sources tell nobody anything, so they need no stream of a user.
        silent = [source for source in assistant.sources if source.is_silent]
        await stack.enter_async_context(Clock(assistant.memory, silent, _nothing))
        app = make_app(assistant, keys, settings=settings, reader=make_file_reader(settings, assistant))
        await stack.enter_async_context(serving(app))
        yield app


async def _nothing(ring: Ring) -> None:
    pass


async def serve(settings: Settings, host: str, port: int) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises:
        ConfigError: there are no keys, and other machines can reach the host.
    """
    if not settings.api_keys and not _is_loopback(host):
        raise ConfigError(f"API_KEYS: without keys only this machine is served, not {host} (see .env.example)")
    with log_on_stderr(detailed=False, content=settings.log_content, as_json=settings.log_json):
        async with opened(settings, keys=settings.api_keys) as app:
            server = make_server(app, host, port, patience=15)
            with (
                on_signal(signal.SIGINT, partial(server.handle_exit, signal.SIGINT, None)),
                on_signal(signal.SIGTERM, partial(server.handle_exit, signal.SIGTERM, None)),
            ):
                await server.serve()
            return 0 if server.started else 1


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"
