"""What a tool asks the user, as doors show it: an event, plain words, and whether an answer fits."""

import hashlib
from collections.abc import Mapping
from urllib.parse import urlsplit

from agents.events import Interrupt
from agents.state.person import Heard
from agents.state.talk import Json, Pending
from agents.toolkit.questions.form import FormFields, left_out, raw_values
from agents.toolkit.questions.options import CONFIRM, agreed, chosen
from agents.toolkit.questions.returned import PAGE, returned, wanted
from prompts import form_texts, phrase

CHOICE = "choice"
"""The source of a message that is nothing but an answer to what a tool asked: a tap, `resume --choose`.

Where its id ends in `#` and the mark of a question, it answers no other one.
"""
ANSWERS = (CHOICE, PAGE)
"""The sources of messages that can only answer a question; the user did not type their text."""


def ask(pending: Pending, lang: str) -> Interrupt:
    """Return what the user is asked."""
    done = {*pending["filled"], *pending.get("skipped", [])}
    return Interrupt(
        id=pending["call"],
        kind=pending["kind"],
        prompt=pending["prompt"],
        options=[_offered(option) for option in called(pending)],
        url=pending["url"],
        back=pending.get("back", ""),
        web_app=pending.get("web_app", False),
        fields=[_field(pending, name, lang) for name in pending["fields"] if name not in done],
    )


def worded(question: Interrupt, lang: str) -> str:
    """Return a question in plain words, its options numbered."""
    texts = [" — ".join(one_line(o[part]) for part in ("label", "detail") if o.get(part)) for o in question.options]
    lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    fields = [f"{field['label']}:" for field in question.fields]
    address = [question.url] if question.url else []
    if question.kind == CONFIRM:
        lines = [phrase("confirm_hint", lang)]
    return "\n".join([question.prompt, *lines, *address, *hints(question, lang), *fields])


def hints(question: Interrupt, lang: str) -> list[str]:
    """Return how a page hands its value back, how fields are filled in, and which of them may be left out."""
    optional = ", ".join(one_line(field["label"]) for field in question.fields if field.get("optional"))
    several = [phrase("form_hint", lang)] if len(question.fields) > 1 else []
    back = [phrase("page_back", lang, **_described(question.back))] if question.back else []
    return [*back, *([phrase("form_optional", lang, names=optional)] if optional else []), *several]


def one_line(text: str) -> str:
    """Return a text without line breaks: among numbered lines it could pass for more than one of them."""
    return " ".join(text.split())


def mark(call: str) -> str:
    """Return a short name for the question of a tool call, fit for a button."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:16]


def is_meant(pending: Pending, heard: Heard) -> bool:
    """Tell whether a message may answer this question."""
    _, sign, meant = heard["id"].rpartition("#")
    return heard["source"] != CHOICE or not sign or meant == mark(pending["call"])


def fits(pending: Pending, text: str, lang: str) -> bool:
    """Tell whether a text that was given as an answer (`CHOICE`) is one; a form may still want other values."""
    if pending["kind"] == CONFIRM:
        return agreed(text, called(pending), lang) is not None
    if pending["options"]:
        return chosen(text, called(pending), lang) is not None
    if pending["fields"] and returned(pending, text.strip(), CHOICE) is None:
        form_fields = open_fields(pending, lang)
        return bool(raw_values(form_fields, text, sure=True) or left_out(form_fields, text))
    return bool(text.strip())


def called(pending: Pending) -> list[Json]:
    """Return the options with the ids by which doors know them."""
    return [{**option, "id": option["id"] or str(place)} for place, option in enumerate(pending["options"], 1)]


def offered(pending: Pending) -> list[Json]:
    """Return the options as the user sees them: an id that looks like a number is left out, since it could mislead."""
    return [{**option, "id": "" if option["id"].isdecimal() else option["id"]} for option in pending["options"]]


def open_fields(pending: Pending, lang: str) -> FormFields:
    """Return the fields that the user has yet to fill in."""
    labels = {field["name"]: field["label"] for field in ask(pending, lang).fields}
    return FormFields(labels, pending.get("optional", []), pending.get("aliases", {}))


def _field(pending: Pending, name: str, lang: str) -> Json:
    """Return a field with its label, which may be written under any name that the field goes by."""
    labels = form_texts(pending["tool"], lang)
    names = [name, *(alias for alias, own in pending.get("aliases", {}).items() if own == name)]
    label = next((str(labels[key]["label"]) for key in names if "label" in labels.get(key, {})), name)
    return {"name": name, "label": label, **({"optional": True} if name in pending.get("optional", []) else {})}


def _described(back: str) -> Mapping[str, str]:
    """Return where a return address leads and what it has to carry, in words for the user."""
    parts = urlsplit(back)
    return {"address": f"{parts.netloc}{parts.path}", "names": ", ".join(wanted(back))}


def _offered(option: Json) -> Mapping[str, str]:
    return {name: option[name] for name in ("id", "label", "detail") if option[name] or name != "detail"}
