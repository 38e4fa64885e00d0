"""Who holds the conversation next, and how the observers' votes on it are gathered."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["stay", "switch", "supervisor", "finished"]
By = Literal["free", "gate", "observer", "dialog"]


@dataclass(frozen=True)
class Verdict:
    """One opinion on who holds the conversation next, with its reason."""

    kind: Kind = "stay"
    target: str | None = None
    """The dialog or tool that the user wants instead, if the observer knows it."""
    reason: str = ""

    @property
    def stays(self) -> bool:
        """Whether the dialog keeps the conversation."""
        return self.kind == "stay"

    def plain(self) -> dict[str, Any]:
        """Return the verdict as plain data, for the state."""
        return asdict(self)


STAY = Verdict()


def settle(votes: Mapping[str, Verdict]) -> Verdict:
    """Return the first vote, by the observers' names, that is not "stay"."""
    return next((votes[name] for name in sorted(votes) if not votes[name].stays), STAY)


class Ballot:
    """The votes of the observers that watch one user message.

    It lives for one run of the graph; votes that were stored before a crash are given to it as `known`.
    """

    def __init__(self, known: Mapping[str, Verdict] | None = None) -> None:
        self.votes = dict(known or {})
        self._voters: frozenset[str] | None = None
        self._settled = asyncio.Event()

    def open(self, voters: Iterable[str]) -> None:
        """Start the vote."""
        self._voters = frozenset(voters)
        self._look()

    def cast(self, voter: str, verdict: Verdict) -> None:
        """Take one observer's vote."""
        self.votes[voter] = verdict
        self._look()

    async def verdict(self) -> Verdict:
        """Wait until the vote is settled: at the first one that is not "stay", or when all have voted."""
        await self._settled.wait()
        return settle(self.votes)

    def _look(self) -> None:
        complete = self._voters is not None and self._voters <= self.votes.keys()
        if complete or not settle(self.votes).stays:
            self._settled.set()
