"""A receiver of traces on loopback: of OpenTelemetry's spans by OTLP over HTTP, and of LangSmith's runs."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.loopback import listening
from tests.support.until import until

SPANS, RUNS = "/v1/traces", "/runs/batch"
BATCHES = {"size_limit": 100, "size_limit_bytes": 20_000_000, "use_multipart_endpoint": False}
THREADS = {"scale_up_qsize_trigger": 1000, "scale_up_nthreads_limit": 1, "scale_down_nempty_trigger": 4}
INFO = {"version": "1", "batch_ingest_config": BATCHES | THREADS}
"""LangSmith's information about itself: it takes runs as JSON."""


@dataclass
class TraceReceiver:
    """A receiver that keeps all requests."""

    url: str = ""
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    """The path and the body of each request."""

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """Listen on a port of its own."""
        receiver = cls()
        async with listening(receiver._serve) as receiver.url:
            yield receiver

    @property
    def spans(self) -> list[Span]:
        """The spans that came, in the order of their ends."""
        return sorted(self._spans(), key=lambda span: span.end_time_unix_nano)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs of LangSmith that have begun."""
        batches = [json.loads(body) for path, body in self.taken if path == RUNS]
        return [run for batch in batches for run in batch.get("post", [])]

    @property
    def everything(self) -> bytes:
        """All received bytes."""
        return b"".join(body for _, body in self.taken)

    async def until_turns(self, number: int) -> list[Span]:
        """Wait for the spans of so many turns, and return these."""

        def turns() -> list[Span]:
            return [span for span in self.spans if not span.parent_span_id]

        await until(lambda: len(turns()) >= number)
        return turns()

    def _spans(self) -> Iterator[Span]:
        for path, body in self.taken:
            if path == SPANS:
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        yield from scope.spans

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line for line in head.lower().split("\r\n") if line.startswith("content-length:")), ":0")
            self.taken.append((head.split()[1], await reader.readexactly(int(length.partition(":")[2]))))
            answer = json.dumps(INFO).encode()
            writer.write(
                b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(answer), answer)
            )
            await writer.drain()
        writer.close()


def attributes_of(span: Span) -> dict[str, Any]:
    """Return the attributes of a span."""
    values = {each.key: each.value for each in span.attributes}
    return {name: getattr(value, value.WhichOneof("value") or "") for name, value in values.items()}
