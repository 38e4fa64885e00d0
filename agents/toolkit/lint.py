"""What is wrong with tools and their card files, found before anybody talks: a line a fault, with file and rule.

A card file is `prompts/<lang>/tools/<tool>.md`: the description, then one example a line behind a dash.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from langchain_core.tools import BaseTool

from agents.events.views import KINDS
from agents.speaker import Speakers
from agents.toolkit.bound_tools import tools_of
from agents.toolkit.card import slots
from agents.toolkit.card_texts import own_texts
from agents.toolkit.guard import parameters
from agents.toolkit.traits import traits_of
from prompts import card_file, carded

LONGEST_DESCRIPTION = 1024
"""Characters; a provider takes no more."""
LONGEST_EXAMPLE = 200
FINDING = ("find_tools", "call_tool")
"""What a speaker with more tools than can be bound reaches them by; the others do without."""
_SLOT = re.compile(r"\{([^{}]*)\}")


def faults(speakers: Speakers, languages: Sequence[str], *, whole: bool = True) -> list[str]:
    """Return what is wrong with the tools of all speakers and with the card files there are.

    A language without any card file speaks of tools in English; once it has one, it needs all. What comes with a
    remote tool serves as its card. Unless the tools are `whole`, a card may belong to one that is not there now.
    """
    everyone = [speakers.supervisor, *speakers.dialogs.values()]
    listed = {speaker.name: tools_of(speaker, speakers) for speaker in everyone}
    known: dict[str, list[BaseTool]] = {}
    for tool in (tool for tools in listed.values() for tool in tools):
        known.setdefault(tool.name, []).append(tool)
    found = [fault for name, tools in listed.items() for fault in _twice(name, tools)]
    found += [fault for tools in known.values() for tool in _different(tools) for fault in _of_tool(tool)]
    asked_for = {tool.name for speaker in everyone for tool in speaker.tools}
    for lang in (lang for lang in languages if carded(lang)):
        for name in carded(lang):
            if whole or name in known or name in FINDING:
                found += _of_file(name, lang, known.get(name, []), needed=name in asked_for)
        own = {name for name, tools in known.items() if own_texts(tools[0]).source}
        found += [fault for name in sorted(own) for fault in _of_texts(known[name][0], lang)]
        missing = sorted(asked_for - own - set(carded(lang)))
        found += [
            f"{_named(card_file(name, lang))} is missing: the tool needs examples of requests" for name in missing
        ]
    return found


def text_faults(text: str, allowed: Sequence[str], *, needed: bool) -> list[str]:
    """Return what is wrong with the text of a card whose examples may have these slots; `needed`: has any at all."""
    lines = [line.rstrip() for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if line.startswith("-")), len(lines))
    found = []
    for number, line in enumerate(lines[first:], first + 1):
        if line and not re.match(r"- \S", line):
            found.append(f"line {number} must be an example, `- ` and a phrase; the description stands above them")
    if len(description := "\n".join(lines[:first]).strip()) > LONGEST_DESCRIPTION:
        found.append(f"the description has {len(description)} characters, {LONGEST_DESCRIPTION} is the most")
    examples = [line[2:].strip() for line in lines[first:] if line.startswith("- ")]
    if needed and not examples:
        found.append("there is no example of a request")
    same = Counter(" ".join(example.casefold().split()) for example in examples)
    found += [f"the example {example!r} is there {count} times" for example, count in same.items() if count > 1]
    return found + [fault for example in examples for fault in _of_example(example, allowed)]


def _of_example(example: str, allowed: Sequence[str]) -> Iterator[str]:
    if len(example) > LONGEST_EXAMPLE:
        yield f"the example {example[:40]!r}… has {len(example)} characters, {LONGEST_EXAMPLE} is the most"
    if set("{}") & set(_SLOT.sub("", example)):
        yield f"the example {example[:40]!r} has a brace without its other half"
    there_are = ", ".join(allowed) or "none"
    for slot in _SLOT.findall(example):
        if slot not in allowed:
            yield f"the example {example[:40]!r} names {{{slot}}}, which is no parameter; there are: {there_are}"


def _of_file(name: str, lang: str, tools: Sequence[BaseTool], *, needed: bool) -> list[str]:
    path = card_file(name, lang)
    if not tools and name not in FINDING:
        return [f"{_named(path)} describes a tool that no speaker has"]
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        return [f"{_named(path)} is not UTF-8"]
    needed = needed and not any(own_texts(tool).examples.get(lang) for tool in tools)
    return [f"{_named(path)}: {fault}" for fault in text_faults(text, slots(tools), needed=needed)]


def _of_texts(tool: BaseTool, lang: str) -> Iterator[str]:
    """Yield what is wrong with the texts that came with a tool, and whether there is an example at all."""
    own, path = own_texts(tool), card_file(tool.name, lang)
    if not path.exists() and not own.examples.get(lang):
        yield f"{own.source}.examples.{lang} is missing: the tool needs examples of requests, here or in {_named(path)}"
    lines = [f"- {' '.join(example.split())}\n" for example in own.examples.get(lang, ())]
    for fault in text_faults("".join(lines), slots([tool]), needed=False):
        yield f"{own.source}.examples.{lang}: {fault}"
    if len(description := own.descriptions.get(lang, "")) > LONGEST_DESCRIPTION:
        yield (
            f"{own.source}.description.{lang}: it has {len(description)} characters, {LONGEST_DESCRIPTION} is the most"
        )


def _different(tools: Sequence[BaseTool]) -> list[BaseTool]:
    """Return tools of one name without those that are the very same."""
    return list({id(tool): tool for tool in tools}.values())


def _of_tool(tool: BaseTool) -> Iterator[str]:
    found = traits_of(tool)
    if tool.name in FINDING:
        yield f"tool {tool.name}: the name is taken by a tool that finds tools; choose another one"
    if unknown := sorted(set(found.key) - set(tool.args)):
        yield f"tool {tool.name}: its key names arguments it does not have: {', '.join(unknown)}"
    if found.shortcut and (needed := parameters(tool).get("required")):
        yield f"tool {tool.name}: a shortcut must not need arguments, this one needs {', '.join(needed)}"
    if found.shortcut and found.kind != "general":
        yield f"tool {tool.name}: a shortcut cannot wait for the user, a {found.kind} does"
    if found.kind != "general" and tool.response_format != "content_and_artifact":
        yield f"tool {tool.name}: a {found.kind} needs response_format='content_and_artifact'"
    if found.view and found.view not in KINDS:
        yield f"tool {tool.name}: there is no view {found.view!r}; there are: {', '.join(KINDS)}"


def _twice(speaker: str, tools: Sequence[BaseTool]) -> Iterator[str]:
    counts: Mapping[str, int] = Counter(tool.name for tool in tools)
    for name in (name for name, count in counts.items() if count > 1):
        yield f"{speaker} has more than one tool called {name}: rename one"


def _named(path: Path) -> str:
    """Return a card's path as a developer writes it."""
    return f"prompts/{path.relative_to(path.parents[2]).as_posix()}"
