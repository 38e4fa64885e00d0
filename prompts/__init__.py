"""Text only, by language: prompts as Markdown, short sentences and word lists as TOML.

A file that a language lacks falls back to English; variables are written `$name`. The folder `prompts` of an extension
is searched first: its files, and the entries of its TOML files, take the place of the shipped ones.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from string import Template
from typing import Any

FALLBACK = "en"
WORD_KEYED = ("contractions", "numbers")
"""Sections of tables with words of the language itself as keys; they are taken whole."""
FOLDER = Path(__file__).parent
VARIABLE = re.compile(r"\\\$(\w+)")
"""A variable of a sentence, as `re.escape` writes it."""
EXTENSIONS: tuple[Path, ...] = ()
"""The folders of a team's own dialogs, observers and prompts, as the application has set them."""
OFF: frozenset[str] = frozenset()
"""The shipped dialogs that are switched off; their texts are not found."""


@dataclass(frozen=True)
class Language:
    """The facts of a language in `prompts/<lang>/language.toml`; a language without the file has the defaults."""

    names: tuple[str, ...] = ()
    """Its names, in its own words first, then in those of others."""
    letters: str = ""
    """Its alphabet in small letters, as in a regular expression ("a-z"); empty if its script does not tell it."""
    stemmer: str = ""
    """Its stemmer in the `snowballstemmer` package; empty if its words are compared whole."""
    decimal: str = "."
    """The sign before the decimals of a number."""
    spaced: bool = True
    """Whether blanks stand between its words; if not, its single characters are compared."""


class PromptError(LookupError):
    """Tells the developer which prompt file or variable is missing."""


def prompt(name: str, lang: str, /, **variables: object) -> str:
    """Return the prompt `name` ("<dialog>/prompt") in `lang`, its `$variables` filled in.

    Raises:
        PromptError: no language has the file, or a variable of it was not given.
    """
    return _filled(_template(name, lang), variables, f"{lang}/{name}.md")


def prompts_of_all(name: str, lang: str) -> list[str]:
    """Return the prompt `name` ("help") in `lang`: the engine's, then those of the dialogs that have one.

    Raises:
        PromptError: no language has the engine's prompt.
    """
    of_dialogs = [path.parent.name for path in files(FALLBACK, f"*/{name}.md")]
    return [prompt(file, lang) for file in (name, *(f"{dialog}/{name}" for dialog in of_dialogs))]


def observer_prompt(name: str, lang: str, /, **variables: object) -> tuple[str, str]:
    """Return an observer's role, which is constant, and the facts below the line `---` with their variables filled in.

    Raises:
        PromptError: no language has the file, the role has a variable, or a variable was not given.
    """
    role, facts = observer_parts(name, lang)
    return role.substitute().strip(), _filled(facts, variables, f"{lang}/{observer_file(name)}.md").strip()


def observer_parts(name: str, lang: str) -> tuple[Template, Template]:
    """Return the role and the facts of an observer's prompt. Raises PromptError: no file, or a variable in the role."""
    file = observer_file(name)
    role, _, facts = _template(file, lang).template.partition("\n---\n")
    if names := Template(role).get_identifiers():
        raise PromptError(f"prompts/{lang}/{file}.md: ${names[0]} stands in the role; put it below a line ---")
    return Template(role), Template(facts)


def observer_file(name: str) -> str:
    """Return the prompt of an observer ("observers/finished"), which may stand with a dialog's prompts."""
    return _observer_file(_folders(), name)


@cache
def _observer_file(_: tuple[Path, ...], name: str) -> str:
    own = files(FALLBACK, f"*/observers/{name}.md")
    return next((path.with_suffix("").as_posix() for path in own), f"observers/{name}")


def field_label(owner: str, name: str, lang: str) -> str:
    """Return the label of a field in the form of a dialog or a tool; without one its name."""
    return str(form_texts(owner, lang).get(name, {}).get("label", name))


def fact_label(name: str, lang: str) -> str:
    """Return the label of a fact that an observer notes, from a dialog's `phrases.toml`, section `facts`."""
    dialogs = (path.parent.name for path in files(FALLBACK, "*/phrases.toml"))
    labels = (table(f"{dialog}/phrases", lang).get("facts", {}).get(name) for dialog in dialogs)
    return next((str(label) for label in labels if label), name.replace("_", " "))


def variables(name: str, lang: str) -> set[str]:
    """Return the names of the variables that a prompt wants."""
    return set(_template(name, lang).get_identifiers())


def phrase(key: str, lang: str, /, **variables: object) -> str:
    """Return one short sentence for the user, from `texts.toml`.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    return sentence("texts", key, lang, **variables)


def sentence(file: str, key: str, lang: str, /, **variables: object) -> str:
    """Return the sentence `key` ("bye", or "reply.lang_is" for one of a section) of a TOML file, filled in.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    return _filled(_sentence(_folders(), file, key, lang), variables, f"{lang}/{file}.toml: {key!r}")


@cache
def _sentence(folders: tuple[Path, ...], file: str, key: str, lang: str) -> Template:
    texts = (_find(_toml(folders, candidate, file), key) for candidate in (lang, FALLBACK))
    text = next((text for text in texts if text is not None), None)
    if text is None:
        raise PromptError(f"prompts/{FALLBACK}/{file}.toml has no sentence {key!r}")
    return Template(text)


def retold(file: str, text: str, lang: str) -> str:
    """Return a sentence of a TOML file, given in the fallback's language, in another language; any other text as it is.

    So a text that is stored, or printed for developers, in one language is shown in the reader's. A value within the
    sentence is retold as well if it is one of the sentences.
    """
    for key, pattern in _patterns(_folders(), file).items():
        if match := pattern.fullmatch(text):
            return sentence(file, key, lang, **{name: retold(file, it, lang) for name, it in match.groupdict().items()})
    return text


@cache
def _patterns(folders: tuple[Path, ...], file: str) -> dict[str, re.Pattern[str]]:
    """Return the pattern of each sentence of a file with its values, those with the most words of their own first."""
    sentences = {key: text for key, text in _toml(folders, FALLBACK, file).items() if isinstance(text, str)}
    longest = sorted(sentences, key=lambda key: -len(re.sub(r"\$\w+", "", sentences[key])))
    return {key: re.compile(VARIABLE.sub(r"(?P<\1>.*)", re.escape(sentences[key])), re.DOTALL) for key in longest}


def table(name: str, lang: str) -> dict[str, Any]:
    """Return a TOML file of a language ("words", "<dialog>/form"); the fallback's file adds missing entries.

    Sections are completed key by key, but for those of `WORD_KEYED`. A list is never mixed from two languages.
    """
    return {**_completed(_folders(), lang, name)}


@cache
def _completed(folders: tuple[Path, ...], lang: str, name: str) -> dict[str, Any]:
    return _merged(_toml(folders, FALLBACK, name), _toml(folders, lang, name))


def _merged(entries: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, object]:
    """Return entries with others in their place, key by key in sections."""
    merged = {**entries, **own}
    for key in (entries.keys() & own.keys()).difference(WORD_KEYED):
        if isinstance(entries[key], dict) and isinstance(own[key], dict):
            merged[key] = _merged(entries[key], own[key])
    return merged


@cache
def card(tool: str, lang: str) -> tuple[str, tuple[str, ...]]:
    """Return a tool's description in `lang` (empty: its docstring serves) and its example phrases.

    A card is `<dialog>/cards/<tool>.md`, or `cards/<tool>.md` for a tool of no dialog: the description, then one
    example a line behind a dash.
    """
    path = card_file(tool, lang)
    # A file that is not UTF-8 is reported at start, with all other faults of a card.
    return read_card(path.read_text("utf-8-sig", errors="replace") if path.exists() else "")


def read_card(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the description and the examples in the text of a card."""
    lines = text.splitlines()
    examples = tuple(line[2:].strip() for line in lines if line.startswith("- "))
    description = "\n".join(line for line in lines if not line.startswith("- ")).strip()
    return description, examples


def card_file(tool: str, lang: str, dialog: str = "") -> Path:
    """Return the path of a tool's card in a language; for a missing card, a path as of English or of its dialog."""
    for language in (lang, FALLBACK):
        for pattern in (f"cards/{tool}.md", f"*/cards/{tool}.md"):
            for path, folder in files(language, pattern).items():
                return folder / lang / path
    return home_of(dialog, lang) / "cards" / f"{tool}.md"


def home_of(dialog: str, lang: str) -> Path:
    """Return the folder for a dialog's texts in a language; for no dialog, that for shipped texts."""
    folder = next(iter(files(FALLBACK, f"{dialog}/prompt.md").values()), FOLDER) if dialog else FOLDER
    return folder / lang / dialog


def carded(lang: str) -> list[str]:
    """Return the names of the tools that have a card in `lang`."""
    return sorted({path.stem for path in files(lang, "**/cards/*.md")})


def title_of(dialog: str, lang: str) -> str:
    """Return a dialog's title for the user, or its name if it has none."""
    return str(table(f"{dialog}/phrases", lang).get("title", dialog))


def form_texts(name: str, lang: str) -> dict[str, Any]:
    """Return the labels and questions of the form of the dialog, or of the tool, with this name."""
    return table(_form(_folders(), OFF, name), lang)


@cache
def _form(folders: tuple[Path, ...], off: frozenset[str], name: str) -> str:
    """Return the name of the file of a form's texts, without its ending; the search takes long."""
    places = [folder / FALLBACK for folder in folders]
    paths = sorted(path.relative_to(place) for place in places for path in place.glob(f"**/forms/{name}.toml"))
    of_tools = [path.with_suffix("").as_posix() for path in paths if path.parts[0] not in off]
    return next(iter(of_tools), f"{name}/form")


@cache
def edition() -> object:
    """Return a mark that changes with `read_anew`: objects that are made of the texts are kept under it."""
    return object()


def read_anew() -> None:
    """Forget the prompts and cards that were read: their files have changed."""
    kept = (card, edition, _completed, _form, _languages, _observer_file, _patterns, _sentence, _template, _toml)
    for reader in kept:
        reader.cache_clear()


def languages() -> list[str]:
    """Return the languages: the folders with a text, the fallback first."""
    return [*_languages(_folders())]


@cache
def _languages(folders: tuple[Path, ...]) -> tuple[str, ...]:
    places = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    names = {path.name for path in places if any(path.rglob("*.md")) or any(path.rglob("*.toml"))}
    return tuple(sorted(names, key=lambda lang: (lang != FALLBACK, lang)))


def translated(name: str) -> list[str]:
    """Return the languages that have the prompt `name` ("<dialog>/prompt") of their own, the fallback first."""
    return [lang for lang in languages() if _file(_folders(), lang, f"{name}.md")]


def language(lang: str) -> Language:
    """Return the facts of a language."""
    entries = _toml(_folders(), lang, "language")
    facts = {name: str(entries[name]) for name in ("letters", "stemmer", "decimal") if name in entries}
    return Language(tuple(entries.get("names", ())), **facts, spaced=bool(entries.get("spaced", True)))


def lacking(name: str, lang: str) -> list[str]:
    """Return the entries of a TOML file that a language lacks: "bye", or "reply.lang_is" of a section."""
    return beyond(_toml(_folders(), FALLBACK, name), _toml(_folders(), lang, name))


def beyond(entries: Mapping[str, object], own: Mapping[str, Any], place: str = "") -> list[str]:
    """Return the entries of a table that another one does not have: "bye", or "reply.lang_is" of a section."""
    names: list[str] = []
    for key, entry in entries.items():
        if key not in own:
            names.append(f"{place}{key}")
        elif isinstance(entry, dict) and isinstance(own[key], dict) and key not in WORD_KEYED:
            names += beyond(entry, own[key], f"{place}{key}.")
    return names


def has_table(name: str, lang: str) -> bool:
    """Tell whether a language has a TOML file of its own, so that `table` does not fall back."""
    return bool(_toml(_folders(), lang, name))


def files(lang: str, pattern: str) -> dict[Path, Path]:
    """Return the files of a language that match a glob, each with its folder of prompts, in their order.

    A file's path begins below the language's folder.
    """
    places = {
        path.relative_to(folder / lang): folder
        for folder in reversed(_folders())
        for path in (folder / lang).glob(pattern)
    }
    return dict(sorted(place for place in places.items() if place[0].parts[0] not in OFF))


def named(path: Path) -> str:
    """Return the path of a prompt or a card as a developer writes it: "prompts/en/cards/abilities.md"."""
    folder = next(folder for folder in _folders() if path.is_relative_to(folder))
    return path.relative_to(folder.parent if folder == FOLDER else folder.parents[1]).as_posix()


def _folders() -> tuple[Path, ...]:
    """Return the folders of prompts, those of extensions first."""
    return (*(root / "prompts" for root in EXTENSIONS), FOLDER)


def _file(folders: tuple[Path, ...], lang: str, name: str) -> Path | None:
    """Return the path of a file of a language; None if there is none, or its dialog is switched off."""
    paths = [folder / lang / name for folder in folders if _is_name(lang) and name.partition("/")[0] not in OFF]
    return next((path for path in paths if path.exists()), None)


def _filled(template: Template, variables: Mapping[str, object], place: str) -> str:
    try:
        return template.substitute(variables)
    except KeyError as missing:
        raise PromptError(f"prompts/{place} needs the variable ${missing.args[0]}") from None


@cache
def _template(name: str, lang: str) -> Template:
    for candidate in (lang, FALLBACK):
        if path := _file(_folders(), candidate, f"{name}.md"):
            return Template(read_text(path).strip())
    raise PromptError(f"prompts/{FALLBACK}/{name}.md is missing: write it, then start again")


@cache
def _toml(folders: tuple[Path, ...], lang: str, name: str) -> dict[str, Any]:
    paths = [_file((folder,), lang, f"{name}.toml") for folder in reversed(folders)]
    return reduce(_merged, [read_toml(path) for path in paths if path], {})


def read_text(path: Path) -> str:
    """Return the text of a file. Raises PromptError: it is not UTF-8."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise PromptError(f"{named(path)} is not UTF-8") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises PromptError: it is not TOML, or not UTF-8."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as wrong:
        raise PromptError(f"{named(path)} is not TOML: {wrong}") from None


def _is_name(lang: str) -> bool:
    """Tell whether a language is the name of one folder: a name from a database could lead anywhere."""
    return Path(lang).name == lang


def _find(entries: Any, key: str) -> str | None:
    for part in key.split("."):
        entries = entries.get(part, {})
    return entries if isinstance(entries, str) else None
