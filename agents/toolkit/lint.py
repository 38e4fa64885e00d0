"""Find faults of tools and of their texts, and texts that are missing.

Each fault is a line with file and rule, and stops the start. A card is `prompts/<lang>/<dialog>/cards/<tool>.md`: the
description, then one example a line behind a dash.

A missing text is a warning in `check`: other texts are used. A tool without a description in a language is described in
English, else by its docstring. A tool or dialog without examples is found by a language model, but not by the model
without a key (`local:rules`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from langchain_core.tools import BaseTool

import prompts
from agents.events.views import KINDS
from agents.toolkit.bound_tools import FINDING
from agents.toolkit.card import owned_tools, slots
from agents.toolkit.card_texts import own_texts, texts_of
from agents.toolkit.schemas import parameters
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from prompts import FALLBACK, PromptError, card_file, carded, prompt, translated

LONGEST_DESCRIPTION = 1024
"""Characters; a provider takes no more."""
LONGEST_EXAMPLE = 200
_SLOT = re.compile(r"\{([^{}]*)\}")


def faults(speakers: Speakers, languages: Sequence[str], *, complete: bool = True) -> list[str]:
    """Return what is wrong with the tools of all speakers, with their cards and with the prompts of dialogs.

    `complete`: all tools are loaded; else a card may describe a tool that is not loaded now.
    """
    tools = {name: [tool for _, tool in pairs] for name, pairs in owned_tools(speakers).items()}
    lines = list(_twice(speakers))
    distinct = {id(tool): tool for same in tools.values() for tool in same}
    lines += [fault for tool in distinct.values() for fault in _of_tool(tool)]
    for lang in languages:
        for name in carded(lang):
            if complete or name in tools or name in FINDING:
                lines += _of_file(name, lang, tools.get(name, []))
        lines += [fault for name in sorted(tools) for fault in _of_source(tools[name][0], lang)]
        lines += [fault for name in speakers.dialogs for fault in _of_dialog(name, lang)]
    return lines


def text_faults(text: str, allowed: Sequence[str]) -> list[str]:
    """Return what is wrong with the text of a card whose examples may have these slots."""
    lines = [line.rstrip() for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if line.startswith("-")), len(lines))
    faults = []
    for number, line in enumerate(lines[first:], first + 1):
        if line and not re.match(r"- \S", line):
            faults.append(f"line {number} must be an example, `- ` and a phrase; the description stands above them")
    if len(description := "\n".join(lines[:first]).strip()) > LONGEST_DESCRIPTION:
        faults.append(f"the description has {len(description)} characters, {LONGEST_DESCRIPTION} is the most")
    examples = [line[2:].strip() for line in lines[first:] if line.startswith("- ")]
    same = Counter(" ".join(example.casefold().split()) for example in examples)
    faults += [f"the example {example!r} is there {count} times" for example, count in same.items() if count > 1]
    return faults + [fault for example in examples for fault in _of_example(example, allowed)]


def _of_example(example: str, allowed: Sequence[str]) -> Iterator[str]:
    if len(example) > LONGEST_EXAMPLE:
        yield f"the example {example[:40]!r}… has {len(example)} characters, {LONGEST_EXAMPLE} is the most"
    if set("{}") & set(_SLOT.sub("", example)):
        yield f"the example {example[:40]!r} has a brace without its other half"
    there_are = ", ".join(allowed) or "none"
    for slot in _SLOT.findall(example):
        if slot not in allowed:
            yield f"the example {example[:40]!r} names {{{slot}}}, which is no parameter; there are: {there_are}"


def _of_file(name: str, lang: str, tools: Sequence[BaseTool]) -> list[str]:
    path = card_file(name, lang)
    if not tools and name not in FINDING:
        return [f"{named(path)} describes a tool that no speaker has"]
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        return [f"{named(path)} is not UTF-8"]
    return [f"{named(path)}: {fault}" for fault in text_faults(text, slots(tools))]


def _of_source(tool: BaseTool, lang: str) -> Iterator[str]:
    """Yield what is wrong with the texts that came with a remote tool."""
    texts = own_texts(tool)
    lines = [f"- {' '.join(example.split())}\n" for example in texts.examples.get(lang, ())]
    for fault in text_faults("".join(lines), slots([tool])):
        yield f"{texts.source}.examples.{lang}: {fault}"
    if (length := len(texts.descriptions.get(lang, ""))) > LONGEST_DESCRIPTION:
        yield f"{texts.source}.description.{lang}: it has {length} characters, {LONGEST_DESCRIPTION} is the most"


def _of_dialog(name: str, lang: str) -> Iterator[str]:
    """Yield what would keep a dialog's prompt from being filled in; it has no variables."""
    try:
        prompt(f"{name}/prompt", lang)
    except PromptError as wrong:
        yield f"{wrong}, which no dialog's prompt gets"
    except ValueError:
        yield f"prompts/{lang}/{name}/prompt.md has a $ that begins no variable: write $$"


def _of_tool(tool: BaseTool) -> Iterator[str]:
    traits = traits_of(tool)
    if tool.name in FINDING:
        yield f"tool {tool.name}: the name is taken by a tool that finds tools; choose another one"
    if unknown := sorted(set(traits.key) - set(tool.args)):
        yield f"tool {tool.name}: its key names arguments it does not have: {', '.join(unknown)}"
    if traits.shortcut and (needed := parameters(tool).get("required")):
        yield f"tool {tool.name}: a shortcut must not need arguments, this one needs {', '.join(needed)}"
    if traits.shortcut and traits.kind != "general":
        yield f"tool {tool.name}: a shortcut cannot wait for the user, a {traits.kind} does"
    if traits.kind != "general" and tool.response_format != "content_and_artifact":
        yield f"tool {tool.name}: a {traits.kind} needs response_format='content_and_artifact'"
    if traits.view and traits.view not in KINDS:
        yield f"tool {tool.name}: there is no view {traits.view!r}; there are: {', '.join(KINDS)}"


def _twice(speakers: Speakers) -> Iterator[str]:
    """Yield the names that a speaker has for more than one tool."""
    pairs = [(speaker.name, name) for name, owned in owned_tools(speakers).items() for speaker, _ in owned]
    for (speaker, name), count in Counter(pairs).items():
        if count > 1:
            yield f"{speaker} has more than one tool called {name}: rename one"


def named(path: Path) -> str:
    """Return a card's path as a developer writes it."""
    return f"prompts/{path.relative_to(prompts.FOLDER).as_posix()}"


def warnings(speakers: Speakers, langs: Sequence[str]) -> list[str]:
    """Return a line for every text that is missing, with the file to write."""
    return [line for lang in langs for line in (*_dialogs(speakers, lang), *_tools(speakers, lang))]


def _dialogs(speakers: Speakers, lang: str) -> Iterator[str]:
    for name, dialog in speakers.dialogs.items():
        if lang not in translated(f"{name}/prompt"):
            yield f"prompts/{lang}/{name}/prompt.md is missing: the {FALLBACK} prompt is used"
        entry = card_file(dialog.tool, lang, name)
        if carded(lang) and not entry.exists():
            yield f"{named(entry)} is missing: dialog {name} has no examples of requests"


def _tools(speakers: Speakers, lang: str) -> Iterator[str]:
    if not carded(lang):
        yield f"prompts/{lang} has no cards: tools are described in {FALLBACK}, and have no examples of requests"
        return
    owned = {tool.name: (tool, speaker) for speaker in reversed([*speakers]) for tool in speaker.tools}
    for tool, speaker in reversed(owned.values()):
        if texts_of(tool, lang)[1]:
            continue
        dialog = "" if speaker.is_supervisor else speaker.name
        path, source = card_file(tool.name, lang, dialog), own_texts(tool).source
        if path.exists():
            yield f"{named(path)}: there is no example of a request"
        elif source:
            yield f"{source}.examples.{lang} is missing: write examples of requests, here or in {named(path)}"
        else:
            yield f"{named(path)} is missing: the tool has no examples of requests"
