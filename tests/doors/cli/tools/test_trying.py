"""`python -m app tools try`: what is run, as whom, and what is told of it."""

import json
import sys
from typing import Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.errors import UsageError
from app.cli import command_line
from app.cli.tool_trial import typed
from tests.support import shop_tools
from tests.support.shop_tools import HAT
from tests.support.tools_command import Captured, run, tried

pytestmark = pytest.mark.needs("planner", "standin")


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


def test_a_result_is_told_as_a_model_reads_it(with_shop: None, capsys: Captured) -> None:
    """Identifiers are numbers, and what they stand for is told, so that it can be used in the next try."""
    outcome = tried(capsys, "find_orders", "name=hat")
    assert outcome["object"] == [{"id": 1, "name": "Red hat", "price": 15.0}]
    assert outcome["aliases"] == {"order": {"1": HAT}}
    assert outcome["view"]["kind"] == "cards"
    assert run(capsys, "try", "find_orders", "name=hat").endswith(f"1. Red hat — 15 EUR\n\norder 1 = {HAT}\n")


def test_a_write_wants_a_yes(with_shop: None, capsys: Captured) -> None:
    """A tool that writes is only run when told to; identifiers are given as they are."""
    assert "--yes" in run(capsys, "try", "submit_return", f"order={HAT}", code=2)
    assert shop_tools.RETURNS == []
    assert run(capsys, "try", "submit_return", f"order={HAT}", "--yes", "--user", "ann").startswith("Red hat is on")
    assert shop_tools.RETURNS == [("ann", HAT)]


def test_permissions_count(with_shop: None, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A tool is tried with the permissions of the user in whose name it runs."""
    monkeypatch.setenv("PERMISSIONS", "ann=refund")
    assert "Not permitted" in run(capsys, "try", "refund", "--user", "bob", code=1)
    assert run(capsys, "try", "refund", "--user", "ann") == "Paid.\n"


def test_a_failure_is_an_exit_code(with_shop: None, capsys: Captured) -> None:
    """A tool that refuses or fails ends with 1; the command prints the model's text."""
    refusal = tried(capsys, "submit_return", "order=gone", "--yes", code=1)
    assert (refusal["ok"], refusal["object"], refusal["notices"]) == (
        False,
        "There is no such order.",
        ["No such order."],
    )


def test_a_tool_that_breaks_says_where(
    with_shop: None, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:  # fmt: skip
    """A tool that raises ends with 1; its developer reads where, but not what a user may have said."""
    monkeypatch.setattr(shop_tools, "ORDERS", {"x": None})
    assert command_line.main(["tools", "try", "find_orders", "name=secret"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("find_orders failed.")
    assert "tests/support/shop_tools.py" in err
    assert "secret" not in err


def test_a_question_is_printed(with_shop: None, capsys: Captured) -> None:
    """A selector and a breaker print what they would ask."""
    assert run(capsys, "try", "choose_order").startswith("Which order?\n1. Blue shoes — 60 EUR\n2. Red hat")
    assert [field["name"] for field in tried(capsys, "ask_address")["question"]["fields"]] == ["street", "zip"]
    assert tried(capsys, "sign_in")["question"]["url"] == "https://shop.example/sign-in"


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


@pytest.mark.usefixtures("with_shop")
def test_what_a_tool_prints_is_no_result(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """With --json stdout is one JSON document; a tool's own words go to stderr."""
    order = shop_tools.order
    monkeypatch.setattr(shop_tools, "order", lambda id: sys.stdout.write("looked up\n") and order(id))
    assert command_line.main(["tools", "try", "find_orders", "name=hat", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["ok"]
    assert "looked up" in err
