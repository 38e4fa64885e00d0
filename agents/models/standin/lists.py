"""Numbered lists: which one a tool works on, how it stands, and which entry a user means.

By convention `list_things` shows the list and needs no parameters; `change_thing` and `delete_things` go by it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.messages import AIMessage

from agents.models.standin.pattern import Match
from agents.models.standin.sentences import RulesVocabulary
from agents.models.standin.situation import SERVED, Situation
from agents.models.standin.types import PROTOCOL, results
from agents.models.standin.values import REFERRING, items

_CHOSEN = re.compile(r'"number":(\d+)')


def readings(now: Situation) -> list[str]:
    """Return the tools that show lists."""
    return [
        name
        for name, wanted in now.tools.items()
        if name.startswith("list") and not any(parameter.required for parameter in wanted.values())
    ]


def reading(now: Situation, tool: str) -> str | None:
    """Return the tool that shows the list to which a tool's numbers refer; None if there is none."""
    return next((name for name in readings(now) if _things(name) == _things(tool)), None)


def choosing(now: Situation, tool: str) -> str | None:
    """Return the tool that lets the user choose one of a tool's things; None if there is none."""
    return next((name for name in choosers(now) if _things(name) == _things(tool)), None)


def choosers(now: Situation) -> list[str]:
    """Return the tools that let the user choose."""
    return [name for name in now.tools if name.startswith(("choose_", "ask_"))]


def number_in(text: str) -> int | None:
    """Return the number of the thing that a choice gave; None if it gave none."""
    number = _CHOSEN.search(text)
    return int(number[1]) if number else None


def listing(now: Situation, tool: str) -> dict[int, str] | None:
    """Return the list of a tool's things as it stood before this turn changed anything; None if it is not known."""
    shown_by = reading(now, tool)
    for result in now.results:
        if result.call.name == shown_by and not result.failed:
            return entries(result.text)
    for result in reversed(results(now.before)):
        name = result.call.name
        if not result.failed and name in now.tools and name not in PROTOCOL and _things(name) == _things(tool):
            return entries(result.text) or ({} if name == shown_by else None)
    return None


def points(match: Match, words: RulesVocabulary) -> bool:
    """Whether a wish says which entries of a list it is about, but not of what list: "delete the second one"."""
    raw = next((raw for slot, raw in match.slots.items() if slot in REFERRING), "")
    is_number = words.means(raw, "references.all") or plain_number(raw, words) is not None
    return is_number and len(match.slots) == len(match.pattern.literals) == 1


def spelled(now: Situation, match: Match) -> str | None:
    """Return a wish that only points with the list named that was spoken of last; None if none was."""
    for message in reversed(now.before):
        if "dialog" in message.additional_kwargs:
            # Another dialog had its turn since then, and this speaker does not know what it showed.
            return None
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        for name in (message.additional_kwargs.get(SERVED, ""), *(call["name"] for call in calls)):
            if tail := now.words.phrases(f"lists.{_things(name)}"):
                return f"{match.text} {tail[0]}"
    return None


def _things(tool: str) -> str:
    return tool.partition("_")[2].removesuffix("s")


_ENTRY = re.compile(r"^\s*(\d+)[.)]\s+(.+?)\s*$", re.MULTILINE)


_MARK = re.compile(r"\s*\(([^)]*)\)$")


@dataclass(frozen=True)
class Found:
    """The numbers that were meant, names that are not on the list, and entries between which to choose."""

    numbers: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()


def entries(text: str) -> dict[int, str]:
    """Return the entries of a text that holds a numbered list, by number; empty if there is none."""
    return {int(number): entry for number, entry in _ENTRY.findall(text)}


def only_entries(text: str) -> bool:
    """Whether a text is a numbered list and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENTRY.match(line) for line in lines)


def plain_number(raw: str, words: RulesVocabulary) -> int | None:
    """Return the number that the words name by themselves ("2", "the second one"), -1 for the last."""
    numbers, rest = _numbers(raw, words)
    return numbers[0] if len(numbers) == 1 and not rest else None


def refer(raw: str, listing: Mapping[int, str], words: RulesVocabulary) -> Found:
    """Find the entries of `listing` that the words mean."""
    if exact := _exact(raw, listing, words):
        return Found((exact,))
    if words.means(raw, "references.all"):
        return Found(tuple(listing))
    numbers: list[int] = []
    unknown: list[str] = []
    for piece in items(raw, words) or [raw]:
        entry = _one(piece, listing, words)
        if entry.choices:
            return entry
        numbers += entry.numbers
        unknown += entry.unknown
    return Found(tuple(dict.fromkeys(numbers)), tuple(unknown))


def _one(raw: str, listing: Mapping[int, str], words: RulesVocabulary) -> Found:
    if (number := plain_number(raw, words)) is not None:
        number = max(listing, default=0) if number == -1 else number
        return Found((number,)) if number in listing else Found(unknown=(raw,))
    if exact := _exact(raw, listing, words):
        return Found((exact,))
    stems_wanted = _content(raw, words)
    held = {number: set(words.stems(entry)) for number, entry in listing.items()}
    near = [number for number, stems in held.items() if stems_wanted and stems_wanted <= stems]
    if len(near) == 1:
        return Found((near[0],))
    return Found(choices=tuple(near)) if near else Found(unknown=(raw,))


def _exact(raw: str, listing: Mapping[int, str], words: RulesVocabulary) -> int | None:
    key = words.key(raw)
    return next((number for number, entry in listing.items() if words.key(_MARK.sub("", entry)) == key), None)


def _content(raw: str, words: RulesVocabulary) -> set[str]:
    return _bare(set(words.stems(raw)), words)


def _bare(stems: set[str], words: RulesVocabulary) -> set[str]:
    return stems - _nouns(words) - words.fillers


def _nouns(words: RulesVocabulary) -> set[str]:
    return {stem for noun in words.phrases("references.nouns") for stem in words.stems(noun)}


def _numbers(raw: str, words: RulesVocabulary) -> tuple[list[int], set[str]]:
    stems = words.stems(raw)
    values = {stem: int(stem) if stem.isdecimal() else words.numbers.get(stem) for stem in stems}
    named = [stem for stem in stems if values[stem] is not None]
    if len(named) > 1:
        # "the second one": the ordinal counts, "one" only stands for the thing.
        named = [stem for stem in named if stem not in _nouns(words)]
    numbers = [number for stem in named if (number := values[stem]) is not None]
    return numbers, _bare({stem for stem in stems if values[stem] is None}, words)
