"""Tools of a team with parameters that not every provider takes: shown in plain form, and called as they want it."""

from typing import Literal

from langchain_core.tools import StructuredTool, tool

from agents.state import SUPERVISOR
from agents.toolkit.descriptions import LONGEST_DESCRIPTION, Schemas, signature, translation_of
from app.presentation.tool_card import faults
from app.testing import Chat, told
from app.testing.script import Call
from prompts import languages, phrase
from tests.support.changed_speakers import changed
from tests.support.tool_dialects import common


@tool
def paint(size: Literal[1, 2], at: tuple[int, str], labels: dict[str, int]) -> str:
    """Paint something."""
    return f"{size!r} {at!r} {labels!r}"


async def test_arguments_come_back_as_the_tool_takes_them(chat: Chat) -> None:
    """The tool takes arguments in the schema's form and in its own; others are an error."""
    written = {"size": "2", "at": ["7", "north"], "labels": '{"a b": 1}'}
    plain = {"size": 1, "at": [7, "north"], "labels": {"a b": 2}}
    chat.speakers = changed(chat.speakers, SUPERVISOR, tools=[paint])
    chat.expects(
        supervisor=[Call("paint", written), Call("paint", plain), Call("paint", {**plain, "size": "9"}), "Done."]
    )
    trace = await chat.says("paint it")
    assert common(translation_of(paint).schema) == []
    assert "supervisor.paint(size='2', at=['7', 'north'], labels='{\"a b\": 1}') = 2 (7, 'north') {'a b': 1}" in trace
    assert "supervisor.paint(size=1, at=[7, 'north'], labels={'a b': 2}) = 1 (7, 'north') {'a b': 2}" in trace
    assert "supervisor.paint(size='9', at=[7, 'north'], labels={'a b': 2}) ! " in trace
    assert signature(paint) == "paint(size: 1 | 2, at: [number, text], labels: {…})"


async def test_a_model_is_told_the_names_that_it_was_shown(chat: Chat) -> None:
    """A name that the schema does not have is refused, in words with the names that it has."""
    odd = StructuredTool.from_function(
        func=lambda **given: str(given),
        name="look",
        description="Look.",
        args_schema={"type": "object", "properties": {"$top": {"type": "integer"}, "the name": {"type": "string"}}},
    )
    chat.speakers = changed(chat.speakers, SUPERVISOR, tools=[odd])
    chat.expects(supervisor=[Call("look", {"top": 1, "the_name": "x"}), Call("look", {"bottom": 1}), "Done."])
    forged = phrase("tool_forged", "en", names="bottom", allowed="top, the_name")
    assert told(f"""
        user: look
        supervisor.look(top=1, the_name='x') = {{'$top': 1, 'the name': 'x'}}
        supervisor.look(bottom=1) ! {forged}
        supervisor: Done.
    """) == await chat.says("look")


def test_a_description_has_a_length_that_all_providers_take(chat: Chat) -> None:
    """With what comes back and who sees it; a longer one is cut, and still says who sees it."""
    wordy = StructuredTool.from_function(func=lambda: "", name="wordy", description="So many words. " * 100)
    text = Schemas().of(wordy, "en")["function"]["description"]
    assert len(text) == LONGEST_DESCRIPTION
    assert text.endswith("… Only you see it.")


def test_a_tool_that_no_model_can_call_is_a_fault(chat: Chat) -> None:
    """The line names the tool, and what to do."""
    lines = {"type": "array", "items": {"type": "string"}}
    tools = [
        StructuredTool.from_function(func=lambda: "", name="catalog.search", description="Look."),
        StructuredTool.from_function(func=lambda **given: "", name="lines", description="Write.", args_schema=lines),
    ]
    speakers = changed(chat.speakers, SUPERVISOR, tools=tools)
    found = faults(speakers, languages(), complete=False)
    assert [line.partition(": ")[2] for line in found if "catalog.search" in line or "tool lines" in line] == [
        "tool catalog.search: not every provider takes this name; write a letter, then letters, digits, _ or -",
        "tool lines: its parameters are not an object",
    ]
