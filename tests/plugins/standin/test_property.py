"""The stand-in makes no write unasked, unless the message is an example of that tool."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.language.text.stems import words
from agents.state.message_notes import notes_of
from agents.toolkit.traits import traits_of
from app.composition import dialogs_of
from app.plugins.standin import RulesModel
from app.plugins.standin.vocabulary import vocabulary
from prompts import card
from tests.support.made_inputs import tried
from tests.support.rules_prompt import rules_prompt

PLANNER = dialogs_of().get("planner")
TOOLS = {tool.name: tool for tool in PLANNER.tools} if PLANNER else {}
WRITING = [name for name, tool in TOOLS.items() if traits_of(tool).effect == "write"]
LANGS = ("en", "ru", "zh")


def pieces(text: str, lang: str) -> list[str]:
    """Return the words of a text, each as it is written out ("don't" as "do", "not")."""
    return [part for word in words(text, 1) for part in vocabulary(lang).table["contractions"].get(word, word).split()]


@cache
def spoken(lang: str) -> list[str]:
    """Return the words of all examples of the planner's tools, and some that are in none."""
    texts = [example for name in TOOLS for example in card(name, lang)[1]]
    strange = {"en": ["dragon", "never", "Tom"], "ru": ["дракон", "никогда", "Том"], "zh": ["龙", "从来", "小明"]}[lang]
    return sorted({word for text in texts for word in re.sub(r"\{\w+\}", " ", text).split()}) + strange


@cache
def fixed_words(tool: str, lang: str) -> list[list[str]]:
    """Return the fixed words of each example of a tool, without those that may be left out."""
    fillers = vocabulary(lang).fillers
    examples = [pieces(re.sub(r"\{\w+\}", " ", example), lang) for example in card(tool, lang)[1]]
    return [[word for word in row if not {*vocabulary(lang).stems(word)} <= fillers] for row in examples]


def is_said(tool: str, text: str, lang: str) -> bool:
    """Tell whether a text has the fixed words of an example of this tool."""
    said = {*pieces(text, lang)}
    return any({*row} <= said for row in fixed_words(tool, lang))


@pytest.mark.needs("planner")
@pytest.mark.parametrize("lang", LANGS)
@tried(60)
@given(data=st.data())
def test_no_write_is_made_that_no_example_says(lang: str, data: st.DataObject) -> None:
    """Words of the examples in any order, as the dialog hears them."""
    row = data.draw(st.lists(st.sampled_from(spoken(lang)), min_size=1, max_size=8))
    text = ("" if lang == "zh" else " ").join(row)
    helper = {"dialog": "planner", "title": "to-dos", "description": "", "tools": [*TOOLS], "form": None}
    facts = {"lang": lang, "role": "planner", "helpers": {"plan_things": helper}, "writes": WRITING}
    model = RulesModel().bind_tools([convert_to_openai_tool(tool) for tool in TOOLS.values()])
    reply = model.invoke(rules_prompt([HumanMessage(text)], **facts))
    # Before what it is not sure of the user is asked.
    made = [] if notes_of(reply).get("unsure") else [call["name"] for call in reply.tool_calls]
    assert [name for name in made if name in WRITING and not is_said(name, text, lang)] == []
