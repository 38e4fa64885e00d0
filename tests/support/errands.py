"""Wishes for three hundred tools: a script of turns, and a model that always knows the right tool."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage

from agents.toolkit.tool_search import CALL, FIND
from app.testing.script import Call, Line, Script
from benchmarks.warehouse import THINGS, VERBS

KINDS: tuple[Literal["plain", "plain", "vague", "talk", "again"], ...] = ("plain", "plain", "vague", "talk", "again")
STEP = 7
"""The distance between the things of two rounds."""
VAGUE = {
    "count": "And of those, how many are left?",
    "move": "Put some of them somewhere else, they are in the way.",
    "paint": "They could do with a new colour, too.",
    "weigh": "Are they heavy?",
    "sell": "I would rather have money than all of those.",
    "repair": "Some are broken, I am afraid; see to it.",
}
TALK = "Thank you, that is a load off my mind. It has been a long day, and there is more to come."


@dataclass(frozen=True)
class Errand:
    """A user message, the right tool (none for talk), and the answer."""

    says: str
    verb: str = ""
    thing: str = ""
    amount: int = 0

    @property
    def tool(self) -> str:
        """Return the name of the right tool; empty for talk."""
        return f"{self.verb}_{self.thing}" if self.verb else ""

    @property
    def answer(self) -> str:
        """Return the assistant's answer at the end of the turn."""
        if not self.verb:
            return "You are welcome. Tell me when there is something to do; the warehouse is open until six."
        return f"That is done: {self.verb} {self.amount} {self.thing}. Is there anything else for the warehouse?"


def errands(turns: int) -> list[Errand]:
    """Return so many turns, in rounds of five: two plain requests, a vague one, talk, the first again."""
    return [_errand(number) for number in range(turns)]


def _errand(number: int) -> Errand:
    round_, kind = number // len(KINDS), KINDS[number % len(KINDS)]
    second = number % len(KINDS) in (1, 2)
    thing = THINGS[(2 * round_ + second) * STEP % len(THINGS)]
    verb = VERBS[(round_ + second + (kind == "vague")) % len(VERBS)]
    if kind == "talk":
        return Errand(TALK)
    if kind == "vague":
        return Errand(VAGUE[verb], verb, thing, number + 1)
    return Errand(
        f"Please {verb} {number + 1} {thing}{' once more' if kind == 'again' else ''}.", verb, thing, number + 1
    )


@dataclass(repr=False)
class Perfect(Script):
    """Call the right tool as the prompt allows: bound, by its card, or after a search."""

    errand: Errand = field(default_factory=lambda: errands(1)[0])

    def __repr__(self) -> str:
        # LangChain prints a model before each call. With all its former prompts that takes ever longer.
        return "Perfect()"

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the next call, or the answer once the tool has run."""
        errand = self.errand
        last = next(message for message in reversed(messages) if not isinstance(message, SystemMessage))
        if not errand.tool or (isinstance(last, ToolMessage) and last.name != FIND):
            return errand.answer
        args: dict[str, Any] = {"amount": errand.amount}
        if errand.tool in {tool["function"]["name"] for tool in self.asked[-1].tools}:
            return Call(errand.tool, args)
        if any(f"- {errand.tool}(" in message.text for message in messages):
            return Call(CALL, {"name": errand.tool, "args": args})
        return Call(FIND, {"query": f"{errand.verb} {errand.thing}"})
