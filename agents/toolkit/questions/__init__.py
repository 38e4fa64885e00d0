"""A tool's question to the user, as doors show it, and the answer in a message.

A page that the user opened hands a value back by its return address, or as the text of a web app. A tool declares the
return address with the parameters that it wants: `https://shop.example/end?state=7&code=`. A parameter with a value has
to come back with the same value; the value of one without is handed to the tool.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ValidationError

from agents.events import Interrupt
from agents.events.views import is_web
from agents.language.text.vocabulary import is_said, says, wishes
from agents.state.person import UserMessage
from agents.state.speaker_state import Json, Pending
from agents.toolkit.questions import form as forms
from agents.toolkit.questions.form import FormFields
from agents.toolkit.questions.options import CONFIRM, INTERRUPT, NO, YES, adds_to_yes, agreed, chosen, misses
from prompts import form_texts, phrase

CHOICE = "choice"
"""The source of a message that is nothing but an answer to a tool's question: a tap, `resume --choose`.

Where its id ends in `#` and the id of a question, it answers no other one.
"""
PAGE = "page"
"""The source of a message that a page sent in the user's name: it can answer only the question that opened a page."""
ANSWERS = (CHOICE, PAGE)
"""The sources of messages that can only answer a question; the user did not type their text."""


def ask(pending: Pending, lang: str) -> Interrupt:
    """Return the question as an event for the user."""
    options = [{name: option[name] for name in ("id", "label", "detail")} for option in called(pending)]
    done = {*pending["filled"], *pending.get("skipped", [])}
    return Interrupt(
        id=_id(pending),
        kind=pending["kind"],
        prompt=pending["prompt"],
        options=[{name: text for name, text in option.items() if text or name != "detail"} for option in options],
        url=pending["url"],
        back=pending.get("back", ""),
        web_app=pending.get("web_app", False),
        fields=[_field(pending, name, lang) for name in pending["fields"] if name not in done],
    )


def _field(pending: Pending, name: str, lang: str) -> Json:
    """Return a field with its label; the label may stand under any name of the field."""
    labels = form_texts(pending["tool"], lang)
    names = [name, *(alias for alias, own in pending.get("aliases", {}).items() if own == name)]
    label = next((str(labels[key]["label"]) for key in names if "label" in labels.get(key, {})), name)
    return {"name": name, "label": label, **({"optional": True} if name in pending.get("optional", []) else {})}


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
    """Return hints: how a page hands its value back, how fields are filled in, and the names of optional fields."""
    lines: list[str] = []
    if question.back:
        parts = urlsplit(question.back)
        names = ", ".join(wanted(question.back))
        lines.append(phrase("page_back", lang, address=f"{parts.netloc}{parts.path}", names=names))
    if optional := ", ".join(one_line(field["label"]) for field in question.fields if field.get("optional")):
        lines.append(phrase("form_optional", lang, names=optional))
    return [*lines, phrase("form_hint", lang)] if len(question.fields) > 1 else lines


def one_line(text: str) -> str:
    """Return a text without line breaks: among numbered lines it could pass for more than one of them."""
    return " ".join(text.split())


def is_meant(pending: Pending, heard: UserMessage) -> bool:
    """Tell whether a message may answer this question."""
    _, sign, meant = heard["id"].rpartition("#")
    return heard["source"] != CHOICE or not sign or meant == _id(pending)


def fits(pending: Pending, text: str, lang: str) -> bool:
    """Tell whether a text that came as an answer (`CHOICE`) is one; a form may still want other values."""
    if pending["kind"] == CONFIRM:
        return agreed(text, called(pending), lang, pending["prompt"]) is not None
    if pending["options"] and not _is_review(pending):
        return chosen(text, called(pending), lang) is not None
    if pending["fields"] and returned(pending, text.strip(), CHOICE) is None:
        form_fields = open_fields(pending, lang)
        return bool(forms.raw_values(form_fields, text, sure=True) or forms.left_out(form_fields, text))
    return bool(text.strip())


def _is_review(pending: Pending) -> bool:
    """Tell whether a question of `interrupt()` offers yes and no; any other words are an answer, too."""
    return [option["id"] for option in pending["options"]] == [YES, NO] and pending["kind"] == INTERRUPT


def called(pending: Pending) -> list[Json]:
    """Return the options with their ids for doors."""
    return [{**option, "id": option["id"] or str(place)} for place, option in enumerate(pending["options"], 1)]


def open_fields(pending: Pending, lang: str) -> FormFields:
    """Return the fields that the user has yet to fill in."""
    labels = {field["name"]: field["label"] for field in ask(pending, lang).fields}
    given = {name: _field(pending, name, lang)["label"] for name in pending["filled"]}
    return FormFields(labels, pending.get("optional", []), pending.get("aliases", {}), given)


def _id(pending: Pending) -> str:
    """Return the id of a question, fit for a button: a call that asks for more asks another question."""
    answers = [*pending.get("answers", []), *sorted([*pending["filled"], *pending.get("skipped", [])])]
    parts = [pending["call"], pending["kind"], pending["prompt"], *answers]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


@dataclass(frozen=True)
class GivenAnswer:
    """A user's message that may answer a question."""

    pending: Pending
    text: str
    lang: str
    fitting: forms.Fitting
    is_sure: bool
    """Whether the message can be nothing but an answer: a tap, or the value of a page."""
    form: type[BaseModel] | None
    is_elsewhere: Callable[[], bool]


@dataclass(frozen=True)
class AnswerReading:
    """The reading of a message as an answer to a question."""

    outcome: Literal["given", "again", "runs", "declined"]
    """The call has its result, its question is asked again, it runs now, or the user declines it."""
    pending: Pending
    """The question after this answer."""
    value: object = None


def read_answer(given: GivenAnswer) -> AnswerReading | None:
    """Return the answer of a message to the question; None if it is about something else."""
    pending = given.pending
    if pending["kind"] == CONFIRM:
        is_agreed = agreed(given.text, called(pending), given.lang, pending["prompt"])
        if is_agreed is None and not given.is_sure and adds_to_yes(given.text, pending["prompt"], given.lang):
            return AnswerReading("runs", {**pending, "more": True})
        return None if is_agreed is None else AnswerReading("runs" if is_agreed else "declined", pending)
    if pending["options"] and not _is_review(pending):
        return read_choice(pending, given.text, given.lang, is_sure=given.is_sure)
    if pending["kind"] == INTERRUPT:
        is_answer = given.text and (given.is_sure or is_said(NO, given.text) or not given.is_elsewhere())
        return _run_again(pending, given.text) if is_answer else None
    if pending["fields"] and given.form:
        return _form(given, given.form)
    is_ready = says("ready", given.text, given.lang)
    if is_ready and pending.get("back"):
        return asked_again(pending, phrase("page_wrong", given.lang))
    answer = {"done": True, "answer": given.text}
    return AnswerReading("given", pending, answer) if given.is_sure or is_ready else None


def _run_again(pending: Pending, answer: str) -> AnswerReading:
    """Run a tool that interrupted itself again, with all its answers."""
    return AnswerReading("runs", {**pending, "answers": [*pending.get("answers", []), answer]})


def read_choice(pending: Pending, text: str, lang: str, *, is_sure: bool = False) -> AnswerReading | None:
    """Read the choice of an option; for a number that no option has, the question is asked again."""
    options = called(pending)
    if not is_sure:
        # The user does not see an id that looks like a number; it could mislead.
        options = [{**option, "id": "" if option["id"].isdecimal() else option["id"]} for option in options]
    place = chosen(text, options, lang)
    if place is None:
        is_wrong = not is_sure and misses(text, options, lang)
        return asked_again(pending, phrase("choice_which", lang, count=len(options))) if is_wrong else None
    value = pending["options"][place]["value"]
    return _run_again(pending, str(value)) if pending["kind"] == INTERRUPT else AnswerReading("given", pending, value)


def _form(given: GivenAnswer, form: type[BaseModel]) -> AnswerReading | None:
    form_fields = open_fields(given.pending, given.lang)
    is_no = forms.takes_no(form, form_fields) and is_said("no", given.text)
    out = forms.left_out(form_fields, given.text)
    if not (given.is_sure or is_no or out) and given.is_elsewhere():
        return None
    pending: Pending = {**given.pending, "skipped": [*given.pending.get("skipped", []), *sorted(out)]}
    try:
        values = forms.filled(form, form_fields, given.text, given.fitting, sure=given.is_sure, without=out)
        if not values and not out:
            return _bare(pending, form, given)
        if not given.is_sure and given.text in values.values() and wishes(given.text, given.lang):
            # "I need batteries" is no product; the speaker knows whose wish it is.
            return None
        everything = {**pending["filled"], **values}
        if {*forms.missing(form, everything)} - {*pending["skipped"]}:
            return asked_again({**pending, "filled": everything}, phrase("form_more", given.lang))
        form_values = form.model_validate(everything, by_alias=True, by_name=True).model_dump(mode="json")
        return AnswerReading("given", pending, form_values)
    except ValidationError as wrong:
        if not given.is_sure and forms.is_sentence(given.text, form_fields):
            return None
        problems = forms.misfits(form, wrong, given.lang)
        rest = forms.filled(form, form_fields, given.text, given.fitting, sure=given.is_sure, without={*out, *problems})
        return _corrected({**pending, "filled": {**pending["filled"], **rest}}, form_fields, problems, given.lang)


def _bare(pending: Pending, form: type[BaseModel], given: GivenAnswer) -> AnswerReading | None:
    """Take a few bare words as the first value that is missing, and ask for the others; None if they do not fit it."""
    form_fields = open_fields(pending, given.lang)
    names = [name for name in forms.missing(form, pending["filled"]) if name in form_fields.labels]
    # Optional fields are asked for last.
    names.sort(key=lambda name: name in form_fields.optional)
    if not forms.is_value(given.text, given.lang) or len(names) < 2:
        return None
    label = form_fields.labels[names[0]]
    first = replace(form_fields, labels={names[0]: label})
    try:
        values = forms.filled(form, first, given.text, given.fitting, sure=False, without=())
    except ValidationError:
        return None
    noted = phrase("form_noted", given.lang, label=label, value=given.text)
    return asked_again({**pending, "filled": {**pending["filled"], **values}}, noted)


def asked_again(pending: Pending, prompt: str) -> AnswerReading:
    """Return the reading with which the question is asked again in other words."""
    return AnswerReading("again", {**pending, "prompt": prompt})


def _corrected(pending: Pending, form_fields: FormFields, wrong: Mapping[str, str], lang: str) -> AnswerReading:
    """Ask for the wrong values anew, or for all values that do not go together."""
    labels = form_fields.labels
    problem = "; ".join(f"{labels.get(name, name)}: {reason}" if name else reason for name, reason in wrong.items())
    values = {} if "" in wrong else {name: value for name, value in pending["filled"].items() if name not in wrong}
    skipped = [] if "" in wrong else [name for name in pending["skipped"] if name not in wrong]
    return asked_again({**pending, "filled": values, "skipped": skipped}, phrase("form_wrong", lang, problem=problem))


def returned(pending: Pending, text: str, source: str) -> str | None:
    """Return the answer that the page of a question hands back by a message.

    A message that is not from a page gives None. One with another address than the declared one gives an empty text.
    """
    back = pending.get("back", "")
    if back and is_web(text):
        values = _values_in(text, back) if len(text) <= forms.LONGEST_FORM else {}
        is_named = bool(values.keys() & {*pending["fields"], *pending["aliases"]})
        return json.dumps(values) if is_named or len(values) > 1 else "".join(values.values())
    if source == PAGE and pending["url"]:
        return text if pending.get("web_app") and len(text) <= forms.LONGEST_FORM else ""
    return None


def wanted(back: str) -> list[str]:
    """Return the parameters whose values a return address asks for. Raises ValueError if it is not an address."""
    return [name for name, value in _parameters(back) if not value]


def leads_to(address: str, back: str) -> bool:
    """Tell whether an address is the declared one, apart from its parameters."""
    pages = [urlsplit(each)[:3] for each in (address, back) if is_web(each)]
    texts = {f"{scheme}://{host}{path.rstrip('/')}".casefold() for scheme, host, path in pages}
    return len(pages) == 2 and len(texts) == 1


def _values_in(address: str, back: str) -> dict[str, str]:
    """Return the values in an address for a declared return address; empty if it does not fit."""
    if not leads_to(address, back):
        return {}
    try:
        sent = _parameters(address)
    except ValueError:
        return {}
    values: dict[str, str] = {}
    for name, fixed in _parameters(back):
        ones = [value for sent_name, value in sent if sent_name == name]
        if len(ones) != 1 or not ones[0].isprintable() or not ones[0] or ones[0] != (fixed or ones[0]):
            return {}
        if not fixed:
            values[name] = ones[0]
    return values


def _parameters(address: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(address).query, keep_blank_values=True, max_num_fields=100)
