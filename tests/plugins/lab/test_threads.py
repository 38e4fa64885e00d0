"""A thread in the lab: decisions with their reasons, a test of it, and the same with another model."""

import pytest

from agents.errors import UsageError
from agents.memory.inbox import TranscriptLine
from agents.state.citations import Citation
from app.assistant import Turn
from app.assistant.records import Decided, Record
from app.cli import command_line
from app.composition import open_assistant
from app.plugins.lab.going_back import state_after
from app.plugins.lab.threads import TurnView, replay, view
from app.plugins.lab.trace_test import test_of as exported_test
from app.plugins.lab.variants import LabVariant
from app.settings import Settings
from prompts import table

pytestmark = pytest.mark.needs("planner", "standin")
SAID = ("add milk to my list", "what is on my list?", "thanks")


async def talk(settings: Settings) -> None:
    """Hold a conversation."""
    async with open_assistant(settings) as assistant:
        for text in SAID:
            async for _ in assistant.play(Turn(thread="ann", text=text)):
                pass


async def test_a_thread_shows_who_decided_and_why(settings: Settings) -> None:
    """Each turn has what was said, the decisions with their reasons, the calls of tools, and whether it is kept."""
    await talk(settings)
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        _, (first, second, _) = await view(assistant, "ann")
        source, remark = await exported_test(assistant, "ann", "en")
        earlier = await state_after(assistant, "ann", 1)
        with pytest.raises(UsageError):
            await view(assistant, "nobody")

    assert (first.number, first.text, first.is_kept) == (1, SAID[0], True)
    assert [(each.verdict, each.by) for each in second.decisions] == [("stay", "free")]
    assert second.decisions[0].reason
    assert any("planner.add_todos(items=['milk'])" in line for line, _ in first.steps)
    assert "milk" in first.answers[-1].text
    assert (earlier or {})["turn"] == 1
    assert "async def test_conversation" in source
    assert remark == ""


async def test_a_replay_tells_what_differs(settings: Settings) -> None:
    """The same model leads to the same trace; another prompt of a model that obeys none changes nothing either."""
    await talk(settings)
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        records = await assistant.records("ann")
    again = await replay(settings, records, LabVariant(prompts={"planner": "You keep lists."}))
    assert [then.trace != now.comparable for then, now in again] == [False, False, False]
    other = await replay(settings, [Record(text="add tea to my list", lang="en"), *records[1:]], LabVariant())
    assert [then.trace != now.comparable for then, now in other] == [True, True, False]
    with pytest.raises(UsageError, match="there is no dialog"):
        await replay(settings, records, LabVariant(prompts={"nobody": "x"}))


def test_the_commands_show_and_replay(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """`lab replay` ends with 0 where nothing differs, `export` makes a test; no thread is a fault."""
    assert command_line.main(["ask", SAID[0], "--thread", "ann"]) == 0
    capsys.readouterr()
    assert command_line.main(["lab", "replay", "--thread", "ann"]) == 0
    assert "planner.add_todos" in capsys.readouterr().out
    assert command_line.main(["export", "--thread", "ann", "--as-test"]) == 0
    assert "async def test_conversation" in capsys.readouterr().out
    assert command_line.main(["lab", "replay", "--thread", "bob"]) == 2
    assert command_line.main(["lab", "replay", "--thread", "ann", "--temperature", "hot"]) == 2


@pytest.mark.parametrize(("lang", "told"), [("ru", "нити «bob» нет"), ("zh", "没有会话“bob”")])
def test_a_command_refuses_in_its_language(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lang: str, told: str
) -> None:
    """That of APP_LANG, as other commands do; also where a model of data is wrong."""
    monkeypatch.setenv("APP_LANG", lang)
    assert command_line.main(["lab", "case", "--thread", "bob", "--turn", "1"]) == 2
    assert told in capsys.readouterr().err
    assert command_line.main(["lab", "run", "--judge", "local:x"]) == 2
    refused = table("lab/phrases", lang)["refused"]
    assert f"judge: {refused['judge_of_rules']}" in capsys.readouterr().err


def test_a_turn_has_its_sources() -> None:
    """A turn has the sources that its answers cite, each once."""
    cited = [Citation(title="The guide", url="guide.md", number=0, start=start, end=start + 3) for start in (3, 11)]
    line = TranscriptLine("assistant", "research", "So [1] and [1].", 1, "m", 0, {"citations": cited})
    turn = TurnView(number=1, text="why?", answers=[line], record=Record(), is_kept=False)
    assert [(source.number, source.title) for source in turn.sources] == [(1, "The guide")]


def test_an_old_record_is_still_read() -> None:
    """A decision that was recorded as a line keeps its line; a new one gives the same line."""
    old = {"kind": "line", "line": "supervisor (observer): switch -> planner"}
    record = Record.model_validate({"status": "done", "steps": [old]})
    decided = Decided("supervisor", "switch", "planner", "asks for a list", "observer")
    assert record.trace == Record(steps=[decided]).trace
    assert Record(steps=[Decided("finished", "stay", None, "", "observer")]).trace == ""
