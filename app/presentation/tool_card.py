"""Tool cards, for the review of a tool: its code (signature, traits) and its texts (`prompts/`)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agents.events.views import KINDS
from agents.field_types import wrong_default
from agents.language.identifiers import Schema, shown
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime
from agents.toolkit.descriptions import (
    LONGEST_DESCRIPTION,
    ORIGINAL,
    own_texts,
    parameters,
    texts_of,
    tool_place,
    translation_of,
)
from agents.toolkit.handover_tools import ASK, FILL_FORM, HAND_BACK, entry_of, hand_back
from agents.toolkit.json_schema import SAFE_NAME
from agents.toolkit.questions.form import wrong_mark
from agents.toolkit.result import schema_of
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_code import misfit_of
from agents.toolkit.tool_search import FINDING, assistant_help, tools_of
from agents.toolkit.traits import Traits, traits_of
from agents.toolkit.undo import undo_last
from app.extensions import plugins
from app.presentation.text_files import (
    ALIKE,
    TextFile,
    misfits,
    no_languages,
    of_forms,
    read_all,
    stray,
    unasked,
    unowned,
    unread,
)
from app.presentation.texts import say
from prompts import FALLBACK, card, card_file, carded, files, home_of, lacking, named

PLAIN_TRAITS = (
    *("effect", "repeatable", "transaction", "permission"),
    *("view", "volatile", "shortcut", "always", "irreversible"),
)
"""The traits that a card shows unchanged."""
MOST_OPENINGS = 6
HAND_OVER = "hand-over"
"""The kind of a tool that is not run: it hands the conversation over."""
Owned = tuple[Speaker, BaseTool]
"""A tool, and its speaker."""


@dataclass(frozen=True, kw_only=True)
class ToolCard:
    """A tool, for a person's review."""

    name: str
    owners: Sequence[str]
    source: str
    """The place of a remote tool's description; empty for a function here."""
    kind: str
    """The kind of its traits, or `HAND_OVER`."""
    traits: Traits
    descriptions: Mapping[str, str]
    """The descriptions for models, by language."""
    examples: Mapping[str, Sequence[str]]
    """Example messages of users who want the tool, by language."""
    parameters: Schema
    """The JSON schema for the model, without trusted values."""
    result: Schema
    """The JSON schema of the result; empty for a sentence."""

    def plain(self) -> Json:
        """Return the card as a JSON object; `again_after_s` is in seconds, and 0 without a key."""
        again_after_s = round(self.traits.again_after.total_seconds()) if self.traits.key else 0
        traits = {name: getattr(self.traits, name) for name in PLAIN_TRAITS}
        facts = {name: value for name, value in vars(self).items() if name != "traits"}
        return {**facts, **traits, "key": [*self.traits.key], "again_after_s": again_after_s}


def cards(speakers: Speakers, languages: Sequence[str]) -> list[ToolCard]:
    """Return the card of every tool; a tool of several speakers is one card with the parameters of all."""
    passing = {hand_back.name, *(dialog.tool for dialog in speakers.dialogs.values())}
    return [_card(owned, languages, passing=name in passing) for name, owned in owned_tools(speakers).items()]


def owned_tools(speakers: Speakers) -> dict[str, list[Owned]]:
    """Return all tools by name, each with the speakers that have a tool of this name."""
    owned: dict[str, list[Owned]] = {}
    for speaker in speakers:
        for tool in tools_of(speaker, speakers):
            owned.setdefault(tool.name, []).append((speaker, tool))
    return owned


def openings(speakers: Speakers, lang: str) -> list[str]:
    """Return an opening sentence for each dialog: the first example on its card; none where it has no example."""
    return list(openings_by_dialog(speakers, lang).values())[:MOST_OPENINGS]


def openings_by_dialog(speakers: Speakers, lang: str) -> dict[str, str]:
    """Return the opening sentence of each dialog that has one."""
    examples = {tool.name: texts_of(tool, lang)[1] for tool in tools_of(speakers.supervisor, speakers)}
    firsts = {name: next(iter(examples.get(dialog.tool, ())), "") for name, dialog in speakers.dialogs.items()}
    return {name: first[0].upper() + first[1:] for name, first in firsts.items() if first and "{" not in first}


def slots(owned: Sequence[Owned]) -> list[str]:
    """Return the slots for an example's braces: the parameters of the tools that share a card."""
    return list(dict.fromkeys(name for _, tool in owned for name in translation_of(tool).schema["properties"]))


def _card(owned: Sequence[Owned], languages: Sequence[str], *, passing: bool) -> ToolCard:
    tool = owned[0][1]
    traits, texts = traits_of(tool), {lang: texts_of(tool, lang) for lang in languages}
    return ToolCard(
        name=tool.name,
        owners=[owner.name for owner, _ in owned],
        source=own_texts(tool).source,
        kind=HAND_OVER if passing else traits.kind,
        traits=traits,
        descriptions={lang: description or tool.description for lang, (description, _) in texts.items()},
        examples={lang: [*examples] for lang, (_, examples) in texts.items() if examples},
        parameters=_together([translation_of(tool).schema for _, tool in owned]),
        result=shown(schema_of(traits.result)),
    )


def _together(schemas: Sequence[Schema]) -> Schema:
    """Return a schema with the properties of all; a property that one of them does not require is not required."""
    merged = {name: value for name, value in schemas[0].items() if name not in ("title", "description", "required")}
    merged["properties"] = {name: value for schema in schemas for name, value in schema["properties"].items()}
    first, *others = [schema.get("required", ()) for schema in schemas]
    required = [name for name in first if all(name in other for other in others)]
    return {**merged, "required": required} if required else merged


LONGEST_EXAMPLE = 200
TAKEN = (*FINDING, FILL_FORM, ASK, HAND_BACK, undo_last.name, assistant_help.name)
"""The names of the tools that the application gives to speakers."""
_SLOT = re.compile(r"\{([^{}]*)\}")


def faults(speakers: Speakers, languages: Sequence[str], *, complete: bool = True) -> list[str]:
    """Return the faults of all speakers' tools, of their cards and of the prompts of dialogs.

    `complete`: all tools are loaded; else a card may describe a tool that is not loaded now.
    """
    texts, broken = read_all()
    if broken:
        return broken
    everything, plug_ins = owned_tools(speakers), plugins()
    distinct = {id(tool): tool for owned in everything.values() for _, tool in owned}
    lines = [*_twice(speakers), *_of_tools(distinct.values())]
    for file in texts:
        tool = file.name.stem
        if file.is_card and (complete or tool in everything or tool in FINDING):
            # The tools of plug-ins depend on settings.
            is_optional = tool in (*FINDING, hand_back.name) or file.name.parts[0] in plug_ins
            lines += _of_file(file, everything.get(tool, []), is_optional=is_optional)
        elif complete and file.name.name == "confirm.toml" and file.name.parts[0] in speakers.dialogs:
            lines += _of_titles(file, everything)
    for lang in languages:
        lines += [fault for name in sorted(everything) for fault in _of_source(everything[name][0], lang)]
    in_english = (file for file in texts if file.lang == FALLBACK)
    lines += [*no_languages(texts, speakers), *misfits(texts, _with_files(speakers))]
    return [*lines, *of_forms(in_english, speakers)]


def text_faults(text: str, allowed: Sequence[str], lang: str = FALLBACK) -> list[str]:
    """Return the faults of a card's text, in a language; its examples may have the slots `allowed`."""
    lines = [line.rstrip() for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if line.startswith("-")), len(lines))
    faults = []
    for number, line in enumerate(lines[first:], first + 1):
        if line and not re.match(r"- \S", line):
            faults.append(say("card.line", lang, number=number))
    if len(description := "\n".join(lines[:first]).strip()) > LONGEST_DESCRIPTION:
        faults.append(say("card.long", lang, length=len(description), most=LONGEST_DESCRIPTION))
    examples = [line[2:].strip() for line in lines[first:] if line.startswith("- ")]
    same = Counter(" ".join(example.casefold().split()) for example in examples)
    faults += [say("card.twice", lang, example=it, count=count) for it, count in same.items() if count > 1]
    return faults + [fault for example in examples for fault in _of_example(example, allowed, lang)]


def _of_example(example: str, allowed: Sequence[str], lang: str) -> Iterator[str]:
    named_by = example[:40]
    if len(example) > LONGEST_EXAMPLE:
        yield say("card.long_example", lang, example=named_by, length=len(example), most=LONGEST_EXAMPLE)
    if set("{}") & set(_SLOT.sub("", example)):
        yield say("card.brace", lang, example=named_by)
    for slot in _SLOT.findall(example):
        if slot not in allowed:
            yield say("card.slot", lang, example=named_by, slot=slot, known=", ".join(allowed) or "-")


def _of_file(file: TextFile, owned: Sequence[Owned], *, is_optional: bool) -> list[str]:
    if not owned and not is_optional:
        return [f"{file} describes a tool that no speaker has"]
    return [f"{file}: {fault}" for fault in text_faults(file.text, slots(owned))]


def _of_titles(file: TextFile, owned: Mapping[str, Sequence[Owned]]) -> Iterator[str]:
    """Yield the entries of a dialog's `confirm.toml` that name no tool, or no argument of one."""
    arguments = {name for tools in owned.values() for name in slots(tools)}
    for section, names in {"titles": {*owned}, "steps": {*owned}, "arguments": arguments}.items():
        for name in (name for name in file.table.get(section, ()) if name not in names):
            meant = f"; do you mean {near[0]!r}?" if (near := get_close_matches(name, names, 1, ALIKE)) else ""
            verb = "takes" if names is arguments else "is"
            yield f"{file}: [{section}] names {name!r}, and no tool {verb} that{meant}"


def _of_source(owned: Owned, lang: str) -> Iterator[str]:
    texts = own_texts(owned[1])
    lines = [f"- {' '.join(example.split())}\n" for example in texts.examples.get(lang, ())]
    for fault in text_faults("".join(lines), slots([owned])):
        yield f"{texts.source}.examples.{lang}: {fault}"
    if (length := len(texts.descriptions.get(lang, ""))) > LONGEST_DESCRIPTION:
        yield f"{texts.source}.description.{lang}: it has {length} characters, {LONGEST_DESCRIPTION} is the most"


def _with_files(speakers: Speakers) -> Mapping[str, Speaker]:
    """Return the dialogs whose prompts are files."""
    return {name: dialog for name, dialog in speakers.dialogs.items() if not dialog.roles}


def _of_tools(tools: Iterable[BaseTool]) -> list[str]:
    return [f"{tool_place(tool)}: {fault}" for tool in tools for fault in _of_tool(tool)]


def _of_tool(tool: BaseTool) -> Iterator[str]:
    traits = traits_of(tool)
    if not SAFE_NAME.fullmatch(tool.name):
        yield "not every provider takes this name; write a letter, then letters, digits, _ or -"
    if fault := translation_of(tool).fault:
        yield fault
    if unknown := sorted({*traits.key, *traits.carries} - parameters(tool).get("properties", {}).keys()):
        yield f"its traits name arguments it does not have: {', '.join(unknown)}"
    if traits.shortcut and (needed := parameters(tool).get("required")):
        yield f"a shortcut must not need arguments, this one needs {', '.join(needed)}"
    if traits.shortcut and traits.kind != "general":
        yield f"a shortcut cannot wait for the user, a {traits.kind} does"
    yield from _of_parameters(tool)
    if misfit := misfit_of(tool):
        yield f"no call fits its code: {misfit}; each parameter needs a plain name, and no * or /"
    models = [
        each for each in (tool.args_schema, traits.form) if isinstance(each, type) and issubclass(each, BaseModel)
    ]
    yield from filter(None, [*map(wrong_default, models), traits.form and wrong_mark(traits.form)])
    if traits.view and traits.view not in KINDS:
        yield f"there is no view {traits.view!r}; there are: {', '.join(KINDS)}"


def _of_parameters(tool: BaseTool) -> Iterator[str]:
    """Yield the parameters without a type, and a `runtime` that a model would have to fill in."""
    function, shown_ones = getattr(tool, "coroutine", None) or getattr(tool, "func", None), parameters(tool)
    properties = shown_ones.get("properties", {})
    for name, parameter in signature(function).parameters.items() if function else ():
        schema = properties.get(name, {"type": "none of the model's"})
        if parameter.annotation is Parameter.empty and schema.keys() <= {"title", "default"}:
            yield f"its parameter {name!r} has no type"
        elif name == "runtime" and name in properties and parameter.annotation != Runtime:
            yield "its parameter 'runtime' gets what agents.toolkit calls Runtime: give it that type, or another name"


def _twice(speakers: Speakers) -> Iterator[str]:
    for speaker in speakers:
        for name, count in Counter(tool.name for tool in tools_of(speaker, speakers)).items():
            if count > 1:
                yield f"{speaker.name} has more than one tool called {name}: rename one"
            if name in TAKEN and any(tool.name == name for tool in speaker.tools):
                yield f"{speaker.name}: the name {name} is taken by a tool of the application; choose another one"
    owners: dict[str, Owned] = {}
    handing_over = [(speakers.supervisor, entry_of(dialog)) for dialog in speakers.dialogs.values()]
    for owned in (*((speaker, tool) for speaker in speakers for tool in speaker.tools), *handing_over):
        other, same = owners.setdefault(owned[1].name, owned)
        if other is not owned[0] and _origin(same) != _origin(owned[1]):
            yield f"{owned[0].name} and {other.name} each have a tool called {same.name}: rename one"


def _origin(tool: BaseTool) -> object:
    """Return the identity of a tool: its function, or the place of its description; a mock has that of its tool."""
    tool = (tool.metadata or {}).get(ORIGINAL, tool)
    return own_texts(tool).source or getattr(tool, "coroutine", None) or getattr(tool, "func", None) or tool.name


def warnings(speakers: Speakers, langs: Sequence[str]) -> list[str]:
    """Return a line for every rule that no model sees, and for every missing text, with its file."""
    texts, _ = read_all()
    missing = [line for lang in langs for line in _missing(speakers, lang)]
    missing += [*stray(speakers), *unread(texts, _with_files(speakers)), *unowned(texts, speakers)]
    # An outdated translation of a form is not used; the question of the fallback language is used.
    missing += of_forms((file for file in texts if file.lang != FALLBACK), speakers)
    # A dialog that no user can reach stands first.
    return sorted(
        [*_untold(speakers), *unasked(speakers), *missing],
        key=lambda line: "has no examples of requests" not in line,
    )


def _untold(speakers: Speakers) -> Iterator[str]:
    """Yield the rules of parameters that no model sees: the tool itself refuses values that break them."""
    for tool in {id(tool): tool for speaker in speakers for tool in speaker.tools}.values():
        for rule in dict.fromkeys(translation_of(tool).untold):
            yield f"{tool_place(tool)}: no model is told of a rule: {rule}"


MOST_NAMED = 12
"""The most files, or entries of a file, in a warning."""


def _untranslated(lang: str) -> Iterator[str]:
    """Yield lines on the texts that a language takes from the fallback: whole files, then entries of tables."""
    names = [path.as_posix() for path in files(FALLBACK, "**/*") if path.suffix in (".md", ".toml")]
    own = {path.as_posix() for path in files(lang, "**/*")}
    # Dialogs' prompts and cards have warnings of their own.
    absent = [name for name in names if name not in own and "cards/" not in name and not name.endswith("/prompt.md")]
    if absent:
        yield f"prompts/{lang} lacks {len(absent)} of the files, {FALLBACK} is used: {_few(absent)}"
    for name in sorted(own.intersection(name for name in names if name.endswith(".toml"))):
        if entries := lacking(name.removesuffix(".toml"), lang):
            yield f"prompts/{lang}/{name} lacks {len(entries)} of the entries, {FALLBACK} is used: {_few(entries)}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], "…"])


def _missing(speakers: Speakers, lang: str) -> Iterator[str]:
    yield from _untranslated(lang)
    has_cards = bool(carded(lang))
    for name, dialog in _with_files(speakers).items():
        if not files(lang, f"{name}/prompt.md"):
            yield f"{named(home_of(name, lang))}/prompt.md is missing: the {FALLBACK} prompt is used"
        entry = card_file(dialog.tool, lang, name)
        if has_cards and not card(dialog.tool, lang)[1]:
            fault = "has no line that begins with a dash" if entry.exists() else "is missing"
            yield f"{named(entry)} {fault}: dialog {name} has no examples of requests"
    if not has_cards:
        yield f"prompts/{lang} has no cards: tools are described in {FALLBACK}, and have no examples of requests"
        return
    owned = {tool.name: (tool, speaker) for speaker in reversed([*speakers]) for tool in speaker.tools}
    for tool, speaker in reversed(owned.values()):
        if texts_of(tool, lang)[1]:
            continue
        path = card_file(tool.name, lang, "" if speaker.is_supervisor else speaker.name)
        source = own_texts(tool).source
        if path.exists():
            yield f"{named(path)}: the card has no example of a request"
        elif source:
            yield f"{source}.examples.{lang} is missing: write examples of requests, here or in {named(path)}"
        else:
            yield f"{named(path)} is missing: the tool has no examples of requests"
