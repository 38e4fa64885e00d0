"""Cards of tools: the effect of another text on the requests that find the tool."""

from dataclasses import replace

import pytest

from agents.errors import UsageError
from agents.toolkit.speaker import Speakers
from app.assistant import Turn
from app.composition import discover, open_assistant
from app.plugins.lab.cards import CardQuery, Queries, effect, queries_of
from app.plugins.lab.folder import lab_folder
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
