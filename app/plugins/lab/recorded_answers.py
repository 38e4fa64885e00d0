"""The answers of tools in the record of a turn, as a replay or a mock gives them again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.events.views import Notice
from app.assistant.recorded_tools import Answer
from app.assistant.records import Answered, RecordedReply, Step, Viewed


def answers_of(steps: Sequence[Step]) -> Iterator[tuple[Answered, Answer]]:
    """Yield the results of tools in a turn, each with the tool's answer: its text, view and findings.

    A notice is shown at once. A view without a known giver belongs to the last call of a reply.
    """
    views: dict[int, Mapping[str, Any]] = {}
    last: dict[str, int] = {}
    ended: list[int] = []
    giver = ""
    for place, step in enumerate(steps):
        match step:
            case RecordedReply(calls=[*_, (tool, _)]):
                giver = tool
            case Answered(tool=tool):
                last[tool] = last[""] = place
                ended.append(place)
            case Viewed(body, back) if 0 < back <= len(ended):
                # The replayed view may be the last list, which has the numbers.
                views[ended[-back]] = {name: it for name, it in body.items() if name != "unnumbered"}
            case Viewed(body):
                by = last.get("" if body["kind"] == Notice.kind else giver)
                views |= {by: body} if by is not None else {}
    for place, step in enumerate(steps):
        if isinstance(step, Answered):
            view = views.get(place, {})
            answer: Answer = (step.object, view, step.findings) if step.findings else (step.object, view)
            yield step, answer if view or step.findings else step.object
