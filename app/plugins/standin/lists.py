"""Numbered lists: the list that a tool works on, its entries, and the entry that a user means.

By convention `list_things` shows the list and needs no parameters; `change_thing` and `delete_things` use its numbers.
"""

import re
from collections.abc import Mapping, Sequence

from agents.state.message_notes import notes_of
from app.plugins.standin.patterns import Match
from app.plugins.standin.situation import CallResult, Situation, results
from app.plugins.standin.values import REFERRING, is_all, items, number, thing
from app.plugins.standin.vocabulary import StandinVocabulary

LIST = "list_"
_ENTRY = re.compile(r"^\s*(\d+)[.)]\s+(.+?)\s*$", re.MULTILINE)
_TOLD = re.compile(r"(?:^|[:：;] ?)(\d+)\. ", re.MULTILINE)
_MARK = re.compile(r"\s*\(([^)]*)\)$")


def lister(now: Situation, tool: str) -> str | None:
    """Return the tool that shows the list of a tool's things."""
    lists = (name for name in now.tools if name.startswith(LIST) and thing(name) == thing(tool))
    return next((it for it in lists if not any(parameter.required for parameter in now.tools[it].values())), None)


def entries_of(now: Situation, tool: str) -> dict[int, str] | None:
    """Return the list of a tool's things as this turn first showed it; None if it has not: an older one is stale."""
    shown_by = lister(now, tool)
    return next((numbered(it.text) for it in now.results if it.call.name == shown_by and not it.failed), None)


def pointed(now: Situation, tool: str, slots: Mapping[str, str], *, recently: bool = False) -> int | None:
    """Return the number of the entry that "it" means: the one that the list's last write told (or `recently`)."""
    references = [slots[name] for name in {*REFERRING} & slots.keys()]
    is_meant = any(now.words.means(raw, "pointing") and not now.words.means(raw, "indefinite") for raw in references)
    return written(now, tool, now.last_results if recently else results(now.before)) if is_meant else None


def written(now: Situation, tool: str, results: Sequence[CallResult]) -> int | None:
    """Return the number of the only entry that the last write to a tool's list told, or that it has added there."""
    wrote = [it for it in results if not it.failed and now.writes(it.call.name) and thing(it.call.name) == thing(tool)]
    if not wrote:
        return None
    added = [value for values in wrote[-1].call.args.values() if isinstance(values, list) for value in values]
    entries = numbered(wrote[-1].text)
    places = [it for it in entries if [_name(entries[it], now.words)] == [now.words.key(str(name)) for name in added]]
    numbers = {int(number) for number in _TOLD.findall(wrote[-1].text)}
    return max(places, default=numbers.pop() if len(numbers) == 1 else None)


def tool_for(now: Situation, match: Match) -> str:
    """Return the tool of a wish: the one for all of a kind, or for the latest list or one with what is named."""
    tool, slots, words = match.pattern.tool, {*match.slots}, now.words
    if len(slots) != 1 or not slots <= {*REFERRING}:
        return tool
    verb, raw = tool.partition("_")[0], next(iter(match.slots.values()))
    alike = [it for it in now.tools if it.startswith(f"{verb}_") and slots <= {*now.tools[it]} and lister(now, it)]
    if is_all(raw, words) and {*words.stems(raw)} & words.beside - words.stop:
        kinds = {it: words.kinds.get(f"add_{thing(it)}", frozenset()) for it in alike}
        return next((it for it in alike if kinds[it] & {*words.stems(raw)} - words.stop), tool)
    if not match.pattern.is_weak or match.pattern.fixed <= words.listed("halt"):
        return tool
    asking_tool = now.asks["tool"] if now.asks and "served" not in notes_of(now.before[-1]) else ""
    alike = sorted(alike, key=lambda it: (it != asking_tool, thing(it) != now.recent, it != tool)) or [tool]
    listed = [(it, entries_of(now, it)) for it in alike if number(raw, words) is None]
    fitting = (it for it, entries in listed if entries is None or all(refer(raw, entries, words).values()))
    return next(fitting, alike[0])


def numbered(text: str) -> dict[int, str]:
    """Return the numbered entries of a text."""
    return {int(number): entry for number, entry in _ENTRY.findall(text)}


def is_list(text: str) -> bool:
    """Tell whether a text is a numbered list and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENTRY.match(line) for line in lines)


def refer(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> dict[str, list[int]]:
    """Return, for each thing that the words name, the numbers of the entries of `listing` that it may mean."""
    if is_all(raw, words):
        return {entry: [place] for place, entry in listing.items()}
    numbers = _meant(raw, listing, words)
    return {raw: numbers} if numbers else {name: _meant(name, listing, words) for name in items(raw, words) or [raw]}


def _meant(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> list[int]:
    if (place := number(raw, words)) is not None:
        place = max(listing, default=0) if place == -1 else place
        return [place] if place in listing else []
    key, telling = words.key(raw), {*words.stems(raw)} - words.listed("nouns") - words.fillers
    named = [place for place, entry in listing.items() if _name(entry, words) == key][:1]
    return named or [it for it, entry in listing.items() if telling and telling <= {*words.stems(entry)}]


def _name(entry: str, words: StandinVocabulary) -> tuple[str, ...]:
    return words.key(_MARK.sub("", entry))
