"""Runs: cases with their expectations, variants side by side, repetitions, judges and how far they agree."""

import json
import re
from pathlib import Path

import pytest
import yaml

from agents.errors import UsageError
from agents.events import Error, Event, Message, ModelEnd, ToolEnd, TurnEnd
from app.assistant.records import Answered, Record, RecordedReply
from app.cli import command_line
from app.composition import discover
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall, case_of
from app.plugins.lab.folder import LabFolder, lab_folder, written
from app.plugins.lab.played_turn import PlayedTurn
from app.plugins.lab.runs import CaseResult, LabRun, RunOrder, TurnResult, run_cases, summaries, table_lines
from app.plugins.lab.variants import LabVariant
from app.prices import read_prices
from app.settings import Settings
from app.yaml_file import parsed, validated

END = TurnEnd(is_active=False, dialog="planner")
CALLED = ToolEnd(speaker="planner", tool="add_todos", args={"items": ["milk"]}, ok=True, object="1. milk")
SAID = Message(speaker="planner", text="Noted: Milk.")


@pytest.mark.parametrize(
    ("expected", "events", "problem"),
    [
        (Expected(calls=(ExpectedCall(tool="add_todos", args={"items": ["milk"]}),)), [CALLED, SAID], ""),
        (Expected(calls=(ExpectedCall(tool="add_todos", args={"items": ["tea"]}),)), [CALLED, SAID], "was not called"),
        (Expected(never_calls=("add_todos",)), [CALLED, SAID], "add_todos was called"),
        (Expected(says=("milk",)), [SAID], ""),
        (Expected(says=("tea",)), [SAID], "lacks 'tea'"),
        (Expected(never_says=("milk",)), [SAID], "has 'milk'"),
        (Expected(holder="planner"), [SAID], ""),
        (Expected(holder="supervisor"), [SAID], "planner holds"),
        (Expected(), [], "there is no answer"),
        (Expected(), [SAID, Error(code="unavailable", text="sorry")], "error unavailable"),
        (Expected(), [CALLED.model_copy(update={"ok": False}), SAID], "add_todos failed"),
        (Expected(failed_tools=True), [CALLED.model_copy(update={"ok": False}), SAID], ""),
        (Expected(trace="planner: Noted: Milk."), [SAID], ""),
        (Expected(trace="planner: Noted."), [SAID], "another one"),
        (Expected(most_model_calls=0), [SAID], ""),
    ],
)
def test_an_expectation_finds_its_problem(expected: Expected, events: list[Event], problem: str) -> None:
    """Each expectation is met or named; no answer, or an error, is wrong whatever is expected."""
    problems = expected.problems(PlayedTurn("add milk", [*events, END], 0.1))
    assert bool(problems) == bool(problem), problems
    assert problem in "".join(problems)


def test_what_a_turn_costs() -> None:
    """Each model's tokens have its price of `LLM_PRICES`; a model without one costs nothing."""
    ends = [ModelEnd(speaker="planner", model="m", input_tokens=1_000, output_tokens=500), SAID]
    turn = PlayedTurn("x", [*ends, ModelEnd(speaker="planner", model="free", input_tokens=7), END], 0.1)
    assert (turn.calls, turn.tokens) == (2, 1_507)
    assert turn.price(read_prices(["m=2/4"])) == pytest.approx(0.004)


def test_files_are_whole_and_names_stay_in_the_folder(tmp_path: Path) -> None:
    """A written file reads the same; no name leads out of the folder; a fault is named."""
    folder = LabFolder(tmp_path)
    case = Case(about="Milk", turns=(CaseTurn(user="add milk", expect=Expected(says=("milk",))),))
    folder.write("cases", "milk", case)
    assert folder.read("cases", "milk", Case) == case
    assert "\n- user: add milk" in written(case)
    assert folder.add("cases", "milk", case) == "milk-2"
    for name in ("../x", "a/b", "", ".x", "A", "x" * 62):
        with pytest.raises(UsageError):
            folder.path("cases", name)
    for text in ("turns: []", "turn: 1", "{", "- 1", "!!python/object:os.system {}", "turns: [&a {user: x}, *a]"):
        with pytest.raises(UsageError):
            parsed(text, Case, "YAML")


@pytest.mark.needs("planner", "standin")
async def test_two_variants_side_by_side(settings: Settings) -> None:
    """The table counts plays, passed ones, calls and prices by variant; differences are named; repetitions agree."""
    cases = {
        "plan": Case(turns=(CaseTurn(user="plan my week", expect=Expected(most_model_calls=1)),)),
        "time": Case(turns=(CaseTurn(user="what time is it?"),)),
    }
    variants = {"direct": LabVariant(direct_switch=True), "asked": LabVariant(direct_switch=False)}
    heard: list[tuple[int, int]] = []
    order = RunOrder(variants=variants, times=2)
    run = await run_cases(settings, cases, order, tell=lambda done, plays: heard.append((done, plays)))
    assert heard[-1] == (8, 8)
    lines = {each["variant"]: each for each in summaries(run)}
    assert (lines["direct"]["plays"], lines["direct"]["cases"]) == (4, 2)
    assert lines["asked"]["calls"] > lines["direct"]["calls"]
    assert run.differing() == ["plan"]
    assert lines["asked"]["consistent"] >= 1
    folder = lab_folder()
    assert folder.read("runs", folder.add("runs", "run", run), LabRun) == run
    with pytest.raises(UsageError, match="no case"):
        await run_cases(settings, {}, order)
    wrong_orders: list[dict[str, object]] = [{"judge": "local:rules"}, {"times": 21}, {"variants": {}}]
    for wrong in wrong_orders:
        with pytest.raises(UsageError):
            validated(RunOrder, wrong)


def _result(problems: tuple[str, ...], person: bool | None, model: bool | None, variant: str = "A") -> CaseResult:
    turn = TurnResult(user="hello", answer="Hi", trace="supervisor: Hi", problems=problems, tokens=1_500, calls=2)
    return CaseResult(case="x", variant=variant, turns=(turn,), person=person, model=model)


def test_the_agreement_of_the_judges() -> None:
    """Two judges agree as often as they say the same; a result that one has not judged does not count."""
    results = (_result((), True, True), _result(("no",), True, False), _result((), None, False))
    run = LabRun(begun="2026-11-23T10:00:00+00:00", variants={"A": LabVariant()}, results=results)
    assert run.agreement() == {("checks", "person"): (1, 2), ("checks", "model"): (2, 3), ("person", "model"): (1, 2)}
    assert run.differing() == ["x"]
    text = "\n".join(table_lines(run))
    assert re.search(r"^A +3 +2 +2 / 2 +1 / 3 +1 +1 +6 +4500 ", text, re.MULTILINE)
    assert "checks and person agree on 1 of 2" in text


def test_a_record_becomes_a_case() -> None:
    """The case keeps messages and traces; a tool of the outside world is mocked with its recorded answer."""
    steps = [RecordedReply("supervisor", None), Answered("supervisor", "current_time", {}, True, "Monday")]
    record = Record(text="what day is it?", lang="en", status="done", steps=steps)
    case = case_of([record, Record(text="lost")], discover()[0])
    [turn], [mock] = case.turns, case.mocks
    assert turn.expect.trace == "supervisor.current_time() = Monday"
    assert (mock.tool, mock.outcomes[0].text) == ("current_time", "Monday")
    with pytest.raises(UsageError):
        case_of([Record(text="lost")], discover()[0])


@pytest.mark.needs("planner", "standin")
def test_the_commands_run_and_compare(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A thread becomes a case; `run` passes it, and ends with 1 where two variants differ."""
    folder = lab_folder()
    folder.write("variants", "asked", LabVariant(direct_switch=False))
    folder.write("variants", "direct", LabVariant(direct_switch=True))
    for text in ("what time is it?", "add milk to my list"):
        assert command_line.main(["ask", text, "--thread", "ann"]) == 0
    assert command_line.main(["lab", "case", "--thread", "ann"]) == 0
    assert yaml.safe_load(folder.path("cases", "ann").read_text("utf-8"))["mocks"][0]["tool"] == "current_time"
    capsys.readouterr()
    assert command_line.main(["lab", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variants"][0]["passed"] == 1
    assert command_line.main(["lab", "run", "nothing"]) == 2
    assert command_line.main(["lab", "run", "--variant", "direct", "--times", "2"]) == 0
