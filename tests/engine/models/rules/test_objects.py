"""What a tool gave back as JSON, told by the rules to a person."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agents.toolkit.result import written
from app.plugins.standin import RulesModel
from app.plugins.standin.replies import LONGEST_LINE, MOST_LINES, readable
from prompts import phrase
from tests.support.rules_room import rules_prompt


@pytest.mark.parametrize(
    ("found", "lang", "expected"),
    [
        (
            {"book_title": "Emma", "lent": True, "by": None, "pages": 60.0},
            "en",
            "book title: Emma\nlent: yes\npages: 60",
        ),
        ({"в_наличии": False, "авторы": ["Остин", {"имя": "Анна"}]}, "ru", "в наличии: нет\nавторы: Остин; имя: Анна"),
        ([{"title": "Emma"}, {"title": "Ulysses"}], "en", "1. title: Emma\n2. title: Ulysses"),
        (["a\nb", None], "en", "1. a b\n2. -"),
        ([], "ru", "Ничего не нашлось."),
    ],
)
def test_an_object_is_told_in_lines(found: object, lang: str, expected: str) -> None:
    """An object is a line a value, a list is numbered; nothing is said of what there is not."""
    assert readable(written(found), lang) == expected


@pytest.mark.parametrize("text", ["1. milk", "[not JSON", "{'a': 1}", "Done."])
def test_other_texts_stay(text: str) -> None:
    """What is no JSON object or list is told as it came."""
    assert readable(text, "en") == text


@pytest.mark.parametrize("one", ["x", {"text": "y" * 500}, "z" * 5_000])
def test_it_is_bounded(one: object) -> None:
    """A long list is cut and says so; a long line is cut, too."""
    lines = readable(json.dumps([one] * 50), "en").splitlines()
    assert lines[-1] == "… and more of it."
    assert len(lines) <= MOST_LINES + 1
    assert max(map(len, lines)) <= LONGEST_LINE


def test_a_reply_has_no_json() -> None:
    """The rules' reply tells the object of a tool in words."""
    made = AIMessage("", tool_calls=[{"name": "current_time", "args": {}, "id": "1"}])
    found = ToolMessage(json.dumps({"hour": 9}), tool_call_id="1")
    reply = RulesModel().invoke(rules_prompt([HumanMessage("what time is it"), made, found]))
    assert "hour: 9" in str(reply.text)
    assert "{" not in str(reply.text)


@pytest.mark.parametrize(
    ("more", "expected"), [({}, ""), ({"rescued": "Ask the shop."}, " Ask the shop.")], ids=["alone", "with help"]
)
def test_what_a_model_is_told_of_a_failure_is_not_read_out(more: dict[str, Any], expected: str) -> None:
    """The user hears that there was an error and what help says, not what the model is to do now."""
    made = AIMessage("", tool_calls=[{"name": "current_time", "args": {}, "id": "1"}])
    text = phrase("tool_failed", "en", tool="current_time")
    found = ToolMessage(text, tool_call_id="1", status="error", additional_kwargs={"trouble": "failed", **more})
    reply = RulesModel().invoke(rules_prompt([HumanMessage("what time is it"), made, found]))
    assert str(reply.text).splitlines()[0] == f"That ran into an error.{expected}"
