"""`python -m app tools try`: what is run, as whom, and what is told of it."""

import json
from typing import Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.errors import UsageError
from app.plugins.first_steps.tool_trial import typed
from tests.support import shop_tools
from tests.support.tools_command import Captured, run, tried

pytestmark = [pytest.mark.needs("planner", "standin"), pytest.mark.usefixtures("home")]


def test_a_tool_is_tried_on_the_database(capsys: Captured) -> None:
    """A try really writes: the next try, and a conversation, find it."""
    assert run(capsys, "try", "add_todos", 'items=["milk", "bread"]', "--user", "ann", "--yes") == "1. milk\n2. bread\n"
    assert tried(capsys, "list_todos", "--user", "ann")["object"] == "1. milk\n2. bread"
    assert "milk" not in run(capsys, "try", "list_todos", "--user", "bob")


@pytest.mark.needs("profile")
def test_a_form_and_its_views(capsys: Captured) -> None:
    """A form is filled as in a conversation, and what a user would see is printed after what a model reads."""
    run(capsys, "try", "fill_form", 'skills=["Rust"]', "--yes")
    text = run(capsys, "try", "export_profile", "format=json")
    assert text.startswith("Done, the profile is shown: profile.json.\n\n{")
    view = tried(capsys, "export_profile", "format=json")["view"]
    assert (view["kind"], json.loads(view["content"])) == ("document", {"skills": ["Rust"]})


def test_arguments_are_read_by_type() -> None:
    """A text, an identifier and a word of a list are taken as they are; all else is JSON."""

    class Place(BaseModel):
        x: int

    @tool
    def draw(
        name: str,
        width: Literal[1, 2],
        order: shop_tools.OrderId,
        at: Place,
        big: bool = False,
        note: str | None = None,
    ) -> str:
        """Draw."""
        return name

    pairs = ["name=[7]", "width=2", "order=12", 'at={"x": 1}', "big=true", "note=null=no"]
    expected = {"name": "[7]", "width": 2, "order": "12", "at": {"x": 1}, "big": True, "note": "null=no"}
    assert typed(pairs, draw) == expected
    with pytest.raises(UsageError, match="x: Field required"):
        typed([*pairs[:3], "at={}"], draw)


@pytest.mark.parametrize("raw", ["2", "second"])
def test_a_text_stays_a_text(capsys: Captured, raw: str) -> None:
    """A parameter that takes a text takes what looks like a number as a text, too."""
    run(capsys, "try", "add_todos", f'items=["{raw}"]', "--yes")
    run(capsys, "try", "change_todo", "number=1", f"text={raw}!", "done=true", "--yes")
    assert f"1. {raw}! (done)" in run(capsys, "try", "list_todos")


@pytest.mark.needs("profile")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["try", "nothing"], "'nothing'"),
        (["try", "plan_things"], "passes the conversation on"),
        (["try", "list_todos", "user=bob"], "takes no 'user'; it takes: page"),
        (["try", "add_todos", "milk"], "name=value"),
        (["try", "delete_todos", "numbers=[1]", "numbers=[2]"], "once"),
        (["try", "delete_todos", "numbers=one"], "written as JSON"),
        (["try", "delete_todos", "numbers=[0]"], "greater than or equal to 1"),
        (["try", "delete_todos"], "needs numbers"),
        (["try", "export_profile", "format=xml"], "'markdown' or 'json'"),
    ],
)
def test_a_wrong_trial_is_one_line(capsys: Captured, arguments: list[str], word: str) -> None:
    """Unknown tools and wrong arguments are told in one line, with exit 2."""
    assert word in run(capsys, *arguments, code=2)
