"""Who holds the conversation next, and how the observers' votes on it are gathered."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NotRequired

from typing_extensions import TypedDict

Kind = Literal["stay", "switch", "supervisor", "finished", "person"]
By = Literal["free", "gate", "observer", "dialog"]


class StoredVerdict(TypedDict):
    """A verdict as plain data, for the state."""

    kind: Kind
    target: str | None
    reason: str
    binding: NotRequired[bool]


class Vote(StoredVerdict):
    """A verdict with the observer that gave it."""

    observer: str


@dataclass(frozen=True)
class Verdict:
    """One opinion on who holds the conversation next, with its reason."""

    kind: Kind = "stay"
    """Stay; switch to `target`; to the supervisor; the dialog has reached its goal; or stay, and call a person."""
    target: str | None = None
    """The dialog or tool that the user wants instead, if the observer knows it."""
    reason: str = ""
    binding: bool = False
    """Whether `target` hears the message at once, also where the supervisor's model decides (`DIRECT_SWITCH=0`)."""

    @property
    def stays(self) -> bool:
        """Whether the dialog keeps the conversation."""
        return self.kind in ("stay", "person")

    def plain(self) -> StoredVerdict:
        """Return the verdict as plain data, for the state."""
        return {"kind": self.kind, "target": self.target, "reason": self.reason, "binding": self.binding}


def read_votes(votes: Iterable[Vote]) -> dict[str, Verdict]:
    """Return the verdicts of votes, by observer."""
    return {it["observer"]: Verdict(it["kind"], it["target"], it["reason"], it.get("binding", False)) for it in votes}


STAY = Verdict()


def settle(votes: Mapping[str, Verdict]) -> Verdict:
    """Return the first vote, by the observers' names, that is not "stay"."""
    return next((votes[name] for name in sorted(votes) if not votes[name].stays), STAY)


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
        """Wait until the vote is settled: at the first one that is not "stay", or when all of these have voted."""
        while settle(self.votes).stays and not self.votes.keys() >= {*voters}:
            self._news.clear()
            await self._news.wait()
        return settle(self.votes)
