"""Faults of the texts that a turn will read: in their encoding, their TOML, and the fields of forms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from string import Template
from typing import Any

from pydantic import BaseModel, Field, create_model

import prompts
from agents.errors import UsageError
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from app.extensions import plugins
from app.yaml_file import FilePart, validated
from prompts import (
    FALLBACK,
    Language,
    PromptError,
    beyond,
    files,
    form_texts,
    home_of,
    languages,
    named,
    read_text,
    read_toml,
)

ALIKE = 0.75
"""The least likeness to an entry that is read, from 0 to 1."""
SLOT = re.compile(r"\{([^{}]*)\}")


class FieldTexts(FilePart):
    """The texts of a form's field."""

    label: str = ""
    question: str = ""
    examples: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}


class ForgetWords(FilePart):
    """People's words for the deletion of a form."""

    whole: tuple[str, ...] = ()
    origin: tuple[str, ...] = Field(default=(), alias="from")
    field: Mapping[str, tuple[str, ...]] = {}
    label: Mapping[str, str] = {}


class Phrases(BaseModel):
    """The entries of `phrases.toml` that are read for every dialog; the others are the dialog's own sentences."""

    title: str = ""
    able: str = ""
    facts: Mapping[str, str] = {}
    forget: ForgetWords = ForgetWords()


class CallTexts(FilePart):
    """The entries of `confirm.toml`."""

    titles: Mapping[str, str] = {}
    arguments: Mapping[str, str] = {}


FACTS: Mapping[str, Any] = {each.name: (each.type, each.default) for each in fields(Language)}
LanguageFacts = create_model("LanguageFacts", __base__=FilePart, **FACTS)
KINDS: Mapping[str, type[BaseModel]] = {"confirm.toml": CallTexts, "language.toml": LanguageFacts}
"""The entries of the files that have no others, by name."""
ELSEWHERE = ("form.toml", "standin.toml", *KINDS)
"""The files whose entries have checks of their own."""
SORTS: Mapping[type, str] = {str: "a text", list: "a list", dict: "a section"}


def unreadable() -> list[str]:
    """Return a line for each unreadable text of each language."""
    return [fault for lang in languages() for path in paths(lang) if (fault := _fault_of(path))]


def paths(lang: str) -> list[Path]:
    """Return every text file of a language, also those of extensions."""
    return [folder / lang / name for name, folder in files(lang, "**/*").items() if name.suffix in (".md", ".toml")]


def _fault_of(path: Path) -> str:
    try:
        (read_toml if path.suffix == ".toml" else read_text)(path)
    except PromptError as fault:
        return str(fault)
    return ""


def _of_teams(lang: str) -> Iterator[tuple[Path, Path]]:
    """Yield each text of a team with the shipped file in English, or else with its own one; shipped ones are tested."""
    for name, folder in files(lang, "**/*").items():
        if folder != prompts.FOLDER and name.suffix in (".md", ".toml"):
            shipped = prompts.FOLDER / FALLBACK / name
            yield folder / lang / name, shipped if shipped.is_file() else folder / FALLBACK / name


def misfits(lang: str) -> Iterator[str]:
    """Yield the differences of a team's texts from their file in English: variables, and the kinds of entries."""
    for path, first in _of_teams(lang):
        if first.is_file():
            given, own = ({*Template(read_text(file)).get_identifiers()} for file in (first, path))
            yield from (f"{named(path)}: nothing fills in ${variable}" for variable in sorted(own - given))
        if path.suffix == ".toml" and path.name not in KINDS:
            for fault in _otherwise(read_toml(path), read_toml(first) if first.is_file() else {}):
                yield f"{named(path)}: {fault}"
        if kind := Phrases if _is_of_dialog(path) else KINDS.get(path.name):
            try:
                validated(kind, read_toml(path), named(path))
            except UsageError as wrong:
                yield str(wrong)


def _is_of_dialog(path: Path) -> bool:
    return path.name == "phrases.toml" and bool(files(FALLBACK, f"{path.parent.name}/prompt.md"))


def _otherwise(own: Mapping[str, object], given: Mapping[str, object], place: str = "") -> Iterator[str]:
    """Yield the entries of a table that are of another kind than those of the same name in another one."""
    for key in own.keys() & given.keys():
        entry, other = own[key], given[key]
        if isinstance(entry, dict) and isinstance(other, dict):
            yield from _otherwise(entry, other, f"{place}{key}.")
        elif type(entry) is not type(other):
            yield f"{place}{key} must be {SORTS.get(type(other), 'as in English')}, found {entry!r}"


def unread(lang: str) -> Iterator[str]:
    """Yield the entries of a team's tables that English has not, if they resemble one that is read or translate it."""
    for path, first in _of_teams(lang):
        if path.suffix == ".toml" and path.name not in ELSEWHERE and path.parent.name != "forms":
            own, given = read_toml(path), read_toml(first) if first.is_file() and first != path else {}
            field_names = {*Phrases.model_fields} if _is_of_dialog(path) else set[str]()
            for key in beyond(own, given):
                near = get_close_matches(key, {*given, *field_names} - own.keys(), 1, ALIKE)
                # A language may have more words for numbers.
                is_open = key.partition(".")[0] in field_names or key[-1].isdecimal()
                if not is_open and (near or lang != FALLBACK):
                    meant = f"; do you mean {near[0]!r}?" if near else ""
                    yield f"{named(path)}: the application has no entry {key!r} in English{meant}"


def of_forms(speakers: Speakers, lang: str) -> Iterator[str]:
    """Yield the faults of the texts of forms: fields that do not exist, parts that nothing reads."""
    for name, form in _forms(speakers).items():
        yield from _of_form(f"{name}/form.toml", name, form, lang)
    for tool in {tool.name: tool for speaker in speakers for tool in speaker.tools}.values():
        if tool_form := traits_of(tool).form:
            place = next(iter(files(FALLBACK, f"**/forms/{tool.name}.toml")), Path(f"forms/{tool.name}.toml"))
            yield from _of_form(place.as_posix(), tool.name, tool_form, lang)


def unowned(speakers: Speakers, lang: str) -> Iterator[str]:
    """Yield a team's texts for forms that nothing has; they may be left from a form that was taken away."""
    owners = {*_forms(speakers), *(tool.name for speaker in speakers for tool in speaker.tools if traits_of(tool).form)}
    for path, _ in _of_teams(lang):
        owner = path.stem if path.parent.name == "forms" else path.parent.name if path.name == "form.toml" else ""
        # The tools of a plug-in depend on settings.
        if owner and owner not in owners and path.parents[1].name not in plugins():
            yield f"{named(path)} has texts for a form that no dialog and no tool of this name has"


def unasked(speakers: Speakers) -> Iterator[str]:
    """Yield the fields of dialogs' forms without a question of their own; the user is asked for them by name."""
    for name, form in _forms(speakers).items():
        texts = form_texts(name, FALLBACK)
        questioned = [key for key, entry in texts.items() if isinstance(entry, dict) and entry.get("question")]
        bare, place = [key for key in form.model_fields if key not in questioned], named(home_of(name, FALLBACK))
        yield from (f"{place}/form.toml: the field {key!r} has no question" for key in bare)


def _forms(speakers: Speakers) -> dict[str, type[BaseModel]]:
    return {name: dialog.form for name, dialog in speakers.dialogs.items() if dialog.form and not dialog.roles}


def _of_form(file: str, name: str, form: type[BaseModel], lang: str) -> Iterator[str]:
    own = [folder / lang / path for path, folder in files(lang, file).items()]
    place = named(own[0]) if own else f"prompts/{lang}/{file}"
    there_are = ", ".join(form.model_fields)
    # The tools that fill in a form may name its fields by their aliases.
    fields = {*form.model_fields, *(str(field.alias) for field in form.model_fields.values() if field.alias)}
    for key, entry in form_texts(name, lang).items() if own else ():
        if key not in fields:
            yield f"{place}: there is no field {key!r}; there are: {there_are}"
        try:
            examples = validated(FieldTexts, entry, f"{place}: [{key}]").examples
        except UsageError as wrong:
            yield str(wrong)
            continue
        slots = {slot for example in examples for slot in SLOT.findall(example)}
        yield from (
            f"{place}: an example names {{{slot}}}, no field; there are: {there_are}" for slot in slots - fields
        )
