"""Numbered lists: which list a tool works on, what it holds, and which entry a user means.

By convention `list_things` shows the list and needs no parameters; `change_thing` and `delete_things` use its numbers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage

from agents.state.message_notes import notes_of
from app.plugins.standin.patterns import Match
from app.plugins.standin.situation import PROTOCOL, Situation, results
from app.plugins.standin.values import REFERRING, items, last_few, number, vague
from app.plugins.standin.vocabulary import StandinVocabulary

_ENTRY = re.compile(r"^\s*(\d+)[.)]\s+(.+?)\s*$", re.MULTILINE)
_MARK = re.compile(r"\s*\(([^)]*)\)$")


@dataclass(frozen=True)
class ListReference:
    """The numbers that were meant, names that are not on the list, and entries between which to choose."""

    numbers: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()


def list_tools(now: Situation) -> list[str]:
    """Return the tools that show lists."""
    lists = {name: parameters for name, parameters in now.tools.items() if name.startswith("list")}
    return [name for name, wanted in lists.items() if not any(parameter.required for parameter in wanted.values())]


def alike(tool: str, other: str) -> bool:
    """Tell whether two tools are about the same things."""
    return tool.partition("_")[2].removesuffix("s") == other.partition("_")[2].removesuffix("s")


def lister(now: Situation, tool: str) -> str | None:
    """Return the tool that shows the list of a tool's things."""
    return next((name for name in list_tools(now) if alike(name, tool)), None)


def entries_of(now: Situation, tool: str) -> dict[int, str] | None:
    """Return the list of a tool's things as it was before this turn changed anything; None if it is not known."""
    shown_by = lister(now, tool)
    for result in now.results:
        if result.call.name == shown_by and not result.failed:
            return _entries(result.text)
    for result in reversed(results(now.before)):
        name = result.call.name
        if not result.failed and name in now.tools and name not in PROTOCOL and alike(name, tool):
            return _entries(result.text) or ({} if name == shown_by else None)
    return None


def tool_for(now: Situation, match: Match) -> str:
    """Return the tool on whose list the named entry is, where a wish names no list: "delete dentist".

    A list that is not known yet is looked at, the one that was last spoken of first.
    """
    pattern = match.pattern
    slot = next(iter(match.slots), "")
    if not pattern.is_weak or len(match.slots) != 1 or slot not in REFERRING or vague(match.slots[slot], now.words):
        return pattern.tool
    verb, spoken = pattern.tool.partition("_")[0], spoken_of(now)
    tools = [name for name, it in now.tools.items() if name.startswith(f"{verb}_") and slot in it and lister(now, name)]
    tools.sort(key=lambda tool: (_recency(tool, spoken), tool != pattern.tool))
    for tool in tools:
        listing = entries_of(now, tool)
        if listing is None or (listing and not refer(match.slots[slot], listing, now.words).unknown):
            return tool
    return pattern.tool


def spoken_of(now: Situation) -> list[str]:
    """Return the tools that were called or served since the last change of hands, the latest first."""
    names: list[str] = []
    for message in reversed(now.before):
        if "dialog" in notes_of(message):
            break
        names += tools_of(message)
    return [*names, now.facts.get("served", "")]


def is_seen(now: Situation, tool: str) -> bool:
    """Tell whether the speaker has shown the list of a tool's things, or changed it, before the user's last words."""
    names = (name for message in now.before for name in tools_of(message))
    return any(alike(name, tool) for name in (now.facts.get("served", ""), *names))


def tools_of(message: BaseMessage) -> list[str]:
    """Return the tools that a message served or calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return [notes_of(message).get("served", ""), *(call["name"] for call in calls)]


def _recency(tool: str, spoken: Sequence[str]) -> int:
    return next((place for place, name in enumerate(spoken) if alike(name, tool)), len(spoken))


def naming_list(now: Situation, match: Match) -> str:
    """Return a wish for another dialog that only points at an entry, with the list that was spoken of last.

    "Delete the second one" is said as an example of the tool says it that deletes from that list.
    """
    pattern, slot = match.pattern, next(iter(match.slots), "")
    owner = next((it for it in now.helpers if it.tool == pattern.owner), None)
    if owner is None or not pattern.is_weak or {*match.slots} != {slot} or slot not in REFERRING:
        return match.text
    verb, spoken = pattern.tool.partition("_")[0], spoken_of(now)
    tool = min(owner.tools, key=lambda name: (_recency(name, spoken), not name.startswith(f"{verb}_")))
    is_counted = number(match.slots[slot], now.words) is not None and _recency(tool, spoken) < len(spoken)
    if (tool == pattern.tool and not is_counted) or not tool.startswith(f"{verb}_"):
        return match.text
    fitting = (it for it in now.phrases.patterns if it.tool == tool and it.slots == {slot} and not it.is_weak)
    return next((it.example.replace(f"{{{slot}}}", match.slots[slot]) for it in fitting), match.text)


def _entries(text: str) -> dict[int, str]:
    return {int(number): entry for number, entry in _ENTRY.findall(text)}


def is_list(text: str) -> bool:
    """Tell whether a text is a numbered list and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENTRY.match(line) for line in lines)


def refer(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> ListReference:
    """Find the entries of `listing` that the words mean."""
    if words.means(raw, "all"):
        return ListReference(tuple(listing))
    entry = _one(raw, listing, words)
    meant = [entry] if entry.numbers else [_one(piece, listing, words) for piece in (items(raw, words) or [raw])]
    numbers = dict.fromkeys(number for it in meant for number in it.numbers)
    unknown = tuple(name for it in meant for name in it.unknown)
    return next((it for it in meant if it.choices), ListReference(tuple(numbers), unknown))


def _one(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> ListReference:
    if (place := number(raw, words)) is not None:
        place = max(listing, default=0) if place == -1 else place
        return ListReference((place,)) if place in listing else ListReference(unknown=(raw,))
    if count := last_few(raw, words):
        return ListReference(tuple(sorted(listing)[-count:]))
    key, telling = words.key(raw), {*words.stems(raw)} - words.listed("nouns") - words.fillers
    named = [place for place, entry in listing.items() if words.key(_MARK.sub("", entry)) == key][:1]
    near = named or [it for it, entry in listing.items() if telling and telling <= {*words.stems(entry)}]
    if len(near) == 1:
        return ListReference((near[0],))
    return ListReference(choices=tuple(near)) if near else ListReference(unknown=(raw,))
