"""Simulated users: what they say, what counts as a failure, and the cases that are made of failures."""

import pytest

from agents.errors import UsageError
from app.cli import command_line
from app.plugins.lab.cases import Case, Expected, ExpectedCall
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.pages.runs import sample_case, sample_user
from app.plugins.lab.runs import RunOrder, run_cases
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan, UserWish, simulate
from app.settings import Settings
from app.yaml_file import validated
from prompts import languages

pytestmark = pytest.mark.needs("planner", "standin")
LISTER = SimulatedUser(
    wishes=(
        UserWish(
            says=("Add milk to my list.", "Put milk on my list!"),
            expect=Expected(calls=(ExpectedCall(tool="add_todos", args={"items": ["milk"]}),), failed_tools=True),
        ),
        UserWish(says=("What time is it?",), expect=Expected(calls=(ExpectedCall(tool="current_time"),))),
    ),
)
WRONG = SimulatedUser(wishes=(UserWish(says=("what time is it?",), expect=Expected(never_calls=("current_time",))),))
"""A user with whom every talk goes wrong."""


async def test_a_failure_becomes_a_case(settings: Settings) -> None:
    """A model that errs is found out; the case has the talk up to there, and passes with a model that does not err."""
    folder = lab_folder()
    folder.write("users", "lister", WRONG)
    outcome = await simulate(settings, SimulationPlan(talks=2, turns=3, keep=True))
    assert (outcome.talks, outcome.turns) == (2, 2)
    assert outcome.failures == {"current_time was called": 2}
    [name] = folder.names("cases")
    assert outcome.cases == {name: "lister"}
    case = folder.read("cases", name, Case)
    assert [turn.user for turn in case.turns] == ["what time is it?"]
    run = await run_cases(settings, {name: case}, RunOrder())
    assert run.results[0].problems == ["turn 1: current_time was called"]


async def test_the_same_seed_says_the_same(settings: Settings) -> None:
    """A seed fixes what scripted users say; too many talks, and no users, are refused."""
    with pytest.raises(UsageError, match="no simulated user"):
        await simulate(settings, SimulationPlan())
    lab_folder().write("users", "lister", LISTER)
    twice = [await simulate(settings, SimulationPlan(talks=2, turns=3, seed=7)) for _ in "12"]
    assert twice[0].lines() == twice[1].lines()
    for talks in (0, 100_000):
        with pytest.raises(UsageError):
            validated(SimulationPlan, {"talks": talks})


def test_the_command(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` ends with 1 where a talk went wrong, and keeps cases only when told to."""
    folder = lab_folder()
    folder.write("users", "clerk", WRONG)
    options = ["--talks", "2", "--turns", "2"]
    assert command_line.main(["lab", "simulate", *options]) == 1
    assert folder.names("cases") == []
    assert command_line.main(["lab", "simulate", *options, "--keep"]) == 1
    assert folder.names("cases")
    assert command_line.main(["lab", "simulate", "nobody"]) == 2
    assert "failures" in capsys.readouterr().out


@pytest.mark.parametrize("lang", languages())
async def test_the_samples_of_the_page_work_at_the_first_click(settings: Settings, lang: str) -> None:
    """The user that a new form offers talks without a failure, in words of the visitor's; so does the case."""
    lab_folder().write("users", "sample", sample_user(lang))
    outcome = await simulate(settings, SimulationPlan(talks=2, turns=6))
    assert (outcome.turns, outcome.failures) == (12, {})
    run = await run_cases(settings, {"sample": sample_case(lang)}, RunOrder())
    assert run.results[0].problems == []
