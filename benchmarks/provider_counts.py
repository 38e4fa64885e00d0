"""Counts of a provider's form: refused, lost and doubled turns, and the lessons from refusals."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.provider_forms import ProviderForm
from benchmarks.provider_talk import Outcome, Setup, Talks
from benchmarks.report import Row


@dataclass
class Tried:
    """All trials of a form."""

    form: ProviderForm
    talks: Talks
    setup: Setup
    over_env: Talks | None

    def row(self) -> Row:
        """Return the counts as a row."""
        first = Count(self.talks.first)
        second = Count(self.talks.second, first.learnt)
        later = Count(self.over_env.first, Count.of_setup(self.setup).learnt) if self.over_env else Count([])
        every = [first, second, later]
        verdicts = Counter(request.verdict for count in every for one in count.outcomes for request in one.requests)
        return {
            "form": self.form.name,
            "turns": sum(len(count.outcomes) for count in every),
            "refused": sum(count.refused for count in every),
            "lost": sum(count.lost for count in every),
            "doubled": sum(outcome.doubled for count in every for outcome in count.outcomes),
            "learnt": len(first.learnt),
            "asked again": first.asked_again,
            "second talk": second.asked_again,
            "over .env": later.asked_again if self.over_env else None,
            "setup": Count.of_setup(self.setup).asked_again if not self.setup.code else f"exit {self.setup.code}",
            "busy": verdicts["busy"] + verdicts["down"],
            "failed": verdicts["failed"],
            "broken": verdicts["broken"],
            "overflow": verdicts["overflow"],
        }

    def faults(self) -> list[str]:
        """Return the faults, a line for each turn."""
        talks = {"first": self.talks.first, "second": self.talks.second}
        talks |= {"over .env": self.over_env.first} if self.over_env else {}
        lines = (
            [] if not self.setup.code else [f"setup: exit {self.setup.code}: {' '.join(self.setup.printed.split())}"]
        )
        for name, outcomes in talks.items():
            lines += [f"{name}: {outcome.name}: {_told(outcome)}" for outcome in outcomes if _told(outcome)]
        return [f"{self.form.name}: {line}" for line in lines]


def _told(outcome: Outcome) -> str:
    rules = dict.fromkeys(f"refused {refusal.rule}" for refusal in outcome.refusals)
    return ", ".join(filter(None, [outcome.fault, *rules]))


class Count:
    """The refused and lost turns of one conversation, and its lessons; `known` are earlier lessons."""

    def __init__(self, outcomes: Sequence[Outcome], known: frozenset[str] = frozenset()) -> None:
        self.outcomes = outcomes
        self.refused = self.lost = self.asked_again = 0
        learnt: set[str] = set()
        for outcome in outcomes:
            subjects = [_subject(refusal.rule, refusal.words) for refusal in outcome.refusals]
            is_repeated = len({*subjects}) < len(subjects) or not known.isdisjoint(subjects) or learnt & {*subjects}
            self.asked_again += len(subjects)
            # A model's refusal to answer is not a provider's refusal of a request.
            if outcome.name == "refusal" and not outcome.fault:
                self.asked_again -= len(subjects)
            elif subjects and (outcome.fault or is_repeated):
                self.refused += 1
            elif outcome.fault and not outcome.doubled:
                self.lost += 1
            else:
                learnt.update(subjects)
        self.learnt = frozenset(learnt)

    @classmethod
    def of_setup(cls, setup: Setup) -> "Count":
        """Return the count of the setup's refusals."""
        return cls([Outcome("setup", "", setup.requests)])


def _subject(rule: str, words: str) -> str:
    """Return the subject of a refusal: the same for the same field at any place of a prompt."""
    return f"{rule} {re.sub('[0-9]+', '#', words)}"
