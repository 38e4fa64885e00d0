"""The usage of models by this process since its start, in `/metrics`."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from app.plugins.usage.counts import Usage
from app.prices import MILLION


class ModelMeasures(Collector):
    """The calls, the tokens and the money of each model."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def collect(self) -> Iterator[Metric]:
        """Yield the counts of each model."""
        calls = CounterMetricFamily("model_calls", "Calls of models.", labels=["model"])
        tokens = CounterMetricFamily("model_tokens", "Tokens of models.", labels=["model", "kind"])
        money = CounterMetricFamily("model_money", "What models cost, by LLM_PRICES.", labels=["model"])
        for model, used in self._usage.counted.items():
            calls.add_metric([model], used.calls)
            for kind, count in (("input", used.input), ("cached", used.cached), ("output", used.output)):
                tokens.add_metric([model, kind], count)
            money.add_metric([model], self._usage.millionths(model, used) / MILLION)
        yield from (calls, tokens, money)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Show the counts in `/metrics`."""
    measures = ModelMeasures(app.state.assistant.services.get(Usage))
    app.state.measures.register(measures)
    yield
    app.state.measures.unregister(measures)
