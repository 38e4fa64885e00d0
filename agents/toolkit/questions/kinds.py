"""The kinds of question that a tool asks, and what a message answers to each of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from agents.language.text.vocabulary import is_said, says
from agents.state.talk import Json, Pending
from agents.toolkit.questions import called, offered, open_fields
from agents.toolkit.questions.form import FormFields, filled, is_sentence, left_out, misfits, takes_no
from agents.toolkit.questions.options import CONFIRM, INTERRUPT, agreed, chosen, misses
from prompts import phrase


@dataclass(frozen=True)
class Said:
    """What the user said to a question."""

    pending: Pending
    text: str
    lang: str
    is_sure: bool
    """Whether the message can be nothing but an answer: a tap, or what a page handed back."""
    form: type[BaseModel] | None
    is_elsewhere: Callable[[], bool]


@dataclass(frozen=True)
class Given:
    """The call has its result."""

    value: object


@dataclass(frozen=True)
class Chosen:
    """The user takes an option."""

    option: Json


@dataclass(frozen=True)
class Again:
    """The question is asked again, as it stands here."""

    pending: Pending


@dataclass(frozen=True)
class Runs:
    """The call is run now."""

    pending: Pending


@dataclass(frozen=True)
class Declined:
    """The user does not want the call."""


Reading = Given | Chosen | Again | Runs | Declined


def read_answer(said: Said) -> Reading | None:
    """Return what a message answers to the question; None if it is about something else."""
    if said.pending["kind"] == CONFIRM:
        return _agreement(said)
    if said.pending["kind"] == INTERRUPT:
        return _interruption(said)
    if said.pending["options"]:
        return _choice(said)
    if said.pending["fields"] and said.form:
        return _form(said, said.form)
    return _page(said)


def _agreement(said: Said) -> Reading | None:
    is_agreed = agreed(said.text, called(said.pending), said.lang)
    return None if is_agreed is None else Runs(said.pending) if is_agreed else Declined()


def _interruption(said: Said) -> Reading | None:
    """Read the answer to a tool that interrupted itself; the tool is run again with all its answers."""
    text = said.text
    if said.pending["options"]:
        options = _options(said)
        place = chosen(text, options, said.lang)
        if place is None:
            return _which(said, options)
        text = str(said.pending["options"][place]["value"])
    elif not text or (not said.is_sure and said.is_elsewhere()):
        return None
    return Runs({**said.pending, "answers": [*said.pending.get("answers", []), text]})


def _choice(said: Said) -> Reading | None:
    options = _options(said)
    place = chosen(said.text, options, said.lang)
    if place is None:
        return _which(said, options)
    return Chosen(said.pending["options"][place])


def _page(said: Said) -> Reading | None:
    is_ready = says("ready", said.text, said.lang)
    if is_ready and said.pending.get("back"):
        return asked_again(said.pending, phrase("page_wrong", said.lang))
    return Given({"done": True, "answer": said.text}) if said.is_sure or is_ready else None


def _form(said: Said, form: type[BaseModel]) -> Reading | None:
    form_fields = open_fields(said.pending, said.lang)
    is_no = takes_no(form, form_fields) and is_said("no", said.text)
    out = left_out(form_fields, said.text)
    if not (said.is_sure or is_no or out) and said.is_elsewhere():
        return None
    pending: Pending = {**said.pending, "skipped": [*said.pending.get("skipped", []), *sorted(out)]}
    try:
        values = filled(form, form_fields, said.text, sure=said.is_sure, without=out)
        if not values and not out:
            return None
        everything = {**pending["filled"], **values}
        if {*everything, *pending["skipped"]} < {*pending["fields"]}:
            return asked_again({**pending, "filled": everything}, phrase("form_more", said.lang))
        return Given(form.model_validate(everything, by_alias=True, by_name=True).model_dump(mode="json"))
    except ValidationError as wrong:
        if not said.is_sure and is_sentence(said.text, form_fields):
            return None
        return _corrected(pending, form_fields, misfits(form, wrong, said.lang), said.lang)


def asked_again(pending: Pending, prompt: str) -> Again:
    """Return the question with other words."""
    return Again({**pending, "prompt": prompt})


def _corrected(pending: Pending, form_fields: FormFields, wrong: Mapping[str, str], lang: str) -> Again:
    """Ask for the values that are wrong, or for all that do not go together."""
    labels = form_fields.labels
    problem = "; ".join(f"{labels.get(name, name)}: {reason}" if name else reason for name, reason in wrong.items())
    values = {} if "" in wrong else {name: value for name, value in pending["filled"].items() if name not in wrong}
    skipped = [] if "" in wrong else [name for name in pending["skipped"] if name not in wrong]
    return asked_again({**pending, "filled": values, "skipped": skipped}, phrase("form_wrong", lang, problem=problem))


def _options(said: Said) -> list[Json]:
    return called(said.pending) if said.is_sure else offered(said.pending)


def _which(said: Said, options: Sequence[Json]) -> Again | None:
    """Ask again where the message is a number that no option has."""
    if said.is_sure or not misses(said.text, options, said.lang):
        return None
    return asked_again(said.pending, phrase("choice_which", said.lang, count=len(options)))
