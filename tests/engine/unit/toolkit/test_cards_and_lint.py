"""Cards: what there is to review of a tool, and the faults that are found before anybody talks."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, tool
from pydantic import create_model

import prompts
from agents.conversation.prompt import Prompting
from agents.errors import ContractError
from agents.language.identifiers import ARGUMENT
from agents.toolkit.context import Runtime
from agents.toolkit.descriptions import LONGEST_DESCRIPTION
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import Traits, traits, with_traits
from app.cli.installation import report
from app.composition import check_tools, discover, open_assistant
from app.presentation.tool_card import LONGEST_EXAMPLE, ToolCard, cards, faults, warnings
from app.settings import Settings
from prompts import card, card_file, languages
from tests.support import shop_tools
from tests.support.changed_speakers import changed
from tests.support.prompt_copy import copied_prompts

pytestmark = pytest.mark.needs("planner", "profile", "standin")

Write = Callable[[str, str, str], None]


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Write]:
    """Work on a copy of the prompts; return a function that writes a tool's card into it, by language."""
    with copied_prompts(tmp_path / "prompts") as copy:
        monkeypatch.setattr(prompts, "FOLDER", copy)
        card.cache_clear()
        yield lambda tool, lang, text: _put(card_file(tool, lang), text.encode())
    card.cache_clear()


def _put(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def with_tools(*tools: BaseTool) -> Speakers:
    """Return everyone who can speak, the planner with further tools."""
    speakers, _ = discover()
    return changed(speakers, "planner", *tools)


def card_of(name: str, speakers: Speakers, langs: Sequence[str] = ("en", "ru")) -> ToolCard:
    """Return the only card of a name."""
    [found] = [one for one in cards(speakers, langs) if one.name == name]
    return found


def found_in(*tools: BaseTool) -> list[str]:
    """Return the faults of the planner's further tools, whose cards are fine."""
    for one in tools:
        for lang in languages():
            _put(card_file(one.name, lang), b"- do it\n")
    return faults(with_tools(*tools), languages())


def test_what_there_is_has_no_fault() -> None:
    """Every tool of the application and its cards keep the rules."""
    assert faults(discover()[0], languages()) == []


def test_a_card_is_code_and_texts() -> None:
    """A card says whose the tool is, how it may be used, what it takes, and what people say who want it."""
    found = card_of("export_profile", discover()[0])
    assert (found.owners, found.kind, found.traits.effect) == (["profile"], "general", "read")
    assert list(found.parameters["properties"]) == ["format"]
    assert found.descriptions["en"].startswith("Give the user their profile")
    assert "export my profile as {format}" in found.examples["en"]
    assert found.descriptions["ru"] != found.descriptions["en"]


def test_a_card_shows_what_a_model_sees() -> None:
    """Identifiers are numbers on a card, in parameters also texts; trusted values are not on it."""
    speakers = with_tools(*shop_tools.TOOLS)
    back = card_of("submit_return", speakers)
    kinds = [one["type"] for one in back.parameters["properties"]["order"]["anyOf"]]
    assert kinds == ["integer", "string"]
    assert set(back.parameters["properties"]) == {"order", "reason"}
    assert (back.traits.effect, [*back.traits.key]) == ("write", ["order"])
    find = card_of("find_orders", speakers)
    assert find.result["items"]["properties"]["id"]["type"] == "integer"
    assert find.traits.view == "cards"


def test_everybody_has_help_and_a_way_out() -> None:
    """Tools of the protocol have cards, too: one for all who have them."""
    speakers, _ = discover()
    assert card_of("assistant_help", speakers).owners == ["supervisor", *speakers.dialogs]
    assert card_of("hand_back", speakers).kind == "hand-over"
    assert card_of("plan_things", speakers).kind == "hand-over"
    assert list(card_of("fill_form", speakers).parameters["properties"]) == [
        "name",
        "home",
        "experience",
        "skills",
        "interests",
        "work",
    ]


def test_a_model_is_told_what_comes_back() -> None:
    """A tool with a result schema says in a line what it returns; each says whether the user sees it, too."""
    speakers = with_tools()
    planner = replace(speakers.dialogs["planner"], tools=shop_tools.TOOLS)
    bound = Prompting(speakers).tools(planner, "en")
    told = {one["function"]["name"]: one["function"] for one in bound}
    assert told["find_orders"]["description"].endswith(
        "\nReturns: [{id: number, name: text, price: number}] The user sees it."
    )
    assert told["submit_return"]["description"] == "Send an order back. Only you see it."
    assert "see" not in told["hand_back"]["description"]
    assert told["submit_return"]["parameters"]["properties"]["order"] == {"description": "", **ARGUMENT}
    assert "x-opaque" not in str(bound)


BROKEN = {
    "add_reminder": ("- set {thing}\n", "{thing}, which is not a parameter; there are: when, text"),
    "change_reminder": ("- set {when\n", "a brace without its other half"),
    "delete_reminders": ("- set it\n- Set  it\n", "'set it' is there 2 times"),
    "list_reminders": ("- set it\nSets it.\n", "line 2 must be an example"),
    "add_todos": ("- set it\n-\n", "line 2 must be an example"),
    "change_todo": (f"- {'x' * (LONGEST_EXAMPLE + 1)}\n", f"has {LONGEST_EXAMPLE + 1} characters"),
    "list_todos": (
        f"{'x' * (LONGEST_DESCRIPTION + 1)}\n\n- set it\n",
        f"the description has {LONGEST_DESCRIPTION + 1} characters",
    ),
}


def test_cards_that_break_a_rule_are_named(write: Write) -> None:
    """A fault names the file and the rule."""
    for name, (text, _) in BROKEN.items():
        write(name, "ru", text)
    found = faults(discover()[0], languages())
    assert len(found) == len(BROKEN)
    for name, (_, rule) in BROKEN.items():
        [fault] = [it for it in found if it.startswith(f"prompts/ru/planner/cards/{name}.md: ")]
        assert rule in fault


def test_a_card_nobody_can_read_is_named(write: Write) -> None:
    """A file in another encoding is a fault and no stack trace."""
    _put(card_file("abilities", "ru"), "- помощь\n".encode("cp1251"))
    assert faults(discover()[0], languages()) == ["prompts/ru/cards/abilities.md is not UTF-8"]
    assert report(Settings(_env_file=None))["faults"] == ["prompts/ru/cards/abilities.md is not UTF-8"]


def test_cards_and_tools_belong_together(write: Write) -> None:
    """A card without a tool is a fault, and a tool without a card gives a warning; a misspelt file name is both."""
    card_file("abilities", "ru").rename(card_file("abilitys", "ru"))
    assert faults(discover()[0], languages()) == ["prompts/ru/cards/abilitys.md describes a tool that no speaker has"]
    assert warnings(discover()[0], languages()) == [
        "prompts/ru/cards/abilities.md is missing: the tool has no examples of requests"
    ]


def test_a_tool_needs_no_card(write: Write) -> None:
    """A new tool is described by its docstring, in every language; `check` names the files that would be better."""
    speakers = with_tools(stop_it)
    assert faults(speakers, languages()) == []
    assert warnings(speakers, languages()) == [
        f"prompts/{lang}/planner/cards/stop_it.md is missing: the tool has no examples of requests"
        for lang in languages()
    ]
    assert card_of("stop_it", speakers).descriptions == {"en": "Stop something.", "ru": "Stop something."}


def test_a_card_without_a_translation_is_read_in_english(write: Write) -> None:
    """The English card describes a tool that has none in the user's language; the docstring comes last."""
    write("stop_it", "en", "Stop what runs.\n\n- stop it\n")
    assert card_of("stop_it", with_tools(stop_it)).descriptions["ru"] == "Stop what runs."


def test_a_card_without_examples_gives_a_warning(write: Write) -> None:
    """A description alone is no fault: a language model needs no examples."""
    write("abilities", "en", "Tell.\n")
    assert faults(discover()[0], languages()) == []
    assert warnings(discover()[0], languages()) == [
        "prompts/en/cards/abilities.md: the card has no example of a request"
    ]


def test_a_dialog_without_a_translation_gives_a_warning(write: Write) -> None:
    """Its prompt is used in English until somebody translates it."""
    (prompts.FOLDER / "ru" / "planner" / "prompt.md").unlink()
    assert faults(discover()[0], languages()) == []
    assert warnings(discover()[0], languages()) == ["prompts/ru/planner/prompt.md is missing: the en prompt is used"]


def test_a_prompt_of_the_engine_is_checked_as_well(write: Write) -> None:
    """A sign that begins no variable is told at the start, and not when a model is asked."""
    (prompts.FOLDER / "ru" / "supervisor.md").write_text("Это стоит 5$.", "utf-8")
    assert faults(discover()[0], languages()) == ["prompts/ru/supervisor.md has a $ that begins no variable: write $$"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Plan with $user.", "prompts/en/planner/prompt.md needs the variable $user, which no dialog's prompt gets"),
        ("", "prompts/en/planner/prompt.md is empty"),
        ("It costs 5$.", "prompts/en/planner/prompt.md has a $ that begins no variable: write $$"),
    ],
)
def test_a_dialogs_prompt_has_no_variables(write: Write, text: str, rule: str) -> None:
    """A variable would be found out in the middle of a conversation, where nothing fills it in."""
    (prompts.FOLDER / "en" / "planner" / "prompt.md").write_text(text, "utf-8")
    prompts.read_anew()
    try:
        assert faults(discover()[0], languages()) == [rule]
    finally:
        prompts.read_anew()


def test_a_language_may_have_no_cards(write: Write) -> None:
    """A translation can begin with the prompts: without a single card its tools are described in English."""
    for path in (prompts.FOLDER / "ru").rglob("cards/*.md"):
        path.unlink()
    assert faults(discover()[0], languages()) == []
    assert warnings(discover()[0], languages()) == [
        "prompts/ru has no cards: tools are described in en, and have no examples of requests"
    ]
    assert card_of("abilities", discover()[0]).descriptions["ru"].startswith("Tell what you can do")


def test_a_dialog_needs_no_card(write: Write) -> None:
    """A dialog's description is in its code; examples of requests make it easier to find."""
    for lang in languages():
        card_file("plan_things", lang).unlink()
    assert faults(discover()[0], languages()) == []
    assert warnings(discover()[0], languages()) == [
        f"prompts/{lang}/planner/cards/plan_things.md is missing: dialog planner has no examples of requests"
        for lang in languages()
    ]


async def _nothing() -> str:
    return ""


@tool
def stop_it(which: str) -> str:
    """Stop something."""
    return which


@tool
def guess_it(runtime, words: str = ""):  # type: ignore[no-untyped-def]
    """Guess."""


@tool
def nothing_by_name(which: str, /) -> str:
    """Do nothing."""
    return which


@tool
def nothing_hidden(_which: str) -> str:
    """Do nothing."""
    return _which


@tool
def nothing_taken(config: str) -> str:
    """Do nothing."""
    return config


@tool
def nothing_open(**kwargs: str) -> str:
    """Do nothing."""
    return ""


@tool
def nothing_given(runtime: str) -> str:
    """Do nothing."""
    return runtime


@tool
def nothing_left(which: int = "one") -> str:  # type: ignore[assignment]
    """Do nothing."""
    return str(which)


WRONG: dict[str, tuple[BaseTool, Traits, str]] = {
    "skip_it": (stop_it, Traits(shortcut=True), "a shortcut must not need arguments, this one needs which"),
    "guess_it": (guess_it, Traits(), "its parameter 'runtime' has no type"),
    "show_it": (stop_it, Traits(view="hologram"), "there is no view 'hologram'; there are: cards, table, notice"),
    "order_it": (stop_it, Traits(effect="write", key=("order",)), "its traits name arguments it does not have: order"),
    "name_it": (nothing_by_name, Traits(), "no call fits its code: 'which' parameter is positional only"),
    "hide_it": (nothing_hidden, Traits(), "no call fits its code: missing a required argument: '_which'"),
    "take_it": (nothing_taken, Traits(), "no call fits its code: got multiple values for keyword argument 'config'"),
    "open_it": (nothing_open, Traits(), "no call fits its code: got an unexpected keyword argument 'kwargs'"),
    "give_it": (nothing_given, Traits(), "its parameter 'runtime' gets what agents.toolkit calls Runtime"),
    "leave_it": (
        nothing_left,
        Traits(),
        "has a wrong default of 'which': Input should be a valid integer",
    ),
}


def test_tools_that_break_a_rule_are_named(write: Write) -> None:
    """Each would fail in a conversation: nobody could fill it in, answer it, show it, or tell two calls apart."""
    found = found_in(
        *(one.model_copy(update={"name": name, "metadata": {"traits": its}}) for name, (one, its, _) in WRONG.items())
    )
    assert len(found) == len(WRONG)
    for name, (_, _, rule) in WRONG.items():
        [fault] = [it for it in found if f": tool {name}: " in it]
        assert rule in fault
        assert re.match(r"tests/engine/unit/toolkit/test_cards_and_lint\.py, line \d+: ", fault)


def test_a_tool_takes_what_langchain_gives(write: Write) -> None:
    """A parameter of its own types is no model's, a None is no value, and a method of pydantic may be a parameter."""

    @tool
    def order(config: RunnableConfig, callbacks: Callbacks, runtime: Runtime, json: str = None) -> str:  # type: ignore[assignment] # noqa: RUF013
        """Order."""
        return json

    assert found_in(order) == []


def test_a_name_means_one_tool(write: Write) -> None:
    """A speaker has no two tools of one name: a model could not tell them apart."""
    assert found_in(stop_it, stop_it.model_copy()) == ["planner has more than one tool called stop_it: rename one"]


@pytest.mark.parametrize(("wrong", "rule"), [
    ({"effec": "write"}, "there is no trait effec; there are: again_after, always, answers, asks_once, carries, check"),
    ({"result": int}, "the trait result: Input should be a subclass of BaseModel, found <class 'int'>"),
    ({"kind": "breaker", "form": create_model("Nothing")}, "a form must be a pydantic model with fields"),
    ({"effect": "write", "key": "order"}, "the trait key: 'str' instances are not allowed as a Sequence value"),
    ({"permission": "give refunds"}, "the trait permission: String should match pattern"),
    ({"effect": "write", "check": _nothing}, r"the trait check: it must take \(dict, ToolRuntime\)"),
    ({"effect": "write", "undo": lambda done: None}, r"the trait undo: it must take \(Done, ToolRuntime\)"),
    ({"effect": "write", "question": lambda args, runtime: ""}, "the trait question: write it with `async def`"),
])  # fmt: skip
def test_traits_that_cannot_be_are_refused_at_once(wrong: dict[str, Any], rule: str) -> None:
    """Traits that would fail in every later turn fail at their declaration."""
    with pytest.raises(ContractError, match=rule):
        traits(**wrong)


@pytest.mark.parametrize("tool", [stop_it.model_copy(), type("Stop", (BaseTool,), {})])
def test_a_tool_has_its_traits_once(tool: BaseTool) -> None:
    """The second ones would replace the first: a write would count as a read."""
    mark = traits(private=True)
    mark(tool)
    with pytest.raises(ContractError, match="write one @traits, not two"):
        mark(tool)


@pytest.mark.parametrize("name", ["find_tools", "call_tool", "ask_user", "fill_form"])
def test_the_names_of_the_applications_tools_are_taken(write: Write, name: str) -> None:
    """A call of one of them would be taken for something else."""
    renamed = StructuredTool.from_function(coroutine=_nothing, name=name, description="Do it.")
    assert any(f"planner: the name {name} is taken by a tool of the application" in line for line in found_in(renamed))


def test_no_tool_has_the_name_of_a_handoff(write: Write) -> None:
    """The supervisor hands over to a dialog by a tool, and both would share one card."""
    renamed = StructuredTool.from_function(coroutine=_nothing, name="get_acquainted", description="Do it.")
    assert "supervisor and planner each have a tool called get_acquainted: rename one" in found_in(renamed)


def test_every_tool_of_a_name_keeps_the_rules(write: Write) -> None:
    """Two speakers may have different tools of one name, which share a card; neither hides the faults of the other."""
    speakers = with_tools(StructuredTool.from_function(coroutine=_nothing, name="shared", description="Do it."))
    other = StructuredTool.from_function(coroutine=_nothing, name="shared", description="Do it.")
    profile = replace(speakers.dialogs["profile"], tools=[with_traits(other, Traits(view="crads"))])
    for lang in languages():
        write("shared", lang, "- do it\n")

    found = faults(replace(speakers, dialogs={**speakers.dialogs, "profile": profile}), languages(), complete=False)
    assert any(": tool shared: there is no view 'crads'" in fault for fault in found)


def test_a_card_may_begin_with_the_mark_of_an_encoding(write: Write) -> None:
    """Some editors put one before the text; it does not belong to the description."""
    write("add_todos", "en", "\ufeffAdd.\n\n- add milk\n")
    assert card("add_todos", "en") == ("Add.", ("add milk",))
    assert faults(discover()[0], languages()) == []


async def test_with_a_fault_it_does_not_start(write: Write) -> None:
    """The application refuses to start, with the first fault and the way to the others."""
    write("abilities", "en", "- do {it}\n")
    write("abilities", "ru", "- сделай {это}\n")
    rule = (
        r"^prompts/en/cards/abilities\.md: the example 'do \{it\}' names \{it\}.*\(and 1 more: python -m app check\)$"
    )
    with pytest.raises(ContractError, match=rule):
        check_tools(discover()[0])
    with pytest.raises(ContractError, match=rule):
        async with open_assistant(Settings(_env_file=None)):
            pass
    assert len(report(Settings(_env_file=None))["faults"]) == 2
