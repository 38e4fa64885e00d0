"""What an operator can watch of a process, for Prometheus; requests are counted where they come in."""

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.assistant import Assistant
from app.doors.http.answers import Answers
from app.usage import MILLION
from app.usage.usage import Usage


class Measures(Collector):
    """What this process does at the moment, and what it has used of models since it began."""

    def __init__(self, assistant: Assistant, answers: Answers) -> None:
        self._queue, self._answers, self._usage = assistant.queue, answers, assistant.services.get(Usage)

    def collect(self) -> Iterator[Metric]:
        """Yield how many answers and turns there are, and the counts of each model."""
        yield GaugeMetricFamily("answers_running", "Answers that are being made, or wait.", self._answers.running)
        yield GaugeMetricFamily("turns_running", "Turns that run.", self._queue.running)
        yield GaugeMetricFamily("turns_waiting", "Turns that wait until they may run.", self._queue.waiting)
        calls = CounterMetricFamily("model_calls", "Calls of models.", labels=["model"])
        tokens = CounterMetricFamily("model_tokens", "Tokens of models.", labels=["model", "kind"])
        money = CounterMetricFamily("model_money", "What models cost, by LLM_PRICES.", labels=["model"])
        for model, used in self._usage.counted.items():
            calls.add_metric([model], used.calls)
            for kind, count in (("input", used.input), ("cached", used.cached), ("output", used.output)):
                tokens.add_metric([model, kind], count)
            money.add_metric([model], self._usage.millionths(model, used) / MILLION)
        yield from (calls, tokens, money)
