"""What a tool asks the user, as doors show it: an event, plain words, and whether an answer fits."""

import hashlib
from collections.abc import Mapping
from typing import Any

from agents.choosing import chosen
from agents.events import Interrupt
from agents.filling import given
from agents.state import Heard, Pending
from prompts import phrase, table

CHOICE = "choice"
"""The source of a message that is nothing but an answer to what a tool asked: a tap, `resume --choose`.

Where its id ends in `#` and the mark of a question, it answers no other one.
"""


def ask(pending: Pending, lang: str) -> Interrupt:
    """Return what the user is asked."""
    labels = table(f"forms/{pending['tool']}", lang)
    left = [name for name in pending["fields"] if name not in pending["filled"]]
    return Interrupt(
        id=pending["call"],
        kind=pending["kind"],
        prompt=pending["prompt"],
        options=[_offered(option) for option in called(pending)],
        url=pending["url"],
        fields=[{"name": name, "label": str(labels.get(name, {}).get("label", name))} for name in left],
    )


def worded(question: Interrupt, lang: str) -> str:
    """Return a question in plain words, its options numbered."""
    texts = [" — ".join(one_line(o[part]) for part in ("label", "detail") if o.get(part)) for o in question.options]
    lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    fields = [f"{field['label']}:" for field in question.fields]
    hint = [phrase("form_hint", lang)] if len(fields) > 1 else []
    return "\n".join([question.prompt, *lines, *([question.url] if question.url else []), *hint, *fields])


def one_line(text: str) -> str:
    """Return a text without line breaks: among numbered lines it could pass for more than one of them."""
    return " ".join(text.split())


def mark(call: str) -> str:
    """Return a short name for the question of a tool call, fit for a button."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:16]


def is_meant(pending: Pending, heard: Heard) -> bool:
    """Tell whether a message may answer this question."""
    _, sign, wanted = heard["id"].rpartition("#")
    return heard["source"] != CHOICE or not sign or wanted == mark(pending["call"])


def fits(pending: Pending, text: str, lang: str) -> bool:
    """Tell whether a text that was given as an answer (`CHOICE`) is one; a form may still want other values."""
    if pending["options"]:
        return chosen(text, called(pending), lang) is not None
    if pending["fields"]:
        return bool(given(labels_of(pending, lang), text, sure=True))
    return bool(text.strip())


def called(pending: Pending) -> list[dict[str, Any]]:
    """Return the options with the ids by which doors know them."""
    return [{**one, "id": one["id"] or str(place)} for place, one in enumerate(pending["options"], 1)]


def offered(pending: Pending) -> list[dict[str, Any]]:
    """Return the options as the user sees them: by no id that looks like the number of another one."""
    return [{**one, "id": "" if one["id"].isdecimal() else one["id"]} for one in pending["options"]]


def labels_of(pending: Pending, lang: str) -> dict[str, str]:
    """Return the names of the fields that are still wanted, each with its label."""
    return {field["name"]: field["label"] for field in ask(pending, lang).fields}


def _offered(option: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: option[name] for name in ("id", "label", "detail") if option[name] or name != "detail"}
