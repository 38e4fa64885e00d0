"""Faults of the texts that a turn will read: in their encoding, their TOML, and the fields of forms."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from prompts import FALLBACK, PromptError, files, form_texts, languages, named, read_text, read_toml

PARTS: Mapping[str, TypeAdapter[Any]] = {
    "label": TypeAdapter(str),
    "question": TypeAdapter(str),
    "examples": TypeAdapter(list[str]),
    "values": TypeAdapter(dict[str, list[str]]),
}
"""The texts of a form's field, with their types."""
SLOT = re.compile(r"\{([^{}]*)\}")


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
        bare = [key for key in form.model_fields if not _parts(texts.get(key)).get("question")]
        yield from (f"prompts/{FALLBACK}/{name}/form.toml: the field {key!r} has no question" for key in bare)


def _forms(speakers: Speakers) -> dict[str, type[BaseModel]]:
    return {name: dialog.form for name, dialog in speakers.dialogs.items() if dialog.form and not dialog.roles}


def _of_form(file: str, name: str, form: type[BaseModel], lang: str) -> Iterator[str]:
    own = [folder / lang / path for path, folder in files(lang, file).items()]
    place = named(own[0]) if own else f"prompts/{lang}/{file}"
    there_are = ", ".join(form.model_fields)
    # The tools that fill in a form may name its fields by their aliases.
    fields = {*form.model_fields, *(str(field.alias) for field in form.model_fields.values() if field.alias)}
    texts = form_texts(name, lang)
    if own:
        examples = [str(example) for entry in texts.values() for example in _examples(entry)]
        slots = {slot for example in examples for slot in SLOT.findall(example)}
        yield from (f"{place}: there is no field {key!r}; there are: {there_are}" for key in texts if key not in fields)
        yield from (
            f"{place}: an example names {{{slot}}}, no field; there are: {there_are}" for slot in slots - fields
        )
        unread = {(key, part) for key, entry in texts.items() for part in _parts(entry) if part not in PARTS}
        yield from (f"{place}: {key!r} is no section [{key}]" for key, it in texts.items() if not isinstance(it, dict))
        yield from (
            f"{place}: {part!r} of {key!r}: {wrong}"
            for key, entry in texts.items()
            for part, value in _parts(entry).items()
            if part in PARTS and (wrong := _misfit(value, PARTS[part]))
        )
        yield from (
            f"{place}: nothing reads {part!r} of {key!r}; there are: {', '.join(PARTS)}" for key, part in sorted(unread)
        )


def _parts(entry: object) -> Mapping[str, object]:
    return entry if isinstance(entry, Mapping) else {}


def _examples(entry: object) -> list[object]:
    examples = _parts(entry).get("examples", [])
    return examples if isinstance(examples, list) else []


def _misfit(value: object, kind: TypeAdapter[Any]) -> str:
    try:
        kind.validate_python(value)
    except ValidationError as wrong:
        return wrong.errors()[0]["msg"]
    return ""
