"""Numbered lists: which list a tool works on, what it holds, and which entry a user means.

By convention `list_things` shows the list and needs no parameters; `change_thing` and `delete_things` use its numbers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_core.messages import AIMessage

from agents.language.schedule.grammar import words as moment_words
from agents.language.text.stems import plain
from agents.state.message_notes import notes_of
from app.standin.phrasebook import Match
from app.standin.situation import PROTOCOL, Situation, results
from app.standin.values import REFERRING, items, vague
from app.standin.vocabulary import StandinVocabulary

CHOOSE, ASK = "choose_", "ask_"
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


def choosers(now: Situation) -> list[str]:
    """Return the tools that let the user choose or fill in."""
    return [name for name in now.tools if name.startswith((CHOOSE, ASK))]


def of_its_things(names: Iterable[str], tool: str) -> str | None:
    """Return the first of these tools that is about the same things as `tool`; None if there is none."""
    return next((name for name in names if _things(name) == _things(tool)), None)


def entries_of(now: Situation, tool: str) -> dict[int, str] | None:
    """Return the list of a tool's things as it was before this turn changed anything; None if it is not known."""
    shown_by = of_its_things(list_tools(now), tool)
    for result in now.results:
        if result.call.name == shown_by and not result.failed:
            return entries(result.text)
    for result in reversed(results(now.before)):
        name = result.call.name
        if not result.failed and name in now.tools and name not in PROTOCOL and _things(name) == _things(tool):
            return entries(result.text) or ({} if name == shown_by else None)
    return None


def points(match: Match, words: StandinVocabulary) -> bool:
    """Tell whether a wish names entries but not their list: "delete the second one"."""
    raw = next((raw for slot, raw in match.slots.items() if slot in REFERRING), "")
    is_number = words.means(raw, "references.all") or plain_number(raw, words) is not None
    return is_number and names_no_list(match, words)


def names_no_list(match: Match, words: StandinVocabulary) -> bool:
    """Tell whether a wish is a verb and one value: "delete dentist"."""
    literals = match.pattern.literals
    is_verb = len(literals) == 1 if words.spaced else literals <= words.listed("edits.alone")
    return len(match.slots) == 1 and is_verb and not literals <= words.listed("edits.clearing")


def tool_for(now: Situation, match: Match) -> str | None:
    """Return the tool on whose list the named entry is, where a wish names no list; None if it is on none.

    "Delete dentist" is said of to-dos and of reminders. The value is the first list that is not known yet, too.
    """
    [(slot, raw)] = match.slots.items()
    verb, words, lists = match.pattern.tool.partition("_")[0], now.words, list_tools(now)
    alike = [name for name, parameters in now.tools.items() if name.startswith(f"{verb}_") and slot in parameters]
    for tool in sorted(alike, key=lambda name: name != match.pattern.tool):
        if vague(raw, words) or not of_its_things(lists, tool):
            continue
        listing = entries_of(now, tool)
        if listing is None or (listing and not refer(raw, listing, words).unknown):
            return tool
    return None


def with_list(now: Situation, match: Match) -> str | None:
    """Return a wish that names no list with the list that was shown last; None if there was none."""
    for message in reversed(now.before):
        if "dialog" in notes_of(message):
            # Another dialog had its turn since then, and this speaker does not know what it showed.
            return None
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        for name in (notes_of(message).get("served", ""), *(call["name"] for call in calls)):
            if tail := now.words.phrases(f"lists.{_things(name)}"):
                return tail[0].format(match.text)
    return None


def _things(tool: str) -> str:
    return tool.partition("_")[2].removesuffix("s")


def entries(text: str) -> dict[int, str]:
    """Return the entries of a text that holds a numbered list, by number; empty if there is none."""
    return {int(number): entry for number, entry in _ENTRY.findall(text)}


def is_list(text: str) -> bool:
    """Tell whether a text is a numbered list and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENTRY.match(line) for line in lines)


def refer(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> ListReference:
    """Find the entries of `listing` that the words mean."""
    if words.means(raw, "references.all"):
        return ListReference(tuple(listing))
    meant = [_one(piece, listing, words) for piece in (items(raw, words) or [raw])]
    if _named(raw, listing, words):
        meant = [_one(raw, listing, words)]
    numbers = dict.fromkeys(number for it in meant for number in it.numbers)
    unknown = tuple(name for it in meant for name in it.unknown)
    return next((it for it in meant if it.choices), ListReference(tuple(numbers), unknown))


def _one(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> ListReference:
    if (number := plain_number(raw, words)) is not None:
        number = max(listing, default=0) if number == -1 else number
        return ListReference((number,)) if number in listing else ListReference(unknown=(raw,))
    if named := _named(raw, listing, words):
        return ListReference(named)
    stems = _telling(words.stems(raw), words)
    near = tuple(number for number, entry in listing.items() if stems and stems <= set(words.stems(entry)))
    return (
        ListReference(near)
        if len(near) == 1
        else ListReference(choices=near)
        if near
        else ListReference(unknown=(raw,))
    )


def _named(raw: str, listing: Mapping[int, str], words: StandinVocabulary) -> tuple[int, ...]:
    key = words.key(raw)
    return tuple(number for number, entry in listing.items() if words.key(_MARK.sub("", entry)) == key)[:1]


def plain_number(raw: str, words: StandinVocabulary) -> int | None:
    """Return the number that the words name by themselves ("2", "the second one"), -1 for the last."""
    stems = words.stems(moment_words(words.lang).figured(plain(raw)))
    values = {stem: int(stem) if stem.isdecimal() else words.numbers.get(stem) for stem in stems}
    named = [stem for stem in stems if values[stem] is not None]
    if len(named) > 1:
        # "the second one", "the last one": the ordinal counts, "one" only stands for the thing.
        thing = 1 if -1 in values.values() else None
        nouns = words.listed("references.nouns")
        named = [stem for stem in named if stem not in nouns and values[stem] != thing]
    others = _telling([stem for stem in stems if values[stem] is None], words)
    return values[named[0]] if len(named) == 1 and not others else None


def _telling(stems: list[str], words: StandinVocabulary) -> set[str]:
    return set(stems) - words.listed("references.nouns") - words.fillers
