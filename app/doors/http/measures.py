"""What an operator can watch of a process, for Prometheus; requests are counted where they come in."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.usage import MILLION
from app.usage.usage import Usage


def registry_of(assistant: Assistant, answers: Answers) -> CollectorRegistry:
    """Return the measures of models, answers and turns."""
    registry = CollectorRegistry()
    registry.register(ModelMeasures(assistant.services.get(Usage)))
    gauges: dict[str, tuple[str, Callable[[], int]]] = {
        "answers_running": ("Answers that are being made, those that wait among them.", lambda: answers.running),
        "turns_running": ("Turns that run.", lambda: assistant.queue.running),
        "turns_waiting": ("Turns that wait until they may run.", lambda: assistant.queue.waiting),
    }
    for name, (description, read) in gauges.items():
        Gauge(name, description, registry=registry).set_function(read)
    return registry


class ModelMeasures(Collector):
    """What this process has used of models since it began."""

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
