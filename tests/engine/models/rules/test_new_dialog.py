"""A dialog that a newcomer adds is understood by its examples, or without any by the words of its name and use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool, tool

import prompts
from agents.state.message_notes import Facts, Helper
from app.plugins.standin import RulesModel
from app.plugins.standin.phrasebook import phrasebook
from prompts import card
from tests.support.rules_room import rules_prompt

TRAVEL: Helper = {
    "dialog": "travel",
    "title": "travel",
    "description": "Used for planning a trip.",
    "tools": [],
    "form": None,
}
PLANNER: Helper = {
    "dialog": "planner",
    "title": "your to-dos",
    "description": "Used for to-dos.",
    "tools": ["add_todos", "list_todos"],
    "form": None,
}
CARDS = {
    "en": "Used for planning a trip.\n\n- plan a trip to Rome\n- I want to travel to {place}\n- book a journey\n",
    "ru": "Нужен, чтобы спланировать поездку.\n\n- спланируй поездку\n- хочу поехать в {place}\n- забронируй тур\n",
}
DESCRIBED = "Нужен, чтобы спланировать поездку."


@tool
def plan_a_trip(brief: str) -> str:
    """Used for planning a trip."""
    return ""


@tool
def plan_things(brief: str) -> str:
    """Used for to-dos."""
    return ""


@tool
def hand_back(wish: str = "") -> str:
    """Give the conversation back."""
    return ""


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the new dialog a card of three examples in each language."""
    for lang in CARDS:
        for path in (prompts.FOLDER / lang).rglob("*.*"):
            copied = tmp_path / path.relative_to(prompts.FOLDER)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
        (tmp_path / lang / "cards" / "plan_a_trip.md").write_text(CARDS[lang], "utf-8")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Forget the cards that other tests have read, and those of this one behind it."""
    card.cache_clear()
    phrasebook.cache_clear()
    yield
    card.cache_clear()
    phrasebook.cache_clear()


def answered(text: str, *tools: BaseTool, **more: object) -> AIMessage:
    """Return what a speaker says to a text; a dialog has just taken over for it."""
    took_over = [SystemMessage("You take over.", additional_kwargs={"brief": text})] if "role" in more else []
    facts: Facts = {"lang": "en", "helpers": {"plan_things": PLANNER, "plan_a_trip": TRAVEL}, "role": "supervisor"}
    facts.update(more)  # type: ignore[typeddict-item]
    prompt = rules_prompt([*took_over, HumanMessage(text)], **facts)
    return RulesModel().bind_tools(tools or (plan_things, plan_a_trip)).invoke(prompt)


def called(text: str, **more: object) -> list[str]:
    """Return the tools that the supervisor calls at a text."""
    return [entry["name"] for entry in answered(text, **more).tool_calls]


WISHES = ["I want to plan a trip to Rome", "plan a trip", "let's plan a trip", "can you help me plan a trip?"]


@pytest.mark.parametrize("text", WISHES)
def test_without_examples_a_dialog_is_found_by_its_words(text: str) -> None:
    """Two words of the name and the description are enough where there is no card."""
    assert called(text) == ["plan_a_trip"]


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize("text", ["let's plan a trip to Rome", "could you book a journey?", "I want to travel to Rome"])
def test_with_examples_it_is_found_by_them(text: str) -> None:
    """A card of three examples is enough for whoever says one of them."""
    assert called(text) == ["plan_a_trip"]


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize("text", ["спланируй поездку", "хочу поехать в Рим"])
def test_with_examples_in_another_language(text: str) -> None:
    """A card in another language is understood there."""
    assert called(text, lang="ru") == ["plan_a_trip"]


def test_with_a_description_in_another_language() -> None:
    """A description in another language is enough there."""
    helpers = {"plan_things": PLANNER, "plan_a_trip": {**TRAVEL, "description": DESCRIBED}}
    assert called("хочу спланировать поездку в Рим", lang="ru", helpers=helpers) == ["plan_a_trip"]


@pytest.mark.parametrize("text", ["help me plan my day", "add plan a trip to my list", "what is a trip", "trip"])
@pytest.mark.needs("planner")
def test_other_wishes_stay_where_they_belong(text: str) -> None:
    """The words of a new dialog take nothing away from others."""
    assert "plan_a_trip" not in called(text)


def test_a_dialog_that_only_talks_says_so() -> None:
    """A dialog without tools needs a language model, which the rules are not."""
    reply = answered("I want to plan a trip to Rome", hand_back, role="travel")
    assert "takes a language model" in str(reply.text)
    assert reply.tool_calls == []
