"""What leaves for tracers: spans for OpenTelemetry, an extra, and the leave that LangSmith needs for texts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langsmith.utils import tracing_is_enabled

from agents.errors import ConfigError
from app.assistant.turn_player import Traced, untraced
from app.process.extras import load_extra
from app.settings import Settings

NO_LEAVE = (
    "LANGSMITH_TRACING sends the texts of users and models to LangSmith; "
    "set TRACE_CONTENT=1 to allow that, or LANGSMITH_TRACING=false"
)


def check_traces(settings: Settings) -> None:
    """Check that what is traced may be, and can be.

    Raises:
        ConfigError: LangSmith would get texts without leave, or the packages of the extra are missing.
    """
    if tracing_is_enabled() and not settings.trace_content:
        raise ConfigError(NO_LEAVE)
    if settings.traces_url:
        _spans()


@asynccontextmanager
async def open_traces(settings: Settings) -> AsyncIterator[Traced]:
    """Yield what traces turns during the block; what is not sent then is sent at its end. Raises as `check_traces`."""
    check_traces(settings)
    if settings.traces_url is None:
        yield untraced
        return
    async with _spans().exporting(str(settings.traces_url), content=settings.trace_content) as traced:
        yield traced


def _spans() -> Any:
    return load_extra("app.telemetry.spans", "otel", "TRACES_URL: OpenTelemetry")
