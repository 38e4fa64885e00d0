"""Count the costs of the conversation: model calls, prompt characters, and the share that repeats the last prompt.

`python -m benchmarks.counts --turns 30`; with `--sizes` every call and the parts of its prompt.
"""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.testing.script import Asked
from benchmarks.conversation import TURNS, Step, asking_nothing, script
from benchmarks.performing import Player, perform, stage
from benchmarks.report import Row, arguments, show

OBSERVER = "observer"
CACHED = 0.1
"""The price of a character from a provider's cache; a fresh one costs 1."""


@dataclass(frozen=True, repr=False)
class Calls:
    """The model calls of some turns, with discarded drafts.

    `asyncio.run` words what it returns: for calls of 150 turns that would take most of the time.
    """

    asked: Sequence[Asked]
    turns: Sequence[int]
    """The turn of each call, from 1."""

    @property
    def characters(self) -> int:
        """Return the size of all prompts: texts, tool-call arguments and tool schemas."""
        return sum(len(call.prefix) for call in self.asked)

    @property
    def repeated(self) -> int:
        """Return the number of these characters that repeat the same role's previous prompt from its start."""
        last: defaultdict[str, str] = defaultdict(str)
        same = 0
        for call in self.asked:
            same += _shared(last[call.role], call.prefix)
            last[call.role] = call.prefix
        return same

    @property
    def cost(self) -> float:
        """Return the price of all prompts, in fresh characters: a repeated one costs a tenth."""
        return self.priced(CACHED)

    def priced(self, cached: float) -> float:
        """Return the price of all prompts if a repeated character costs `cached` of a fresh one."""
        return self.characters - (1 - cached) * self.repeated

    @property
    def within(self) -> float | None:
        """Return the share of a speaker's earlier prompt that its next one in the same turn repeats from its start.

        None if no speaker had two calls in a turn. Observers and summaries are left out: they have no tools, and
        prompts of their own kind.
        """
        last, same, all = dict[tuple[str, int], str](), 0, 0
        for call, turn in zip(self.asked, self.turns, strict=True):
            if call.role == OBSERVER or not call.tools:
                continue
            if former := last.get((call.role, turn)):
                same, all = same + _shared(former, call.prefix), all + len(former)
            last[call.role, turn] = call.prefix
        return same / all if all else None

    def by(self, *roles: str) -> "Calls":
        """Return the calls of these roles."""
        return self._where(call.role in roles for call in self.asked)

    def but(self, role: str) -> "Calls":
        """Return the calls of all roles except one."""
        return self._where(call.role != role for call in self.asked)

    def until(self, turn: int) -> "Calls":
        """Return the calls of the turns up to this one."""
        return self._where(number <= turn for number in self.turns)

    def _where(self, selected: Iterable[bool]) -> "Calls":
        places = [place for place, is_selected in enumerate(selected) if is_selected]
        return Calls([self.asked[place] for place in places], [self.turns[place] for place in places])


def count(turns: int, folder: Path, *, asks: bool = True) -> Calls:
    """Perform the script with so many turns, with its database in `folder`, and return its model calls.

    Without `asks` the answers contain no questions.
    """
    steps = script(turns) if asks else asking_nothing(script(turns))
    return asyncio.run(_count(steps, folder))


async def _count(steps: Sequence[Step], folder: Path) -> Calls:
    player, numbers = Player(), list[int]()
    async with stage(f"sqlite:///{folder / 'counts.db'}", player) as assistant:
        turn = 0
        async for _ in perform(assistant, player, steps):
            turn += 1
            numbers += [turn] * (len(player.asked) - len(numbers))
    return Calls(player.asked, numbers)


def _shared(former: str, text: str) -> int:
    pairs = enumerate(zip(former, text, strict=False))
    return next((place for place, (before, after) in pairs if before != after), min(len(former), len(text)))


def made_of(call: Asked) -> dict[str, int]:
    """Return the parts of a prompt, in characters."""
    tools = len(json.dumps(call.tools, ensure_ascii=False)) if call.tools else 0
    first, last = len(call.messages[0].text), len(call.messages[-1].text)
    size = len(call.prefix)
    history = size - tools - first - last
    return {"tools": tools, "role text": first, "history": history, "last message": last, "characters": size}


def summary(calls: Calls, cached: float = CACHED) -> list[Row]:
    """Return a row for each role and one for all; a repeated character costs `cached`."""
    roles = {role: calls.by(role) for role in sorted({call.role for call in calls.asked})}
    return [_row(name, group, cached) for name, group in {**roles, "all": calls}.items()]


def _row(name: str, calls: Calls, cached: float) -> Row:
    parts = [made_of(call) for call in calls.asked]
    sums = {key: sum(part[key] for part in parts) for key in parts[0]}
    share = {"repeated %": 100 * calls.repeated / calls.characters}
    price = {"at cached price": round(calls.priced(cached))}
    within = {"within a turn %": None if calls.within is None else 100 * calls.within}
    return {"role": name, "calls": len(parts), **sums, **share, **price, **within}


def main() -> None:
    """Count a script of the command line's length."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--sizes", action="store_true", help="list every call")
    parser.add_argument("--asking-nothing", action="store_true", help="with answers that ask the user nothing")
    parser.add_argument("--cached-price", type=float, default=CACHED, help="of a repeated character (0.1)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        calls = count(chosen.turns, Path(folder), asks=not chosen.asking_nothing)
    pairs = zip(calls.turns, calls.asked, strict=True)
    sizes: list[Row] = [{"role": call.role, "turn": turn, **made_of(call)} for turn, call in pairs]
    show(sizes if chosen.sizes else summary(calls, chosen.cached_price), as_json=chosen.json)


if __name__ == "__main__":
    main()
