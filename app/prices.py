"""The costs of models: tokens, and their prices."""

from collections.abc import Iterable
from dataclasses import dataclass

from agents.errors import ConfigError
from agents.events import ModelEnd

MILLION = 1_000_000
CACHED = 0.1
"""The price of a token from a provider's cache, as a share of the price of a new one."""


@dataclass
class Tokens:
    """The usage of one model's calls, in tokens; 0 where a provider counts none."""

    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0

    @classmethod
    def of(cls, call: ModelEnd) -> "Tokens":
        """Return the usage of one call."""
        return cls(1, call.input_tokens, call.cached_tokens, call.output_tokens)

    def add(self, other: "Tokens") -> None:
        """Add the usage of other calls."""
        self.calls += other.calls
        self.input += other.input
        self.cached += other.cached
        self.output += other.output


def added(each: Iterable[Tokens]) -> Tokens:
    """Return the usage of several calls together."""
    total = Tokens()
    for tokens in each:
        total.add(tokens)
    return total


@dataclass(frozen=True)
class Price:
    """The prices of a model, for a million tokens, in any currency."""

    input: float
    cached: float
    output: float

    def of(self, tokens: Tokens) -> float:
        """Return the cost of a usage."""
        fresh = tokens.input - tokens.cached
        return (fresh * self.input + tokens.cached * self.cached + tokens.output * self.output) / MILLION


def read_prices(entries: Iterable[str]) -> dict[str, Price]:
    """Read "openai:gpt-x=1.25/10" (input/output) or "openai:gpt-x=1.25/0.125/10" (input/cached/output).

    Raises:
        ConfigError: an entry has another form.
    """
    prices = {}
    for entry in entries:
        model, _, text = entry.strip().rpartition("=")
        try:
            numbers = [float(number) for number in text.split("/")]
        except ValueError:
            numbers = []
        if not model or len(numbers) not in (2, 3) or not all(0 <= number < MILLION for number in numbers):
            raise ConfigError(f"a price is MODEL=INPUT/OUTPUT or MODEL=INPUT/CACHED/OUTPUT, found {entry!r}")
        first, *cached, last = numbers
        prices[model] = Price(first, cached[0] if cached else CACHED * first, last)
    return prices
