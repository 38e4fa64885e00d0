"""Whole talks with strict servers, a kind of rule each: nothing is lost, done twice, or asked for once it is known."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agents.models.factory import Endpoint, Parameters, make_models
from benchmarks.provider_counts import Count
from benchmarks.provider_forms import conversation
from benchmarks.provider_journal import Journal
from benchmarks.provider_talk import Outcome, Visit
from benchmarks.providers import main
from tests.support.sampling import sample
from tests.support.scripted_assistant import stage
from tests.support.strict_providers.kinds import PARAMETERS, forms, strict_server

pytestmark = pytest.mark.needs("planner")
WORK = (
    "hello",
    "handoff",
    "write",
    "two calls",
    "text beside a call",
    "chain of three",
    "question",
    "yes",
    "hand-back",
)
TROUBLE = ("429", "error in mid-stream", "break in mid-stream", "refusal", "cut", "stop", "after the stop")
HEALED = ("handoff", "write", "context too long", "chain of three")


@asynccontextmanager
async def visits(folder: Path, kind: str, *threads: str) -> AsyncIterator[Sequence[Visit]]:
    """Open the application with a model behind a kind of rules, and one visit for each thread."""
    async with strict_server().open() as url, httpx.AsyncClient(trust_env=False, timeout=300) as client:
        endpoint = Endpoint(key=SecretStr("k"), base_url=f"{url}/{kind}/v1", timeout=60)
        wanted = {"default": Parameters.model_validate(PARAMETERS.get(kind, {}))}
        async with stage(folder / "talk.db", make_models("openai:m", {}, None, endpoint, wanted)) as assistant:
            journal = Journal(url, client)
            yield [Visit(assistant, journal, thread) for thread in threads]


async def talk(visit: Visit, names: Sequence[str]) -> list[Outcome]:
    """Have the turns of these names."""
    turns = {said.name: said for said in conversation()}
    return [await visit.outcome(turns[name]) for name in names]


def faults(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    """Return the faults, with the words of the server."""
    words = {outcome.name: [refusal.words for refusal in outcome.refusals] for outcome in outcomes}
    return [(outcome.name, f"{outcome.fault} {words[outcome.name]}") for outcome in outcomes if outcome.fault]


@pytest.mark.parametrize("kind", sample(forms(), 6, forms()))
async def test_a_whole_talk_with_a_kind_of_rules(tmp_path: Path, kind: str) -> None:
    """A refused field is left out after one refusal, and a second talk knows it."""
    async with visits(tmp_path, kind, "first", "second") as (first, second):
        work, again = await talk(first, WORK), await talk(second, WORK[:4])
    assert faults([*work, *again]) == []
    count = Count(work)
    assert (count.refused, count.lost, sum(outcome.doubled for outcome in work)) == (0, 0, 0)
    assert count.asked_again == len(count.learnt)
    assert [refusal.words for outcome in again for refusal in outcome.refusals] == []


@pytest.mark.parametrize("kind", ["plain", "filter", "named-error", "error-end", "responses"])
async def test_trouble_in_mid_answer(tmp_path: Path, kind: str) -> None:
    """A busy server and a broken stream are asked again; a refusal and a cut are told; a stop leaves the talk well."""
    async with visits(tmp_path, kind, "first") as (visit,):
        assert faults(await talk(visit, TROUBLE)) == []


@pytest.mark.parametrize("kind", ["plain", "short-words", "other-words", "thinking-for-ever", "responses"])
async def test_a_context_that_is_too_long(tmp_path: Path, kind: str) -> None:
    """The history is cut, and what must come back with a call still does."""
    async with visits(tmp_path, kind, "first") as (visit,):
        assert faults(await talk(visit, HEALED)) == []


@pytest.mark.slow
async def test_the_talk_over_what_setup_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    """`setup --yes` works, and a process that starts with its `.env` asks nothing again."""
    kind = "no-extras"
    code = await asyncio.to_thread(main, ["--own", "--only", kind, "--long", "0", "--json"])
    unwell = [line for line in capfd.readouterr().err.splitlines() if not line.startswith(f"{kind}: first: hello: ")]
    assert (code, unwell) == (0, [])
