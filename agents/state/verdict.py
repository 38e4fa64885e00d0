"""Verdicts on the next holder of the conversation, and the collection of the observers' votes."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from prompts import FALLBACK, sentence

Kind = Literal["stay", "switch", "supervisor", "finished", "person"]
By = Literal["free", "gate", "observer", "dialog"]


def because(key: str, /, **facts: object) -> str:
    """Return the reason of a decision, from `reasons.toml`; the trace has it in English."""
    return sentence("reasons", key, FALLBACK, **facts)


class StoredGuess(TypedDict):
    """The gate's score of a message, for a process that resumes its turn, and the dialog that the message may leave."""

    value: float
    model: str
    watched: bool
    dialog: str


class StoredVerdict(TypedDict):
    """A verdict as plain data, for the state."""

    kind: Kind
    target: str | None
    reason: str
    binding: NotRequired[bool]
    also: NotRequired[str]


class Vote(StoredVerdict):
    """A verdict with the observer that gave it."""

    observer: str


@dataclass(frozen=True)
class Verdict:
    """An opinion on the next holder of the conversation, with its reason."""

    kind: Kind = "stay"
    """Stay; go to `target`; go to the supervisor; the dialog has reached its goal; or stay, and call a person."""
    target: str | None = None
    """The dialog or tool that the user wants instead, if the observer knows it."""
    reason: str = ""
    binding: bool = False
    """Whether `target` hears the message at once, also where the supervisor's model decides (`DIRECT_SWITCH=0`)."""
    also: str = ""
    """With "stay": the dialog or tool for the rest of the message; it comes after the dialog."""

    @property
    def stays(self) -> bool:
        """Whether the dialog keeps the conversation."""
        return self.kind in ("stay", "person")

    def plain(self) -> StoredVerdict:
        """Return the verdict as plain data, for the state."""
        return cast(StoredVerdict, asdict(self))


def read_votes(votes: Iterable[Vote]) -> dict[str, Verdict]:
    """Return the verdicts of votes, by observer."""
    return {
        vote["observer"]: Verdict(
            vote["kind"], vote["target"], vote["reason"], vote.get("binding", False), vote.get("also", "")
        )
        for vote in votes
    }


STAY = Verdict()


def settle(votes: Mapping[str, Verdict]) -> Verdict:
    """Return the first vote, by the observers' names, that is not "stay"; else the first that has `also`."""
    ordered = [votes[name] for name in sorted(votes)]
    return next((vote for vote in ordered if not vote.stays), next((vote for vote in ordered if vote.also), STAY))


class Ballot:
    """The votes of the observers that watch one user message.

    It lives for one run of the graph; `cast_before` are votes that were stored before a crash.
    """

    def __init__(self, cast_before: Mapping[str, Verdict] | None = None) -> None:
        self.votes = dict(cast_before or {})
        self._news = asyncio.Event()

    def cast(self, voter: str, verdict: Verdict) -> None:
        """Take one observer's vote."""
        self.votes[voter] = verdict
        self._news.set()

    async def verdict(self, voters: Collection[str]) -> Verdict:
        """Wait until the vote is settled: at the first vote that is not "stay", or when all of these have voted."""
        while settle(self.votes).stays and not self.votes.keys() >= {*voters}:
            self._news.clear()
            await self._news.wait()
        return settle(self.votes)
