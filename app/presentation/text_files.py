"""Faults of the texts that a turn will read: in their encoding, their TOML, their entries, and the fields of forms."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from itertools import product
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field, StrictBool

import prompts
from agents.errors import UsageError
from agents.language.schedule.grammar import pieces_in, separator
from agents.toolkit.questions.form import permitted
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from app.extensions import plugins
from app.yaml_file import FilePart, validated
from prompts import (
    FALLBACK,
    WORD_KEYED,
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
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
LETTER = r"[^\x00-@\[-`{-~\u2010-\u2015]"
ALPHABET = re.compile(f"({LETTER}(-{LETTER})?)*")
SUFFIXES = (".md", ".toml")
SUFFIX_WITHIN: Mapping[str, Sequence[str]] = {"cards": (".md",), "observers": (".md",), "forms": (".toml",)}
"""The suffixes of the texts in a folder of this name."""
OF_DIALOGS = (
    *("prompt.md", "help.md", "opening.md", "summary.md"),
    *("phrases.toml", "form.toml", "confirm.toml", "standin.toml"),
)
"""The texts of dialogs that the application reads."""
NUMBER = re.compile(r"-?[\d.]+")
SCHEDULE = Path("schedule.toml")
OF_TIME = ("weekdays", "headings", "months", "days")
"""The lists that have an entry for each day or month."""
ALSO: Mapping[str, str] = {"whole": "unit", "half": "part"}
"""The sections of `words` in `schedule.toml` that may have the keys of another one."""


def _alphabet(letters: str) -> str:
    if not ALPHABET.fullmatch(letters):
        raise ValueError("write letters, and ranges such as a-z, without blanks and signs")
    try:
        re.compile(f"[{letters or 'a'}]")
    except re.error as wrong:
        raise ValueError(f"write a range from its first letter to its last: {wrong}") from None
    return letters


def _stemmer(name: str) -> str:
    # The package takes long to import.
    there_are = import_module("snowballstemmer").algorithms() if name else [name]
    if name not in there_are:
        raise ValueError(f"there is no stemmer {name!r}; there are: {', '.join(there_are)}")
    return name


class LanguageFacts(FilePart):
    """The entries of `language.toml`."""

    names: tuple[Annotated[str, Field(pattern=r"\S")], ...] = ()
    letters: Annotated[str, AfterValidator(_alphabet)] = ""
    stemmer: Annotated[str, AfterValidator(_stemmer)] = ""
    decimal: Literal[".", ","] = "."
    spaced: StrictBool = True


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
    steps: Mapping[str, str] = {}
    arguments: Mapping[str, str] = {}


KINDS: Mapping[str, type[BaseModel]] = {"confirm.toml": CallTexts, "language.toml": LanguageFacts}
"""The entries of the files that have no others, by name."""
ELSEWHERE = ("form.toml", "standin.toml", *KINDS)
"""The files whose entries have checks of their own."""
SORTS: Mapping[type, str] = {str: "a text", int: "a number", dict: "a section"}


@dataclass(frozen=True)
class TextFile:
    """A text file of a language; `name` begins below the language's folder."""

    folder: Path
    lang: str
    name: Path
    text: str
    table: Mapping[str, Any]
    """The content of a TOML file; empty for any other."""

    def __str__(self) -> str:
        return named(self.folder / self.lang / self.name)

    @property
    def is_card(self) -> bool:
        """Whether it is a tool's card."""
        return self.name.suffix == ".md" and self.name.parent.name == "cards"

    @property
    def form(self) -> str:
        """The dialog or the tool whose form it words; empty for any other text."""
        inner = self.name.parent.name
        return self.name.stem if inner == "forms" else inner if self.name.name == "form.toml" else ""


def read_all() -> tuple[list[TextFile], list[str]]:
    """Return every text file of every language, also those of extensions, and a line for each unreadable one."""
    texts, broken = list[TextFile](), list[str]()
    for lang, folder in product(languages(), [prompts.FOLDER, *(root / "prompts" for root in prompts.EXTENSIONS)]):
        for path in sorted((folder / lang).rglob("*.*")):
            name = path.relative_to(folder / lang)
            if name.suffix in SUFFIXES and name.parts[0] not in prompts.OFF:
                try:
                    table = read_toml(path) if name.suffix == ".toml" else {}
                    texts.append(TextFile(folder, lang, name, read_text(path), table))
                except PromptError as fault:
                    broken.append(str(fault))
    return texts, broken


def no_languages(texts: Sequence[TextFile], speakers: Speakers) -> Iterator[str]:
    """Yield the folders of texts with the name of a dialog, or with one such as "EN" in place of a language's code."""
    for folder, lang in dict.fromkeys((file.folder, file.lang) for file in texts):
        if not LANGUAGE_CODE.fullmatch(lang) or lang in speakers.dialogs:
            yield f"{named(folder / lang)}: call the folder by the code of its language, such as en, de or pt-BR"


def stray(speakers: Speakers) -> Iterator[str]:
    """Yield the files that nothing reads: of another kind, or with a name that resembles one that is read."""
    shipped = (path.name for path in (prompts.FOLDER / FALLBACK).iterdir())
    there_are = {*OF_DIALOGS, *SUFFIX_WITHIN, *speakers.dialogs, *plugins(), *prompts.OFF, *shipped}
    for path in (folder / lang / name for lang in languages() for name, folder in files(lang, "**/*").items()):
        suffixes = SUFFIX_WITHIN.get(path.parent.name, SUFFIXES)
        is_free = path.name in there_are or path.parent.name in SUFFIX_WITHIN
        if path.is_file() and path.suffix not in suffixes and path.name[0] != "." and path.name[-1] != "~":
            yield f"{named(path)} is never read: its name must end with {' or '.join(suffixes)}"
        elif near := () if is_free else get_close_matches(path.name, there_are, 1, ALIKE):
            yield f"{named(path)}: the application reads no text of this name; do you mean {near[0]}?"


def _with_english(texts: Sequence[TextFile]) -> Iterator[tuple[TextFile, TextFile | None]]:
    """Yield each text with the shipped English text, or that of its own folder; an English text itself with None."""
    english = {(file.folder, file.name): file for file in texts if file.lang == FALLBACK}
    for file in texts:
        first = english.get((prompts.FOLDER, file.name)) or english.get((file.folder, file.name))
        yield file, None if first is file else first


def misfits(texts: Sequence[TextFile], dialogs: Collection[str]) -> Iterator[str]:
    """Yield the differences of texts from their file in English: variables, and the kinds of entries.

    `dialogs` are those with a prompt in a file.
    """
    for file, first in _with_english(texts):
        given, own = ({*Template(each.text).get_identifiers()} for each in (first or file, file))
        yield from (f"{file}: nothing fills in ${variable}" for variable in sorted(own - given))
        if file.name.suffix == ".md" and not file.is_card and not Template(file.text).is_valid():
            yield f"{file} has a $ that begins no variable: write $$"
        if file.name.name == "prompt.md" and file.name.parts[0] in dialogs:
            yield from (f"{file} needs the variable ${name}, which no dialog's prompt gets" for name in sorted(own))
            yield from () if file.text.strip() else (f"{file} is empty",)
        if kind := Phrases if _is_of(dialogs, file) else KINDS.get(file.name.name):
            try:
                validated(kind, file.table, str(file))
            except UsageError as wrong:
                yield str(wrong)
        elif first:
            odd = [*_otherwise(file.table, first.table)]
            is_of_time = file.name == SCHEDULE and not odd
            odd += _of_time(file.table.get("words", {}), first.table["words"], file.lang) if is_of_time else ()
            yield from (f"{file}: {fault}" for fault in odd)


def _is_of(dialogs: Collection[str], file: TextFile) -> bool:
    """Tell whether a file has the phrases of one of these dialogs."""
    return file.name.name == "phrases.toml" and file.name.parts[0] in dialogs


def _otherwise(own: Mapping[str, Any], given: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield the entries of a table that are of another kind than those of the same name in another one."""
    for key in (key for key in own if key in given):
        entry, other = own[key], given[key]
        if isinstance(entry, dict) and isinstance(other, dict):
            is_open = key in WORD_KEYED or place == "words."
            others = dict.fromkeys(entry, next(iter(other.values()), "")) if is_open else other
            yield from _otherwise(entry, others, f"{place}{key}.")
        elif (sort := _sort(other)) != _sort(entry):
            yield f"{place}{key} must be {sort}, found {entry!r}"
        elif key in OF_TIME and isinstance(entry, list) and len(entry) != len(other):
            yield f"{place}{key} must have {len(other)} entries, found {len(entry)}"


def _sort(entry: object) -> str:
    if isinstance(entry, list):
        return "a list of texts" if all(isinstance(part, str) and part.strip() for part in entry) else "another list"
    return SORTS.get(type(entry), "as in English")


def _of_time(words: Mapping[str, Any], given: Mapping[str, Any], lang: str) -> Iterator[str]:
    """Yield the faults of a language's words and patterns for time, which the first message would come upon."""
    for section, entries in words.items():
        keys = [*given.get(section, ()), *given.get(ALSO.get(section, ""), ())]
        forms = {NUMBER.sub("", key).strip() for key in keys}
        for key in (key for key in entries if NUMBER.sub("", key).strip() not in forms):
            yield f"nothing reads words.{section}.{key}; there are: {', '.join(keys)}"
            return
        for key, expression in ((key, expression) for key, listed in entries.items() for expression in listed):
            try:
                re.compile(expression)
            except re.error as wrong:
                yield f"words.{section}.{key}: {expression!r}: {wrong}"
                return
    try:
        pieces_in("", lang)
        separator(lang)
    except ValueError as wrong:
        yield f"patterns: {wrong}"


def unread(texts: Sequence[TextFile], dialogs: Collection[str]) -> Iterator[str]:
    """Yield the entries of a team's tables that English has not, if they resemble one that is read or translate it."""
    for file, first in _with_english(texts):
        if file.name.suffix == ".toml" and file.name.name not in ELSEWHERE and file.name.parent.name != "forms":
            own, given = file.table, first.table if first else {}
            field_names = {*Phrases.model_fields} if _is_of(dialogs, file) else set[str]()
            for key in beyond(own, given):
                near = get_close_matches(key, {*given, *field_names} - own.keys(), 1, ALIKE)
                # `misfits` holds the words for time to those that are read.
                is_open = key.partition(".")[0] in field_names or (file.name == SCHEDULE and key.startswith("words."))
                if not is_open and (near or file.lang != FALLBACK):
                    meant = f"; do you mean {near[0]!r}?" if near else ""
                    yield f"{file}: the application has no entry {key!r} in English{meant}"


def of_forms(texts: Iterable[TextFile], speakers: Speakers) -> Iterator[str]:
    """Yield the faults of the texts of forms: fields that do not exist, parts that nothing reads."""
    forms = _forms(speakers)
    for file in texts:
        if form := forms.get(file.form):
            yield from _of_form(file, form)


def unowned(texts: Sequence[TextFile], speakers: Speakers) -> Iterator[str]:
    """Yield texts for forms that nothing has; they may be left from a form that was taken away."""
    # The tools of a plug-in depend on settings.
    owners = {"", *_forms(speakers)}
    for file in (file for file in texts if file.form not in owners and file.name.parts[0] not in plugins()):
        yield f"{file} has texts for a form that no dialog and no tool of this name has"


def unasked(speakers: Speakers) -> Iterator[str]:
    """Yield the fields of dialogs' forms without a question of their own; the user is asked for them by name."""
    forms = {name: dialog.form for name, dialog in speakers.dialogs.items() if dialog.form and not dialog.roles}
    for name, form in forms.items():
        questioned = [key for key, entry in form_texts(name, FALLBACK).items() if "question" in entry]
        bare, place = [key for key in form.model_fields if key not in questioned], named(home_of(name, FALLBACK))
        yield from (f"{place}/form.toml: the field {key!r} has no question" for key in bare)


def _forms(speakers: Speakers) -> dict[str, type[BaseModel]]:
    """Return the forms of tools and of dialogs, by name."""
    of_tools = {tool.name: traits_of(tool).form for speaker in speakers for tool in speaker.tools}
    own = of_tools | {name: dialog.form for name, dialog in speakers.dialogs.items() if not dialog.roles}
    return {name: form for name, form in own.items() if form}


def _of_form(file: TextFile, form: type[BaseModel]) -> Iterator[str]:
    there_are = ", ".join(form.model_fields)
    # The tools that fill in a form may name its fields by their aliases.
    fields = {str(name): field for key, field in form.model_fields.items() for name in (field.alias or key, key)}
    for key, entry in file.table.items():
        if key not in fields:
            yield f"{file}: there is no field {key!r}; there are: {there_are}"
            continue
        try:
            texts = validated(FieldTexts, entry, f"{file}: [{key}]")
        except UsageError as wrong:
            yield str(wrong)
            continue
        slots = {slot for example in texts.examples for slot in SLOT.findall(example)} - fields.keys()
        yield from (f"{file}: an example names {{{slot}}}, no field; there are: {there_are}" for slot in slots)
        choices = _choices(fields[key].annotation)
        for choice in texts.values.keys() - {*choices}:
            yield f"{file}: [{key}] values.{choice}: the field permits {', '.join(choices) or 'no fixed values'}"


def _choices(annotation: object) -> list[str]:
    """Return the values that may have other words."""
    flags = ["true", "false"] if bool in (annotation, *get_args(annotation)) else []
    return [*map(str, permitted(annotation)), *flags]
