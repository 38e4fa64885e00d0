"""Cards of tools: the effect of another text on the requests that find the tool."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.errors import UsageError
from agents.toolkit.speaker import Speakers
from app.assistant import Turn
from app.cli import command_line
from app.composition import discover, open_assistant
from app.plugins.lab.cards import CardQuery, Queries, effect, queries_of
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.live_texts import text_of
from app.settings import Settings

pytestmark = pytest.mark.needs("planner", "standin")
SUNDIAL = ("sundial", "look at the sundial", "read the sundial to me", "what does the sundial say", "the sundial shows")
CLOCK = "Tell the present time.\n" + "".join(f"- {example}\n" for example in SUNDIAL)


@pytest.mark.usefixtures("trained_whole")
def test_what_a_card_gains_and_loses() -> None:
    """A new example finds the tool, one that is gone may not; a request for it that finds another is told."""
    shipped_speakers = discover()[0]
    planner = shipped_speakers.dialogs["planner"]
    few_tools = [tool for tool in planner.tools if tool.name in ("add_todos", "list_todos")]
    few = Speakers(shipped_speakers.supervisor, {"planner": replace(planner, tools=few_tools)})
    asked = CardQuery(text="look at the sundial", tool="current_time")
    gone = CardQuery(text="what time is it", tool="current_time", origin="example")
    other = CardQuery(text="add milk to my list", tool="current_time")
    shown = effect(few, "current_time", "en", CLOCK, [asked, gone, other])
    assert shown["gained"] == [asked]
    assert shown["lost"] == [gone]
    assert shown["missed"] == [other]
    for name, text in (("no_tool", CLOCK), ("current_time", "- {no_slot} now"), ("current_time", "- a\nb")):
        with pytest.raises(UsageError):
            effect(few, name, "en", text, [])


async def test_requests_are_labelled_recorded_and_of_cards(settings: Settings) -> None:
    """The team's labels come first; a recorded message counts for the tool that answered."""
    folder = lab_folder()
    labelled = CardQuery(text="how late", tool="current_time")
    folder.write("queries", "time", Queries(queries=(labelled,)))
    async with open_assistant(settings) as assistant:
        async for _ in assistant.play(Turn(thread="ann", text="please add milk to my list")):
            pass
        queries = await queries_of(assistant, folder)
    assert queries[0] == labelled
    assert queries[-1] == CardQuery(text="please add milk to my list", tool="add_todos", origin="recorded")
    assert {query.origin for query in queries} == {"labelled", "recorded", "example"}


def test_the_command_applies_a_card(
    settings: Settings, house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lab card` tells what is lost with exit code 1; it keeps a draft, or writes the card, only when told to."""
    file = tmp_path / "card.md"
    file.write_text(CLOCK, "utf-8")
    [card] = house.glob("en/**/cards/current_time.md")
    before = card.read_text("utf-8")
    assert command_line.main(["lab", "card", "current_time", str(file), "--draft"]) in (0, 1)
    assert card.read_text("utf-8") == before
    assert text_of(lab_folder(), "card", "current_time", "en") == CLOCK
    assert command_line.main(["lab", "card", "current_time", str(file), "--apply"]) in (0, 1)
    assert card.read_text("utf-8") == CLOCK
    assert command_line.main(["lab", "card", "no_tool", str(file)]) == 2
    assert capsys.readouterr().err


def test_the_commands_make_a_prompt_live(
    settings: Settings, house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lab prompt` keeps a draft, or writes the file; `lab changes` says who did, and puts the text back."""
    file, prompt = tmp_path / "prompt.md", house / "en/planner/prompt.md"
    file.write_text("You keep lists.", "utf-8")
    before = prompt.read_text("utf-8")
    assert command_line.main(["lab", "prompt", "planner", str(file), "--draft"]) == 0
    assert prompt.read_text("utf-8") == before
    assert command_line.main(["lab", "prompt", "planner", "--apply"]) == 0
    assert prompt.read_text("utf-8") == "You keep lists."
    assert command_line.main(["lab", "prompt", "nobody"]) == 2
    [change] = lab_folder().names("changes")
    capsys.readouterr()
    assert command_line.main(["lab", "changes", "--put-back", change]) == 0
    assert capsys.readouterr().out.count("planner") >= 2
    assert prompt.read_text("utf-8") == before
