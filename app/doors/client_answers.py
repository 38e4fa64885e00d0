"""What clients answer to the question of a tool, in the words of a user."""

from collections.abc import Mapping

from agents.events import Interrupt
from agents.language.text.clean import safe_json
from agents.toolkit.questions.options import CONFIRM, NO, YES

MARK = "#"
"""Stands between the id of an answer and the id of the question that it answers."""


def text_of(question: Interrupt, answer: object) -> str:
    """Return what a client's answer to a question says, as a user would type it; empty: nothing that answers it."""
    answer = agreed(answer)
    if question.kind == CONFIRM and not isinstance(answer, str):
        # Neither a number nor null is a yes or a no.
        return ""
    return _filled(question, answer) if isinstance(answer, Mapping) else _typed(answer)


def _typed(value: object) -> str:
    """Return a JSON value in words; null says nothing, and 0 is a number."""
    value = "" if value is None else agreed(value)
    return value if isinstance(value, str) else safe_json(value)


def agreed(answer: object) -> object:
    """Return a yes or a no as a word, and anything else as it is."""
    if isinstance(answer, Mapping) and isinstance(answer.get("approved"), bool):
        answer = answer["approved"]
    return (YES if answer else NO) if isinstance(answer, bool) else answer


def _filled(question: Interrupt, values: Mapping[str, object]) -> str:
    """Return a form's values as a message says them; a single field takes the whole text."""
    lines = {field["label"]: " ".join(_typed(values.get(field["name"])).split()) for field in question.fields}
    if len(lines) == 1:
        return next(iter(lines.values()))
    return "\n".join(f"{label}: {value}" for label, value in lines.items())
