"""Which list a tool's numbers refer to, and how it stands.

By convention `list_things` shows the list, without parameters, and `change_thing` and `delete_things` go by it.
"""

import re

from langchain_core.messages import AIMessage

from agents.models.rules.matches import Match
from agents.models.rules.references import entries, plain_number
from agents.models.rules.situation import SERVED, Situation
from agents.models.rules.types import PROTOCOL, results
from agents.text.vocabulary import Vocabulary
from prompts import card

_CHOSEN = re.compile(r'"number":(\d+)')


def readings(now: Situation) -> list[str]:
    """Return the tools that show lists."""
    return [name for name, wanted in now.tools.items() if name.startswith("list") and not wanted]


def reading(now: Situation, tool: str) -> str | None:
    """Return the tool that shows the list to which a tool's numbers refer; None if there is none."""
    return next((name for name in readings(now) if _things(name) == _things(tool)), None)


def choosing(now: Situation, tool: str) -> str | None:
    """Return the tool that lets the user choose one of a tool's things; None if there is none."""
    return next((name for name in choosers(now) if _things(name) == _things(tool)), None)


def choosers(now: Situation) -> list[str]:
    """Return the tools that let the user choose."""
    return [name for name in now.tools if name.startswith("choose")]


def number_in(text: str) -> int | None:
    """Return the number of the thing that a choice gave; None if it gave none."""
    found = _CHOSEN.search(text)
    return int(found[1]) if found else None


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


def of_last(now: Situation, tool: str) -> str:
    """Return the tool that does the same to the things that were spoken of last; the tool itself if there is none."""
    lists = {_things(name) for name in readings(now)}
    spoken = (_things(result.call.name) for result in reversed(results(now.before)))
    things = next((one for one in spoken if one in lists), None)
    same = [name for name in now.tools if name.partition("_")[0] == tool.partition("_")[0] and _things(name) == things]
    return same[0] if same else tool


def points(match: Match, words: Vocabulary) -> bool:
    """Whether a wish says which entries of a list it is about, but not of what list: "delete the second one"."""
    raw = list(match.slots.values())
    whole = bool(raw) and words.means(raw[0], "references.all", "references.both")
    return len(raw) == 1 and (whole or plain_number(raw[0], words) is not None)


def spelled(now: Situation, match: Match) -> str | None:
    """Return a wish that only points, with the list named that this speaker showed last; None if it showed none.

    Whoever has the list would otherwise think of the one that was last spoken of there.
    """
    shown = _shown(now)
    helper = next((helper for helper in now.helpers if helper.tool == match.owner), None)
    if shown is None or helper is None or not points(match, now.words):
        return None
    (slot, raw), verb = next(iter(match.slots.items())), match.tool.partition("_")[0]
    for name in helper.tools:
        if name.partition("_")[0] != verb or _things(name) != _things(shown):
            continue
        for example in card(name, now.words.lang)[1]:
            text = example.replace(f"{{{slot}}}", raw)
            found = now.book().find(text) if text != example else None
            if found and found.tool == name and len(found.pattern.literals) > 1:
                return text
    return None


def _shown(now: Situation) -> str | None:
    """Return the tool of the list that was shown here last, unless another dialog had its turn since then."""
    for message in reversed(now.before):
        if isinstance(message, AIMessage) and (tool := str(message.additional_kwargs.get(SERVED, ""))).startswith(
            "list"
        ):
            return tool
        if "dialog" in message.additional_kwargs:
            return None
    return None


def _things(tool: str) -> str:
    return tool.partition("_")[2].removesuffix("s")
