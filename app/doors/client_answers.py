"""Clients' answers to the question of a tool, as a user's text."""

from collections.abc import Mapping

from agents.events import Interrupt
from agents.language.text.clean import safe_json
from agents.toolkit.questions.options import CONFIRM, NO, YES

MARK = "#"
"""The sign between the id of an answer and the id of its question."""


def text_of(question: Interrupt, answer: object) -> str:
    """Return a client's answer to a question as a user would type it; empty for one that answers nothing."""
    answer = agreed(answer)
    if question.kind == CONFIRM and not isinstance(answer, str):
        # A number or null is neither a yes nor a no.
        return ""
    return _filled(question, answer) if isinstance(answer, Mapping) else _typed(answer)


def _typed(value: object) -> str:
    """Return a JSON value as text; null is empty, and 0 is a number."""
    value = "" if value is None else agreed(value)
    return value if isinstance(value, str) else safe_json(value)


def agreed(answer: object) -> object:
    """Return a yes or a no as a word, and anything else as it is."""
    if isinstance(answer, Mapping) and isinstance(answer.get("approved"), bool):
        answer = answer["approved"]
    return (YES if answer else NO) if isinstance(answer, bool) else answer


def _filled(question: Interrupt, values: Mapping[str, object]) -> str:
    """Return a form's values as the text of a message; a single field takes the whole text."""
    lines = {field["label"]: " ".join(_typed(values.get(field["name"])).split()) for field in question.fields}
    if len(lines) == 1:
        return next(iter(lines.values()))
    return "\n".join(f"{label}: {value}" for label, value in lines.items())
