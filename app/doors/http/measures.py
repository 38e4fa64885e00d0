"""Gauges of a process for Prometheus; the gate counts the requests."""

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.assistant import Assistant
from app.doors.http.answers import Answers


class Measures(Collector):
    """The current numbers of this process."""

    def __init__(self, assistant: Assistant, answers: Answers) -> None:
        self._queue, self._answers = assistant.queue, answers

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers of running answers, running turns and waiting turns."""
        yield GaugeMetricFamily("answers_running", "Answers that are being made, or wait.", self._answers.running)
        yield GaugeMetricFamily("turns_running", "Turns that run.", self._queue.running)
        yield GaugeMetricFamily("turns_waiting", "Turns that wait until they may run.", self._queue.waiting)
