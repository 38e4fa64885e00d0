"""Faults of the texts that a turn will read: in their encoding, their TOML, and the fields of forms."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

from pydantic import BaseModel

import prompts
from agents.errors import UsageError
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from app.yaml_file import FilePart, validated
from prompts import FALLBACK, PromptError, files, form_texts, home_of, languages, named, read_text, read_toml

SLOT = re.compile(r"\{([^{}]*)\}")


class FieldTexts(FilePart):
    """The texts of a form's field."""

    label: str = ""
    question: str = ""
    examples: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}


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


def unfilled(lang: str) -> Iterator[str]:
    """Yield the variables of a team's texts that the shipped file in English does not have, or else their own one."""
    for name, folder in files(lang, "**/*").items():
        path, shipped = folder / lang / name, prompts.FOLDER / FALLBACK / name
        first = shipped if shipped.is_file() else folder / FALLBACK / name
        # The shipped translations are tested.
        if folder != prompts.FOLDER and path.suffix in (".md", ".toml") and first.is_file():
            given, own = ({*Template(read_text(file)).get_identifiers()} for file in (first, path))
            yield from (f"{named(path)}: nothing fills in ${variable}" for variable in sorted(own - given))


def of_forms(speakers: Speakers, lang: str) -> Iterator[str]:
    """Yield the faults of the texts of forms: fields that do not exist, parts that nothing reads."""
    for name, form in _forms(speakers).items():
        yield from _of_form(f"{name}/form.toml", name, form, lang)
    for tool in {tool.name: tool for speaker in speakers for tool in speaker.tools}.values():
        if tool_form := traits_of(tool).form:
            place = next(iter(files(FALLBACK, f"**/forms/{tool.name}.toml")), Path(f"forms/{tool.name}.toml"))
            yield from _of_form(place.as_posix(), tool.name, tool_form, lang)


def unasked(speakers: Speakers) -> Iterator[str]:
    """Yield the fields of dialogs' forms without a question of their own; the user is asked for them by name."""
    for name, form in _forms(speakers).items():
        texts = form_texts(name, FALLBACK)
        asked = [key for key, entry in texts.items() if isinstance(entry, dict) and entry.get("question")]
        bare, place = [key for key in form.model_fields if key not in asked], named(home_of(name, FALLBACK))
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
