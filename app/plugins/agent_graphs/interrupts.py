"""Interrupts of an agent graph as questions to the user, and the user's answers as the values of its resumption.

`interrupt()` is one question, and gets the user's words. LangChain's human-in-the-loop middleware asks about each
tool call, in both of its modes, and gets decisions: yes approves, no rejects, `name: value` changes arguments, and
other words reject the call with these words as the reason, or answer in the tool's place.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Interrupt

from agents.errors import ContractError
from agents.state.speaker_state import Json
from agents.toolkit.questions.form import LONGEST_FORM, FormFields, labelled
from agents.toolkit.questions.options import agreed, yes_or_no
from agents.toolkit.result import jsonable
from agents.toolkit.tool_code import answer_given
from prompts import phrase, sentence

DECISIONS = ("approve", "edit", "reject", "respond")
DEFAULT = "Tool execution requires approval"
"""The beginning of the middleware's own description, where the graph's author has written no other."""


def questions(waiting: Interrupt[Any], lang: str) -> list[Json | str]:
    """Return the questions to the user, as the arguments of `interrupt()` in a tool.

    Raises:
        ContractError: the graph waits with a value that is not JSON.
    """
    try:
        value = jsonable(waiting.value)
    except ValueError:
        raise ContractError("interrupts with a value that is not JSON") from None
    reviews = _reviews(waiting)
    if not reviews:
        return [value if isinstance(value, str | dict) else json.dumps(value, ensure_ascii=False)]
    options = {str(answer["id"]): str(answer["label"]) for answer in yes_or_no(lang)}
    return [{"question": _described(action, allowed, lang), "options": options} for action, allowed in reviews]


def resumed(waiting: Interrupt[Any], texts: Sequence[str], lang: str) -> object:
    """Return the value with which the graph goes on; None if an answer is missing or does not fit."""
    reviews = _reviews(waiting)
    if len(texts) != max(len(reviews), 1):
        return None
    if not reviews:
        return answer_given(texts[0], lang)
    decisions = [_decision(text, *review, lang) for text, review in zip(texts, reviews, strict=True)]
    if None in decisions:
        return None
    return {"decisions": decisions} if "action_requests" in waiting.value else decisions[0]


def _reviews(waiting: Interrupt[Any]) -> list[tuple[Json, Sequence[str]]]:
    """Return the tool calls that wait for a decision, each with the decisions that are allowed."""
    value = waiting.value
    if not isinstance(value, Mapping):
        return []
    if "action_requests" in value and "review_configs" in value:
        allowed = [config["allowed_decisions"] for config in value["review_configs"]]
        return [*zip(value["action_requests"], allowed, strict=True)]
    if value.get("type") == "tool_approval":
        schema = json.dumps(waiting.response_schema, default=str)
        return [(dict(value), [decision for decision in DECISIONS if f'"const": "{decision}"' in schema])]
    return []


def _described(action: Json, allowed: Sequence[str], lang: str) -> str:
    """Return the question about a tool call, in its author's words if there are any, with hints on the answers."""
    words = str(action.get("description") or "")
    if not words or words.startswith(DEFAULT):
        args = "; ".join(f"{name}: {_shown(value)}" for name, value in action["args"].items())
        words = phrase("confirm_always", lang, what=f"{action['name']} ({args})" if args else action["name"])
    hinted = [f"review_{decision}" for decision in ("edit", "respond") if decision in allowed]
    hints = [sentence("agent_graphs/phrases", key, lang) for key in hinted]
    return "\n".join([words, *hints])


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _decision(text: str, action: Json, allowed: Sequence[str], lang: str) -> Json | None:
    """Return the user's decision; None if the graph does not allow it."""
    answer, is_agreed = answer_given(text, lang), agreed(text, yes_or_no(lang), lang)
    decision: Json
    if isinstance(answer, Mapping) and answer.get("type") in DECISIONS:
        decision = dict(answer)
    elif is_agreed is not None:
        decision = {"type": "approve" if is_agreed else "reject"}
    elif "edit" in allowed and (changed := _changed(text, action["args"])):
        decision = {"type": "edit", "edited_action": {"name": action["name"], "args": {**action["args"], **changed}}}
    else:
        decision = {"type": "respond" if "respond" in allowed else "reject", "message": text}
    return decision if decision["type"] in allowed else None


def _changed(text: str, args: Json) -> Json:
    """Return the arguments that a text names with other values, as lines or JSON; a number stays a number."""
    values = labelled(text.strip()[:LONGEST_FORM], FormFields({name: name for name in args}))
    try:
        return {name: _typed(value, args[name]) for name, value in values.items()}
    except ValueError:
        return {}


def _typed(value: object, before: object) -> object:
    return json.loads(value) if isinstance(value, str) and not isinstance(before, str) else value
