"""The counts of what models use: shared by all processes, in either database."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agents.errors import ConfigError, ModelUnavailable
from agents.events import ModelEnd, ModelStart
from agents.memory import Memory
from agents.toolkit.services import Services
from app.databases import backend_of
from app.plugins.usage import opened
from app.plugins.usage.counts import TABLES, Usage, UsageSettings
from app.prices import Price, Tokens, read_prices
from tests.contracts.test_settings import settings

pytestmark = pytest.mark.both

DAY = 24 * 3600
ZONE = ZoneInfo("Europe/Moscow")
START = ModelStart(speaker="planner", model="m")


def limited(**limits: float) -> UsageSettings:
    """Return limits."""
    return UsageSettings.model_validate({"_env_file": None, **limits})


@pytest.fixture
async def memory(database: str) -> AsyncIterator[Memory]:
    """Open the database, on the first of January of 1970."""
    async with backend_of(database).open(lambda: 0.0, tables=[TABLES]) as opened:
        yield opened


async def test_two_processes_count_the_same_day(memory: Memory, database: str) -> None:
    """One process's additions count in the other one; at the same time nothing is lost."""
    limits = limited(user_tokens_per_day=100)
    async with backend_of(database).open(lambda: 0.0, tables=[TABLES]) as there:
        processes = [Usage(each, limits) for each in (memory, there)]
        await asyncio.gather(*(each.add("ann", {"m": Tokens(1, 4, 2, 1)}, 5) for each in processes for _ in range(10)))
        [day] = await processes[0].by_day()
        assert day == ("1970-01-01", "m", 20, 80, 40, 20, 0.0, 5)
        assert await processes[1].by_day(user="bob") == []

        budget = await processes[1].budget("ann", ZONE)
        with pytest.raises(ModelUnavailable) as over:
            budget.note(START)
        assert over.value.until == "03:00 (Europe/Moscow)"
        (await processes[1].budget("bob", ZONE)).note(START)


async def test_a_day_of_a_large_installation(memory: Memory) -> None:
    """Its sums do not fit into 32 bits: in millionths, a day of 3,000 dollars does not."""
    usage = Usage(memory, limited(money_per_day=3000), {"m": Price(1, 1, 1)})
    await usage.add("ann", {"m": Tokens(1, 3_000_000_000, 0, 0)}, 5)
    with pytest.raises(ModelUnavailable, match="money"):
        (await usage.budget("bob", ZONE)).note(START)


async def test_no_number_of_a_provider_is_too_large(memory: Memory) -> None:
    """Nonsense is bounded, so that neither this turn nor the next ones of the day fail by what is counted."""
    limits = limited(tokens_per_day=1)
    usage = Usage(memory, limits, {"m": Price(900_000, 0, 0)})
    for _ in range(3):
        await usage.add("ann", {"m": Tokens(1, 10**30, 0, -5)}, 10**30)
    with pytest.raises(ModelUnavailable):
        (await usage.budget("bob", ZONE)).note(START)
    [day] = await usage.by_day()
    assert day.calls == 3


async def test_a_count_that_cannot_be_written_ends_no_turn(memory: Memory) -> None:
    """Whatever is wrong with the table: the count waits for the next time, and nothing is raised."""
    budget = await (usage := Usage(memory, limited())).budget("ann", ZONE)
    budget.note(ModelEnd(speaker="planner", model="m", input_tokens=7, output_tokens=0, ms=1, ok=True))
    await memory.database.execute("ALTER TABLE usage RENAME TO hidden")
    await budget.store()
    await memory.database.execute("ALTER TABLE hidden RENAME TO usage")
    await budget.store()
    assert [day.input_tokens for day in await usage.by_day()] == [7]


async def test_old_days_go(database: str) -> None:
    """The sums of all users stay for so many days, those of one user for today and yesterday."""
    now = [0.0]
    async with backend_of(database).open(lambda: now[0], tables=[TABLES]) as memory:
        usage = Usage(memory, limited(usage_days=3))
        for now[0] in (0.0, DAY, 2 * DAY, 4 * DAY):
            await usage.add("ann", {"m": Tokens(1, 1, 0, 1)}, 2)
        assert [day.day for day in await usage.by_day(10)] == ["1970-01-02", "1970-01-03", "1970-01-05"]
        assert [day.day for day in await usage.by_day(10, "ann")] == ["1970-01-05"]


async def test_a_turn_is_written_down_once(memory: Memory) -> None:
    """Storing again adds nothing; the largest turn is remembered, and shown with its day."""
    usage = Usage(memory, limited(), {"m": Price(1, 0.1, 8)})
    budget = await usage.budget("ann", ZONE)
    for tokens in (60, 40):
        budget.note(ModelEnd(speaker="planner", model="m", input_tokens=tokens, output_tokens=0, ms=1, ok=True))
        await budget.store()
    await budget.store()
    assert await usage.by_day() == [("1970-01-01", "m", 2, 100, 0, 0, 0.0001, 100)]


def test_prices_are_a_setting() -> None:
    """They stand in one line; a wrong one is named."""
    given = settings(llm_prices="openai:a=1/8, openai:b=2/0.5/9")
    assert given.llm_prices == read_prices(["openai:a=1/8", "openai:b=2/0.5/9"])
    with pytest.raises(ValueError, match="a price is MODEL=INPUT/OUTPUT"):
        settings(llm_prices="openai:a=1")


@pytest.mark.needs("standin")
async def test_money_without_a_price_is_refused(tmp_path: Path) -> None:
    """With a limit of money each model needs a price, but for free ones."""
    given = settings(llm_model="openai:a", openai_api_key="k", fallback_model="local:rules")
    free = settings()
    async with backend_of(f"sqlite:///{tmp_path / 'usage.db'}").open(tables=[TABLES]) as memory:
        with pytest.raises(ConfigError, match="there is no price of openai:a"):
            async with opened(Services(memory, limited(money_per_day=1), given, given.models())):
                pass
        async with opened(Services(memory, limited(money_per_day=1), free, free.models())) as [usage]:
            assert isinstance(usage, Usage)


async def test_a_user_is_counted_by_a_digest_with_a_key(memory: Memory) -> None:
    """The count outlives a forgetting, and nobody can verify a guessed name by it."""
    usage = Usage(memory, limited())
    await usage.add("pomelo", {"m": Tokens(1, 1, 0, 1)}, 2)
    await memory.forget_person("pomelo")
    assert await usage.by_day(user="pomelo")
    rows = await memory.database.execute("SELECT who FROM usage")
    assert memory.digests.of("pomelo") in [who for (who,) in rows]
    assert not {"pomelo", hashlib.sha256(b"pomelo").hexdigest()} & {who for (who,) in rows}
