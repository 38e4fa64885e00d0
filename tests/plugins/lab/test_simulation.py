"""Simulated users: what they say, what counts as a failure, and the cases that are made of failures."""

import logging
from collections.abc import Callable, Sequence
from itertools import count

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from agents.errors import ModelUnavailable, UsageError
from agents.models import ToolSchema
from app.cli import command_line
from app.composition import discover
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.desk_session import DeskCall, reply_of
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.pages.runs import sample_case, sample_user
from app.plugins.lab.runs import RunOrder, run_cases, summaries, table_lines
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan, UserWish, simulate
from app.plugins.lab.variants import LabVariant
from app.settings import Settings
from app.yaml_file import validated
from prompts import card, languages
from tests.support.rules import RulesModel

LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.needs("planner")
LISTER = SimulatedUser(
    wishes=(
        UserWish(
            says=("Add milk to my list.", "Put milk on my list!"),
            expect=Expected(calls=(ExpectedCall(tool="add_todos", args={"items": ["milk"]}),), failed_tools=True),
        ),
        UserWish(says=("What time is it?",), expect=Expected(calls=(ExpectedCall(tool="current_time"),))),
    ),
)
CLERK = SimulatedUser(
    wishes=(UserWish(says=("what is on my list?",)), UserWish(says=("add tea to my list", "add rice to my list")))
)
WRONG = SimulatedUser(wishes=(UserWish(says=("what time is it?",), expect=Expected(never_calls=("current_time",))),))
"""A user with whom every talk goes wrong."""
Answer = Callable[[RulesModel, list[BaseMessage], Sequence[ToolSchema]], AIMessage]


def erring(answer: Answer, every: int) -> Answer:
    """Return a model's answers, with a mistake in place of every so many that may call tools."""
    replies = count(1)

    def answered(chat: RulesModel, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        number = next(replies) if tools else 0
        return mistake(number // every, tools) if tools and number % every == 0 else answer(chat, messages, tools)

    return answered


def mistake(number: int, tools: Sequence[ToolSchema]) -> AIMessage:
    """Return the mistake of this number: the kinds take turns. Raises ModelUnavailable: the mistake is that."""
    needy = [tool["function"]["name"] for tool in tools if tool["function"].get("parameters", {}).get("required")]
    match number % 4:
        case 1:
            return reply_of("", [DeskCall(tool="no_such_tool")])
        case 2:
            return reply_of("It is all done.")
        case 3:
            return reply_of("", [DeskCall(tool=[*needy, "no_such_tool"][0])])
    raise ModelUnavailable("unavailable", "the erring model")


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


@pytest.mark.slow
async def test_many_talks_with_a_model_that_errs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of mistake in every tenth reply is found; the cases pass with a model that does not err."""
    folder = lab_folder()
    for name, user in (("lister", LISTER), ("clerk", CLERK)):
        folder.write("users", name, user)
    sound = await simulate(settings, SimulationPlan(talks=12, turns=6))
    with monkeypatch.context() as patch:
        patch.setattr(RulesModel, "answer", erring(RulesModel.answer, every=10))
        outcome = await simulate(settings, SimulationPlan(talks=60, turns=6, keep=True))
    assert sound.failures.total() < outcome.failures.total() / 4
    kinds = " ".join(outcome.failures)
    for kind in ("no_such_tool failed", "was not called", "error unavailable", "Wrong arguments"):
        assert kind in kinds, kinds
    cases = {name: folder.read("cases", name, Case) for name in folder.names("cases")}
    [line] = summaries(await run_cases(settings, cases, RunOrder()))
    assert line["passed"] == line["plays"]
    LOG.info("%s", "\n".join(outcome.lines()))


@pytest.mark.slow
async def test_cases_with_two_sets_of_parameters(settings: Settings) -> None:
    """Thirty cases are played with two sets; the one that asks the supervisor's model more costs more calls."""
    entries = [example for dialog in discover()[0].dialogs.values() for example in card(dialog.tool, "en")[1]]
    lists = [f"add {item} to my list" for item in ("milk", "tea", "rice", "salt", "soap", "glue", "seeds", "nails")]
    texts = [text for text in (*entries, *lists) if "{" not in text]
    cases = {f"case-{n:03}": Case(turns=(CaseTurn(user=texts[n % len(texts)]),)) for n in range(30)}
    variants = {"A": LabVariant(direct_switch=True), "B": LabVariant(direct_switch=False)}
    run = await run_cases(settings, cases, RunOrder(variants=variants))
    direct, asked = summaries(run)
    assert direct["plays"] == asked["plays"] == 30
    assert direct["calls"] < asked["calls"]
    assert run.differing()
    LOG.info("%s", "\n".join(table_lines(run)[:3]))


@pytest.mark.parametrize("lang", languages())
async def test_the_samples_of_the_page_work_at_the_first_click(settings: Settings, lang: str) -> None:
    """The user that a new form offers talks without a failure, in words of the visitor's; so does the case."""
    lab_folder().write("users", "sample", sample_user(lang))
    outcome = await simulate(settings, SimulationPlan(talks=2, turns=6))
    assert (outcome.turns, outcome.failures) == (12, {})
    run = await run_cases(settings, {"sample": sample_case(lang)}, RunOrder())
    assert run.results[0].problems == []
