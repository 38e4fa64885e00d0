"""The HTTP service: who may call, how much, and what goes wrong; then the paths of conversations."""

import asyncio
import logging
import re
import signal
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from ipaddress import ip_address
from typing import Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.errors import BrokenState, ConfigError, UsageError
from agents.events import Event
from app.api_keys import EVERYTHING, Key, holder_of
from app.api_keys import Scope as KeyScope
from app.assistant import Assistant
from app.composition import open_assistant
from app.doors.http import completions, exchange, long_term, threads, turns
from app.doors.http.answers import Answers, Busy
from app.doors.http.callbacks import Callbacks
from app.doors.http.page import router as page
from app.logs import log_on_stderr
from app.settings import Settings
from app.tasks import cancelled_by

LOG = logging.getLogger(__name__)
MOST_BYTES = 1_000_000
"""Bytes of a request's body."""
RETRY_AFTER = "5"
"""Seconds after which a client may come again."""
HOSTS = ("localhost", "127.0.0.1", "::1")
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)


class Detail(BaseModel):
    """What went wrong."""

    code: str
    message: str


class Fault(BaseModel):
    """Every answer that tells of a fault."""

    error: Detail


CODES = {
    400: "bad_request",
    401: "no_key",
    403: "forbidden",
    404: "not_found",
    405: "no_such_method",
    409: "conflict",
    413: "too_large",
    422: "invalid",
    500: "internal",
    503: "busy",
}


class Measures:
    """What an operator can watch, for Prometheus."""

    def __init__(self, answers: Answers) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "path", "status")
        self._requests = Counter("http_requests_total", "Requests that were answered.", labels, registry=self.registry)
        self._seconds = Histogram("http_request_seconds", "Seconds to the end of an answer.", registry=self.registry)
        running = Gauge("answers_running", "Answers that are being made.", registry=self.registry)
        running.set_function(lambda: answers.running)

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request; `path` is that of its route, with no name of anybody."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.observe(seconds)


class Gate:
    """Stands before all paths: bounds bodies, numbers requests, measures them, and turns pages of other sites away."""

    def __init__(self, app: ASGIApp, measures: Measures, *, is_local: bool) -> None:
        self._app, self._measures, self._is_local = app, measures, is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        begun, status = time.monotonic(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", id.encode())]
            await send(message)

        try:
            if problem := self._problem(headers):
                await fault(*problem)(scope, receive, answer)
            else:
                await self._app(scope, _bounded(receive), answer)
        finally:
            route = scope.get("route")
            path = getattr(route, "path", "other")
            self._measures.note(scope["method"], path, status, time.monotonic() - begun)

    def _problem(self, headers: dict[str, str]) -> tuple[int, str] | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, f"A body may have {MOST_BYTES} bytes."
        host = headers.get("host", "")
        if "origin" in headers and headers["origin"].partition("://")[2] != host:
            return 403, "A page of another site may not call."
        # Where no key is asked for, a page could reach this machine under a name of its own.
        if self._is_local and host.rpartition(":")[0].strip("[]") not in HOSTS and host not in HOSTS:
            return 403, "Without keys only this machine is served, by the names localhost, 127.0.0.1 and ::1."
        return None


def _bounded(receive: Receive) -> Receive:
    """Count the bytes of a body whose length was not told."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            raise HTTPException(413, f"A body may have {MOST_BYTES} bytes.")
        return message

    return bounded


def fault(status: int, message: str, code: str = "") -> JSONResponse:
    """Return an answer that tells of a fault."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": RETRY_AFTER}}.get(status)
    error = {"code": code or CODES.get(status, "error"), "message": message}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


def allowed(scope: KeyScope, keys: Sequence[Key]) -> Any:
    """Return what lets only callers with a scope pass."""

    async def check(request: Request) -> None:
        key = EVERYTHING
        if keys:
            kind, _, secret = request.headers.get("authorization", "").partition(" ")
            holder = holder_of(secret.strip(), keys) if kind.lower() == "bearer" else None
            if holder is None:
                raise HTTPException(401, "Send a key: Authorization: Bearer KEY.")
            key = holder
        if not key.allows(scope):
            raise HTTPException(403, f"This key may not {scope}.")
        request.state.key = key

    return Depends(check)


def make_app(assistant: Assistant, keys: Sequence[Key], callbacks: Callbacks | None = None) -> FastAPI:
    """Return the application; the caller closes its `state.answers`."""
    answers = Answers(assistant)
    measures = Measures(answers)
    app = FastAPI(title="Dialog Supervisor", version="1", docs_url=None, redoc_url=None)
    app.state.assistant, app.state.answers, app.state.callbacks = assistant, answers, callbacks
    app.include_router(turns.router, dependencies=[allowed("talk", keys)])
    app.include_router(threads.router, dependencies=[allowed("talk", keys)])
    app.include_router(completions.router, dependencies=[allowed("talk", keys)])
    app.state.keys = keys
    app.include_router(page.router)
    app.include_router(long_term.router, dependencies=[allowed("talk", keys)])
    app.include_router(_operations(measures))
    app.add_middleware(Gate, measures=measures, is_local=not keys)
    _tell_faults(app)
    _describe(app)
    return app


def _operations(measures: Measures) -> APIRouter:
    router = APIRouter()

    @router.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:
        """Tell that the process runs."""
        return "ok"

    @router.get("/readyz", response_class=PlainTextResponse, responses=exchange.FAULTS)
    async def readyz(request: Request) -> str:
        """Tell that the database can be used."""
        assistant = exchange.assistant_of(request)
        assistant.memory.check_file()
        await assistant.memory.transcript.entry("", "")
        return "ok"

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return what is counted here, for Prometheus."""
        return Response(generate_latest(measures.registry), media_type=CONTENT_TYPE_LATEST)

    return router


def _tell_faults(app: FastAPI) -> None:
    """Answer every failure in the one form, without anything that a caller must not see."""

    @app.exception_handler(StarletteHTTPException)
    async def refused(_: Request, failure: StarletteHTTPException) -> Response:
        return fault(failure.status_code, str(failure.detail))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, failure: RequestValidationError) -> Response:
        first = failure.errors()[0]
        return fault(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")

    @app.exception_handler(UsageError)
    async def misused(_: Request, failure: UsageError) -> Response:
        return fault(409, str(failure))

    @app.exception_handler(Busy)
    async def busy(_: Request, failure: Busy) -> Response:
        return fault(503, "Too many answers are being made; come again in some seconds.")

    @app.exception_handler(sqlite3.Error)
    @app.exception_handler(OSError)
    @app.exception_handler(BrokenState)
    async def unusable(request: Request, failure: Exception) -> Response:
        LOG.error("request %s: the database cannot be used (%s)", request.state.request_id, type(failure).__name__)
        return fault(503, "The database cannot be used.", "storage")

    @app.exception_handler(Exception)
    async def broken(request: Request, failure: Exception) -> Response:
        LOG.error("request %s failed", request.state.request_id, exc_info=failure)
        return fault(500, "Something went wrong here.")


def _describe(app: FastAPI) -> None:
    """Put the types of all events into the OpenAPI description."""
    generate = app.openapi

    def described() -> dict[str, Any]:
        if not app.openapi_schema:
            schema = generate()
            schemas = schema["components"]["schemas"]
            schemas["Fault"] = Fault.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schemas["Fault"].pop("$defs", {})
            for kind in _kinds(Event):
                own = kind.model_json_schema(ref_template="#/components/schemas/{model}")
                schemas |= own.pop("$defs", {})
                schemas[kind.__name__] = own
                own["properties"] |= {"v": {"type": "integer"}, "type": {"const": kind.type}}
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _kinds(kind: type[Event]) -> list[type[Event]]:
    kinds = [child for child in kind.__subclasses__() if child.type]
    return [*kinds, *(inner for child in kind.__subclasses__() for inner in _kinds(child))]


@asynccontextmanager
async def opened(settings: Settings, *, keys: Sequence[Key]) -> AsyncIterator[FastAPI]:
    """Yield the application; at the end answers that run get some seconds to end."""
    async with open_assistant(settings) as assistant, AsyncExitStack() as stack:
        callbacks = None
        if settings.memory_callback_url:
            url = str(settings.memory_callback_url)
            callbacks = Callbacks(assistant.memory, url, settings.memory_callback_secret)
            await callbacks.prepare()
            await stack.enter_async_context(callbacks)
        app = make_app(assistant, keys, callbacks)
        try:
            yield app
        finally:
            await app.state.answers.close()


class Server(uvicorn.Server):
    """Leaves signals to us: a second handler would stop the process before its answers have ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(settings: Settings, host: str, port: int) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises:
        ConfigError: there are no keys, and the host is not of this machine alone.
    """
    if not settings.api_keys and not _is_loopback(host):
        raise ConfigError(f"API_KEYS: without keys only this machine is served, not {host} (see .env.example)")
    with log_on_stderr(detailed=False, content=settings.log_content):
        async with opened(settings, keys=settings.api_keys) as app:
            config = uvicorn.Config(
                app,
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=15,
                h11_max_incomplete_event_size=64 * 1024,
            )
            server = Server(config)
            serving = asyncio.create_task(server.serve())
            with cancelled_by(signal.SIGINT, signal.SIGTERM) as signalled:
                try:
                    await asyncio.shield(serving)
                except asyncio.CancelledError:
                    server.should_exit = True
                    await serving
                    if not signalled:
                        raise
            return 0 if server.started else 1


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
