"""The usage of models by day (UTC), in the database, and the budget that it leaves for a turn.

The database counts all users by model, and each user by a keyed digest. The counts outlive a forgotten user: nobody
may escape a limit by having data forgotten.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import Field

from agents.errors import DatabaseError, ModelUnavailable
from agents.events import Event, ModelEnd, ModelStart
from agents.memory import Memory
from agents.memory.connection import Session, Tables
from agents.memory.inbox import storable
from agents.models import FREE
from agents.plugin import PluginSettings
from agents.state.limits import Limits
from agents.toolkit.context import Budgets, TurnUsage
from app.prices import MILLION, Price, Tokens
from prompts import sentence

LOG = logging.getLogger(__name__)
TABLES = Tables(
    "usage",
    {
        "make_usage": """CREATE TABLE usage (
        day TEXT NOT NULL, who TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        millionths INTEGER NOT NULL, largest INTEGER NOT NULL, PRIMARY KEY (day, who, model)) WITHOUT ROWID""",
        # The digests of older versions had no key.
        "forget_plain_digests": "DELETE FROM usage WHERE who <> ''",
    },
)
ADD = """
INSERT INTO usage (day, who, model, calls, input_tokens, cached_tokens, output_tokens, millionths, largest)
VALUES (:day, :who, :model, :calls, :input, :cached, :output, :millionths, :largest)
ON CONFLICT (day, who, model) DO UPDATE
SET calls = usage.calls + excluded.calls, input_tokens = usage.input_tokens + excluded.input_tokens,
cached_tokens = usage.cached_tokens + excluded.cached_tokens,
output_tokens = usage.output_tokens + excluded.output_tokens,
millionths = usage.millionths + excluded.millionths, largest = max(usage.largest, excluded.largest)
"""
PRUNE = "DELETE FROM usage WHERE day < ? OR (who <> '' AND day < ?)"
SUM = """
SELECT CAST(coalesce(sum(input_tokens + output_tokens), 0) AS INTEGER), CAST(coalesce(sum(millionths), 0) AS INTEGER)
FROM usage WHERE day = ? AND who = ?
"""
DAYS = """
SELECT day, model, calls, input_tokens, cached_tokens, output_tokens, millionths, largest FROM usage
WHERE who = ? AND day > ? ORDER BY day, model
"""
EVERYBODY = ""
"""The value in place of a user's digest, in the rows that count all users."""
MOST_COUNTED = 1 << 44
"""The most that a turn counts of anything: a day of such turns is still a number that a database keeps."""
KEPT_OF_USER = timedelta(days=1)
"""How long the counts of single users are kept behind their day; none is needed after it."""


class UsageSettings(PluginSettings):
    """The limits of usage for a day, 0: no limit; and the number of days that are kept."""

    user_tokens_per_day: int = Field(default=0, ge=0)
    user_money_per_day: float = Field(default=0, ge=0)
    tokens_per_day: int = Field(default=0, ge=0)
    money_per_day: float = Field(default=0, ge=0)
    usage_days: int = Field(default=90, ge=2)

    @property
    def is_limited(self) -> bool:
        """Whether anything is limited."""
        return any((self.user_tokens_per_day, self.user_money_per_day, self.tokens_per_day, self.money_per_day))


class Sum(NamedTuple):
    """The usage of a day, as tokens and money."""

    tokens: int = 0
    millionths: int = 0
    """Money, in millionths of the currency of the prices."""


NOTHING = Sum()


class DayOfModel(NamedTuple):
    """The usage of one model on one day (UTC)."""

    day: str
    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    money: float
    largest: int
    """Tokens of the largest turn in which the model was used."""


@dataclass(eq=False)
class Usage(Budgets):
    """Counts the usage of models, and tells what is left of a day's limits."""

    memory: Memory
    limits: UsageSettings
    prices: Mapping[str, Price] = field(default_factory=dict)
    counted: dict[str, Tokens] = field(default_factory=dict)
    """The usage of this process's turns since its start, by model."""
    _pruned: str = ""

    async def budget(self, user: str, zone: ZoneInfo, *, is_paid: bool = True) -> "Budget":
        """Return the budget of a user's turn; the user reads in the time zone `zone` when the next day begins."""
        begins = datetime.combine(self._today() + timedelta(days=1), datetime.min.time(), UTC).astimezone(zone)
        budget = Budget(usage=self, user=user, until=f"{begins:%H:%M} ({zone.key})", is_paid=is_paid)
        if self.limits.is_limited:
            budget.used = await self._sum(self.memory.digests.of(user))
            budget.used_by_all = await self._sum(EVERYBODY)
        return budget

    def count(self, call: ModelEnd) -> Tokens | None:
        """Count a model call of a turn in this process; return its tokens, or None for a free model."""
        if call.model.startswith(FREE):
            return None
        tokens = Tokens.of(call)
        self.counted.setdefault(call.model, Tokens()).add(tokens)
        return tokens

    async def add(self, user: str, used: Mapping[str, Tokens], largest: int) -> None:
        """Write down the usage of a turn, by model; `largest` are the tokens of the turn so far."""
        today = self._today()
        day = today.isoformat()
        rows = list[Mapping[str, object]]()
        for model, tokens in used.items():
            took = {**asdict(tokens), "millionths": self.millionths(model, tokens), "largest": largest}
            counts = {name: max(0, min(number, MOST_COUNTED)) for name, number in took.items()}
            rows.append({"day": day, "who": EVERYBODY, "model": storable(model), **counts})
            rows.append({"day": day, "who": self.memory.digests.of(user), "model": "", **counts})
        kept_from = (today - timedelta(days=self.limits.usage_days)).isoformat(), (today - KEPT_OF_USER).isoformat()

        def add(database: Session) -> None:
            if self._pruned != day:
                database.execute(PRUNE, kept_from)
            for row in rows:
                database.execute(ADD, row)

        # A power cut may take the last counts along; no turn waits for the disk because of them.
        await self.memory.saver.connection.write(add)
        self._pruned = day

    def millionths(self, model: str, tokens: Tokens) -> int:
        """Return the cost of a model's calls, in millionths of the currency of the prices; 0 without a price."""
        price = self.prices.get(model)
        return round(price.of(tokens) * MILLION) if price else 0

    async def by_day(self, days: int = 1, user: str | None = None) -> list[DayOfModel]:
        """Return the usage of the last days, by model; for one user in sum, and of the last two days at most."""
        after = (self._today() - timedelta(days=days)).isoformat()
        rows = await self.memory.database.execute(
            DAYS, (EVERYBODY if user is None else self.memory.digests.of(user), after)
        )
        return [DayOfModel._make((*row[:6], row[6] / MILLION, row[7])) for row in rows]

    async def today(self, lang: str, limits: Limits) -> str:
        """Return today's usage of models, in a line."""
        models = await self.by_day()
        facts = {
            "tokens": sum(model.input_tokens + model.output_tokens for model in models),
            "most": self.limits.tokens_per_day or "-",
            "money": round(sum(model.money for model in models), 4),
            "most_money": self.limits.money_per_day or "-",
            "largest": max((model.largest for model in models), default=0),
            "turn": limits.turn_tokens or "-",
        }
        return sentence("usage/phrases", "today", lang, **facts)

    async def _sum(self, who: str) -> Sum:
        [(tokens, millionths)] = await self.memory.database.execute(SUM, (self._today().isoformat(), who))
        return Sum(tokens, millionths)

    def _today(self) -> date:
        return datetime.fromtimestamp(self.memory.now(), UTC).date()


@dataclass(kw_only=True)
class Budget(TurnUsage):
    """The usage of one turn, counted towards the limits of its day; a model call that is over them does not begin."""

    usage: Usage
    user: str
    until: str
    """The beginning of the next day, as the user reads it."""
    is_paid: bool = True
    """Whether every model of the turn has its price, so that a turn over its limits need not begin."""
    used: Sum = NOTHING
    """The user's usage of this day up to this turn."""
    used_by_all: Sum = NOTHING
    """All users' usage of this day up to this turn."""
    own: Sum = NOTHING
    """The usage of this turn."""
    _unstored: dict[str, Tokens] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Count a call. Raises ModelUnavailable: a call begins that is over a limit."""
        if isinstance(event, ModelStart) and not event.model.startswith(FREE):
            self._check()
        super().note(event)
        if isinstance(event, ModelEnd) and (tokens := self.usage.count(event)):
            self._unstored.setdefault(event.model, Tokens()).add(tokens)
            cost = self.usage.millionths(event.model, tokens)
            self.own = Sum(self.own.tokens + tokens.input + tokens.output, self.own.millionths + cost)

    def leaves(self, limits: Limits) -> int:
        """Return how many calls are left. Raises ModelUnavailable if each of them would be over a limit."""
        if self.is_paid:
            self._check()
        return super().leaves(limits)

    async def store(self) -> None:
        """Write down the counts since the last time; counts that cannot be written stay for the next time."""
        unstored, self._unstored = self._unstored, {}
        if not unstored:
            return
        try:
            await self.usage.add(self.user, unstored, self.own.tokens)
        except DatabaseError as fault:
            # The answer is there: a count must not cost the user its end.
            LOG.error("what models were used is not written down (%s)", fault)
            for model, tokens in unstored.items():
                self._unstored.setdefault(model, Tokens()).add(tokens)

    def _check(self) -> None:
        limits, own = self.usage.limits, self.own
        for what, limit, used in (
            ("tokens of this user", limits.user_tokens_per_day, self.used.tokens + own.tokens),
            ("money of this user", limits.user_money_per_day * MILLION, self.used.millionths + own.millionths),
            ("tokens", limits.tokens_per_day, self.used_by_all.tokens + own.tokens),
            ("money", limits.money_per_day * MILLION, self.used_by_all.millionths + own.millionths),
        ):
            if 0 < limit <= used:
                raise ModelUnavailable("spent", f"the {what} of the day are used up", until=self.until)
