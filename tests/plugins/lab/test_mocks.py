"""Mocks: results in place of what tools do, by argument, as errors, slow, recorded; a trace names them."""

from typing import Any

import pytest

from agents.errors import UsageError
from agents.events.views import Table, View
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.assistant.records import Answered, Record, RecordedReply, Viewed
from app.cli import command_line
from app.composition import discover
from app.plugins.lab.cases import Case, CaseTurn, Expected
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.forms import form_data, mock_of
from app.plugins.lab.mocks import Mock, Mocked, MockOutcome, recorded_mocks, with_mocks
from app.plugins.lab.played_turn import PlayedTurn, play
from app.plugins.lab.stage import staged
from app.plugins.lab.threads import keep_mocks
from app.settings import Settings
from app.testing.script import Call, Line, Script


async def answered(settings: Settings, *mocks: Mock, **lines: list[Line]) -> PlayedTurn:
    """Play a turn in which the supervisor's model says these lines."""
    speakers: Speakers = discover()[0]
    script = Script()
    script.add(**lines)
    models = script.models([SUPERVISOR, "observer", *speakers.dialogs])
    async with staged(settings, with_mocks(speakers, mocks), models) as assistant:
        turn = await play(assistant, "Tell me about the depot in Riga")
    assert script.left() == {}
    return turn


WEATHER: dict[str, Any] = {
    "tool": "depot_weather",
    "speaker": "supervisor",
    "description": "Used for the weather at a depot.",
    "parameters": {"city": {"description": "The city"}, "days": {"type": "integer", "required": False}},
    "outcomes": [
        {"when": {"city": "Riga"}, "object": {"degrees": -3}},
        {"when": {"city": "Oslo"}, "refuses": "Oslo has no depot."},
        {"when": {"city": "Bern"}, "fails": True},
    ],
}


@pytest.mark.parametrize(
    ("city", "result", "how"),
    [
        ("Riga", '= {"degrees":-3}', "a fixed result"),
        ("Oslo", "! Oslo has no depot.", "it refuses"),
        ("Bern", "! ", "it fails"),
        ("Rome", "! ", "no outcome fits"),
    ],
)
async def test_a_tool_that_does_not_exist(settings: Settings, city: str, result: str, how: str) -> None:
    """A model calls a tool that is nothing but a mock; the result depends on the arguments, and the trace names it."""
    turn = await answered(
        settings, Mock.model_validate(WEATHER), supervisor=[Call("depot_weather", {"city": city}), "That is all."]
    )
    assert f"supervisor.depot_weather(city='{city}') {result}" in turn.trace
    assert f"supervisor.depot_weather is mocked: {how}" in turn.trace
    assert "is mocked" not in turn.comparable


async def test_a_tool_is_mocked_for_some_arguments(settings: Settings) -> None:
    """Other arguments go to the tool itself, and its answer is not named as mocked."""
    mock = Mock(tool="current_time", outcomes=(MockOutcome(when={"no": "such"}, text="x"),), otherwise="real")
    turn = await answered(settings, mock, supervisor=[Call("current_time"), "That is all."])
    assert not [event for event in turn.events if isinstance(event, Mocked)]
    assert "supervisor.current_time() = " in turn.trace
    fixed = Mock(tool="current_time", outcomes=(MockOutcome(text="Half past never", seconds=0.01),))
    turn = await answered(settings, fixed, supervisor=[Call("current_time"), "That is all."])
    assert "= Half past never" in turn.trace
    assert "after 0.01 s" in turn.trace


def test_a_form_becomes_a_mock() -> None:
    """Rows of the form become parameters and outcomes; a text that cannot be read is a fault."""
    pairs = [
        ("tool", "depot_weather"),
        ("description", "Used for weather."),
        ("otherwise", "real"),
        ("effect", "write"),
    ]
    for name, required in (("city", "yes"), ("", "no")):
        pairs += [("parameters[].name", name), ("parameters[].type", "string"), ("parameters[].description", "Where")]
        pairs += [("parameters[].required", required)]
    rows = (('{"city": "Riga"}', "object", "[1]"), ("", "text", "ok"), ("", "fails", ""), ("", "refuses", "no"))
    for when, kind, value in rows:
        pairs += [("outcomes[].when:json", when), ("outcomes[].kind", kind), ("outcomes[].value", value)]
        pairs += [("outcomes[].seconds", "0.5")]
    mock = mock_of(form_data(pairs))
    assert [*mock.parameters] == ["city"]
    assert [outcome.label.partition(",")[0] for outcome in mock.outcomes] == [
        'a fixed result for {"city": "Riga"}',
        "a fixed result",
        "it fails",
        "it refuses: no",
    ]
    assert mock.outcome({"city": "Riga"}) == mock.outcomes[0]
    for name, value in (
        ("outcomes[].when:json", "{"),
        ("outcomes[].when:json", "[1]"),
        ("outcomes[].seconds", "soon"),
        ("outcomes[].seconds", "999"),
        ("tool", "A b"),
    ):
        with pytest.raises(UsageError):
            mock_of(form_data([(key, value if key == name else own) for key, own in pairs]))


def test_names_of_fields_that_contradict_each_other() -> None:
    """A name that is a value and holds members is refused; a name may not be deeper than forms are."""
    for pairs in ([("a", "1"), ("a.b", "2")], [("a[]", "1"), ("a[].b", "2")]):
        with pytest.raises(UsageError, match="twice"):
            form_data(pairs)
    assert form_data([("a" + ".a" * 10_000, "1"), ("b", " "), ("c[].d.e", "2")])["c"] == [{"d": {"e": "2"}}]


def test_answers_are_recorded_once_for_the_same_arguments(settings: Settings) -> None:
    """The tools' answers in a thread become a mock for each tool, by the arguments."""
    steps = [
        Answered("supervisor", "abilities", {"of": of}, ok, text)
        for of, ok, text in (("a", True, "A"), ("b", False, "no"), ("a", True, "A"))
    ]
    folder = lab_folder()
    records = [Record(text="x", status="done", steps=steps)]
    [name] = keep_mocks(settings, records, [])
    mock = folder.read("mocks", name, Mock)
    assert [(each.when, each.text, each.fails) for each in mock.outcomes] == [
        ({"of": "a"}, "A", False),
        ({"of": "b"}, "no", True),
    ]
    with pytest.raises(UsageError):
        keep_mocks(settings, records, ["another"])


async def test_a_recorded_mock_shows_its_view(settings: Settings) -> None:
    """The recorded view beside a tool's answer is shown again."""
    depots = Table(columns=["Depot"], rows=[["Riga"]])
    calls = RecordedReply("supervisor", "", [("list_depots", {})])
    steps = [calls, Answered("supervisor", "list_depots", {}, True, "1. Riga"), Viewed(depots.body())]
    mocks = recorded_mocks([Record(text="x", status="done", steps=steps)], discover()[0])
    turn = await answered(settings, *mocks, supervisor=[Call("list_depots"), "That is all."])
    assert "supervisor.list_depots() = 1. Riga" in turn.trace
    assert [event.body() for event in turn.events if isinstance(event, View)] == [depots.body()]


@pytest.mark.needs("standin")
def test_a_run_with_a_mock(settings: Settings) -> None:
    """`run --mock` plays with a mock of the lab's folder."""
    folder, expect = lab_folder(), Expected(says=("half past never",))
    outcomes = (MockOutcome(when={"zone": "x"}, fails=True), MockOutcome(text="Half past never"))
    folder.write("mocks", "current-time", Mock(tool="current_time", outcomes=outcomes))
    folder.write("cases", "current-time", Case(turns=(CaseTurn(user="what time is it?", expect=expect),)))
    assert command_line.main(["lab", "run"]) == 1
    assert command_line.main(["lab", "run", "--mock", "current-time"]) == 0
