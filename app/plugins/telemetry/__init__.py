"""Spans of turns, model calls and tools for OpenTelemetry, where TRACES_URL is set."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from typing import Any

from pydantic import AnyHttpUrl

from agents.plugin import Events, PlayTurn, Plugin, PluginSettings, TurnRequest
from agents.toolkit.services import Services
from app.settings import Settings


class TelemetrySettings(PluginSettings):
    """The address of the collector of spans."""

    traces_url: AnyHttpUrl | None = None


class Tracer:
    """Traces turns, if there is a collector."""

    def __init__(self, spans: Any = None) -> None:
        self.spans = spans


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Send spans during the block; its end sends the rest."""
    url, settings = services.get(TelemetrySettings).traces_url, services.find(Settings)
    if url is None:
        yield [Tracer()]
        return
    # The library takes a quarter of a second to load: an application that sends no spans should not wait for it.
    exporting = import_module("app.plugins.telemetry.spans").exporting
    async with exporting(str(url), content=bool(settings and settings.trace_content)) as spans:
        yield [Tracer(spans)]


async def traced(request: TurnRequest, play: PlayTurn) -> Events:
    """Trace the answer to a message."""
    tracer = request.context.services.find(Tracer)
    turn = tracer.spans.turn(request, play) if tracer and tracer.spans else play(request)
    async with aclosing(turn) as events:
        async for event in events:
            yield event


plugin = Plugin(
    packages=("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    extra="otel",
    settings=TelemetrySettings,
    services=opened,
    around_turn=traced,
)
