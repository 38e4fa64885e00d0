"""`python -m app tools try` on the tools of a shop: identifiers, writes, permissions, questions and failures."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

import prompts
from agents.toolkit.speaker import Speakers
from app.cli import command_line
from observers import Observer
from prompts import card_file, languages
from tests.support import shop_tools
from tests.support.compiled import discovered
from tests.support.prompt_copy import copied_prompts
from tests.support.shop_tools import HAT
from tests.support.tools_command import Captured, run, tried

pytestmark = [pytest.mark.needs("planner", "standin"), pytest.mark.usefixtures("home")]


@pytest.fixture(scope="module", autouse=True)
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the planner the tools of a shop, and them their cards, in place of other tools of their names."""
    speakers, watching = discovered()
    names = {entry.name for entry in shop_tools.TOOLS}
    rest = {
        name: replace(dialog, tools=[entry for entry in dialog.tools if entry.name not in names])
        for name, dialog in speakers.dialogs.items()
    }
    planner = replace(speakers.dialogs["planner"], tools=[*speakers.dialogs["planner"].tools, *shop_tools.TOOLS])
    staff = replace(speakers, dialogs={**rest, "planner": planner})

    def discover() -> tuple[Speakers, dict[str, Observer]]:
        return staff, watching

    with copied_prompts(tmp_path_factory.mktemp("shop") / "prompts") as copy, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompts, "FOLDER", copy)
        patch.setattr("app.cli.tools.discover", discover)
        for tool in shop_tools.TOOLS:
            for lang in languages():
                card_file(tool.name, lang).write_text("- do it\n", "utf-8")
            for form in copy.rglob(f"forms/{tool.name}.toml"):
                form.unlink()
        prompts.read_anew()
        yield
    prompts.read_anew()


@pytest.fixture(autouse=True)
def _nothing_returned() -> None:
    shop_tools.RETURNS.clear()


def test_a_result_is_told_as_a_model_reads_it(capsys: Captured) -> None:
    """Identifiers are numbers, and what they stand for is told, so that it can be used in the next try."""
    outcome = tried(capsys, "find_orders", "name=hat")
    assert outcome["object"] == [{"id": 1, "name": "Red hat", "price": 15.0}]
    assert outcome["aliases"] == {"order": {"1": HAT}}
    assert outcome["view"]["kind"] == "cards"
    assert run(capsys, "try", "find_orders", "name=hat").endswith(f"1. Red hat — 15 EUR\n\norder 1 = {HAT}\n")


def test_a_write_wants_a_yes(capsys: Captured) -> None:
    """A tool that writes is only run when told to; identifiers are given as they are."""
    assert "--yes" in run(capsys, "try", "submit_return", f"order={HAT}", code=2)
    assert shop_tools.RETURNS == []
    assert run(capsys, "try", "submit_return", f"order={HAT}", "--yes", "--user", "ann").startswith("Red hat is on")
    assert shop_tools.RETURNS == [("ann", HAT)]


def test_permissions_count(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A tool is tried with the permissions of the user in whose name it runs."""
    monkeypatch.setenv("PERMISSIONS", "ann=refund")
    assert "Not permitted" in run(capsys, "try", "refund", "--user", "bob", code=1)
    assert run(capsys, "try", "refund", "--user", "ann") == "Paid.\n"


def test_a_failure_is_an_exit_code(capsys: Captured) -> None:
    """A tool that refuses or fails ends with 1; the command prints the model's text."""
    refusal = tried(capsys, "submit_return", "order=gone", "--yes", code=1)
    assert (refusal["ok"], refusal["object"], refusal["notices"]) == (
        False,
        "There is no such order.",
        ["No such order."],
    )


def test_a_tool_that_breaks_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:  # fmt: skip
    """A tool that raises ends with 1; its developer reads where, but not what a user may have said."""
    monkeypatch.setattr(shop_tools, "ORDERS", {"x": None})
    assert command_line.main(["tools", "try", "find_orders", "name=secret"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("find_orders failed.")
    assert "tests/support/shop_tools.py" in err
    assert "secret" not in err


def test_a_question_is_printed(capsys: Captured) -> None:
    """A selector and a breaker print what they would ask."""
    assert run(capsys, "try", "choose_order").startswith("Which order?\n1. Blue shoes — 60 EUR\n2. Red hat")
    assert [field["name"] for field in tried(capsys, "ask_address")["question"]["fields"]] == ["street", "zip"]
    assert tried(capsys, "sign_in")["question"]["url"] == "https://shop.example/sign-in"


def test_what_a_tool_prints_is_no_result(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """With --json stdout is one JSON document; a tool's own words go to stderr."""
    order = shop_tools.order
    monkeypatch.setattr(shop_tools, "order", lambda id: sys.stdout.write("looked up\n") and order(id))
    assert command_line.main(["tools", "try", "find_orders", "name=hat", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["ok"]
    assert "looked up" in err
