"""Spans of turns, model calls and tools, named by OpenTelemetry's conventions for generative AI (`gen_ai.*`)."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from agents.events import Event, Message, ModelEnd, ToolEnd
from agents.language.text.clean import safe_json
from agents.plugin import Events, PlayTurn, TurnRequest

AGENT = "dialog-supervisor"
Attributes = dict[str, str | int | bool]


class MessageTraces(RandomIdGenerator):
    """Gives a turn the trace of its message: a process that plays it again after a crash writes to the same trace."""

    message = ""

    def generate_trace_id(self) -> int:
        """Return the trace of the message whose turn begins now."""
        return int.from_bytes(hashlib.sha256(self.message.encode()).digest()[:16])


@asynccontextmanager
async def exporting(url: str, *, content: bool) -> AsyncIterator["TurnSpans"]:
    """Send spans to a collector by OTLP over HTTP; `content` lets texts go with them.

    OpenTelemetry's own variables (`OTEL_…`) set the rest: headers, the service's name, sampling, batches.
    """
    traces = MessageTraces()
    resource = Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", AGENT)})
    provider = TracerProvider(resource=resource, id_generator=traces, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    try:
        yield TurnSpans(provider.get_tracer(AGENT), traces, content=content)
    finally:
        await asyncio.to_thread(provider.shutdown)


class TurnSpans:
    """Writes a span for a turn, and below it one for each model call and tool that ends in it."""

    def __init__(self, tracer: Tracer, traces: MessageTraces, *, content: bool) -> None:
        self._tracer, self._traces, self._has_content = tracer, traces, content

    async def turn(self, request: TurnRequest, play: PlayTurn) -> Events:
        """Trace the answer to a message."""
        entry, context = request.entry, request.context
        self._traces.message = f"{entry.thread}\n{entry.message_id}"
        place: Attributes = {"gen_ai.conversation.id": entry.thread, "dialogs.turn": request.turn}
        about: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT, **place}
        about |= {"dialogs.message_id": entry.message_id, "dialogs.device": context.device}
        span = self._tracer.start_span(f"invoke_agent {AGENT}", attributes=about)
        if context.sink:
            request.context = replace(context, sink=self._noting(context.sink, set_span_in_context(span), place))
        answers = []
        try:
            async with aclosing(play(request)) as events:
                async for event in events:
                    answers += [_message("assistant", event.text)] if isinstance(event, Message) else []
                    yield event
        finally:
            # A turn that is left goes on in another process.
            span.set_attribute("dialogs.outcome", request.outcome)
            if self._has_content:
                span.set_attribute("gen_ai.input.messages", safe_json([_message("user", entry.text or "")]))
                span.set_attribute("gen_ai.output.messages", safe_json(answers))
            _end(span, type(request.failure).__name__ if request.failure else "")

    def _noting(self, sink: Callable[[Event], None], turn: Context, place: Attributes) -> Callable[[Event], None]:
        """Return a sink that notes a turn's events the moment they happen, and passes them on."""

        def note(event: Event) -> None:
            if isinstance(event, ModelEnd):
                self._write(turn, event.ms, {**place, **_of_call(event)}, SpanKind.CLIENT)
            elif isinstance(event, ToolEnd):
                about = {**place, **_of_tool(event), **(_texts_of_tool(event) if self._has_content else {})}
                self._write(turn, event.ms, about, SpanKind.INTERNAL, "" if event.ok else "tool")
            sink(event)

        return note

    def _write(self, turn: Context, ms: int, about: Attributes, kind: SpanKind, failure: str = "") -> None:
        """Write the span of a call that ends now, after `ms`."""
        now = time.time_ns()
        name = f"{about['gen_ai.operation.name']} {about.get('gen_ai.tool.name') or about['gen_ai.request.model']}"
        span = self._tracer.start_span(name, turn, kind, about, start_time=now - ms * 1_000_000)
        _end(span, failure, now)


def _of_call(event: ModelEnd) -> Attributes:
    provider, _, model = event.model.partition(":")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.agent.name": event.speaker,
        "gen_ai.usage.input_tokens": event.input_tokens,
        "gen_ai.usage.output_tokens": event.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": event.cached_tokens,
        # A draft that was thrown away did not fail.
        "dialogs.is_used": event.ok,
    }


def _of_tool(event: ToolEnd) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.tool,
        "gen_ai.tool.call.id": event.id,
        "gen_ai.agent.name": event.speaker,
    }


def _texts_of_tool(event: ToolEnd) -> Attributes:
    return {"gen_ai.tool.call.arguments": safe_json(event.args), "gen_ai.tool.call.result": event.object}


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _end(span: Span, failure: str, at: int | None = None) -> None:
    if failure:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", failure)
    span.end(at)
