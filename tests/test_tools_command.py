"""`python -m app tools`: what is listed, shown, tried and edited, to which stream, with which exit code."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

import prompts
from agents.errors import UsageError
from agents.speaker import Speakers
from app import cli, composition
from app.arguments import typed
from observers import Observer
from prompts import card, card_file, languages
from tests import shop
from tests.pseudo_terminal import Terminal
from tests.shop import ORDERS

Captured = pytest.CaptureFixture[str]
SHOES, HAT, COAT = ORDERS


@pytest.fixture(autouse=True)
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Work on a copy of the prompts and on a database of its own; return the copy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APP_LANG", "en")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/try.db")
    monkeypatch.setattr(prompts, "FOLDER", shutil.copytree(prompts.FOLDER, tmp_path / "prompts"))
    card.cache_clear()
    yield tmp_path / "prompts"
    card.cache_clear()


@pytest.fixture
def with_shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the planner the tools of a shop, and them their cards."""
    discover = composition.discover

    def discover_more() -> tuple[Speakers, dict[str, Observer]]:
        speakers, watching = discover()
        planner = speakers.dialogs["planner"]
        more = replace(planner, tools=[*planner.tools, *shop.TOOLS])
        return replace(speakers, dialogs={**speakers.dialogs, "planner": more}), watching

    monkeypatch.setattr("app.tools.discover", discover_more)
    for one in shop.TOOLS:
        for lang in languages():
            card_file(one.name, lang).write_text("- do it\n", "utf-8")
    shop.RETURNS.clear()


def run(capsys: Captured, *arguments: str, code: int = 0) -> str:
    """Run `tools` and return what it prints; on trouble, its line on stderr."""
    assert cli.main(["tools", *arguments]) == code
    out, err = capsys.readouterr()
    if code == 2:
        assert out == ""
        assert len(err.splitlines()) == 1
        return str(err)
    return str(out)


def tried(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    """Try a tool and return what came of it."""
    return json.loads(run(capsys, "try", *arguments, "--json", code=code))


def test_tools_are_listed(capsys: Captured) -> None:
    """Every tool stands in a line with whose it is and how it may be used, or in a JSON list."""
    assert "get_acquainted    supervisor                    hand-over  read    en, ru\n" in run(capsys)
    listed = {entry.pop("name"): entry for entry in json.loads(run(capsys, "--json"))}
    assert listed["fill_form"]["owners"] == ["profile"]
    assert set(listed["add_todos"]) == {"owners", "kind", "effect", "languages"}


def test_a_tool_is_shown_whole(capsys: Captured) -> None:
    """A card shows facts, schemas and the texts of every language; as JSON wherever --json is said."""
    text = run(capsys, "show", "export_profile")
    assert "- export my profile as {format}" in text
    assert f"\n  - {card('export_profile', 'ru')[1][0]}\n" in text
    for order in (["show", "export_profile", "--json"], ["--json", "show", "export_profile"]):
        shown = json.loads(run(capsys, *order))
        assert shown["parameters"]["required"] == ["format"]
        assert set(shown["examples"]) == {"en", "ru"}


def test_a_tool_is_tried_on_the_database(capsys: Captured) -> None:
    """What is tried is done: the next try, and a conversation, find it."""
    assert run(capsys, "try", "add_todos", 'items=["milk", "bread"]', "--user", "ann", "--yes") == "1. milk\n2. bread\n"
    assert tried(capsys, "list_todos", "--user", "ann")["object"] == "1. milk\n2. bread"
    assert "milk" not in run(capsys, "try", "list_todos", "--user", "bob")


def test_a_form_and_its_views(capsys: Captured) -> None:
    """A form is filled as in a conversation, and what a user would see is printed after what a model reads."""
    run(capsys, "try", "fill_form", 'skills=["Rust"]', "--yes")
    text = run(capsys, "try", "export_profile", "format=json")
    assert text.startswith("Done, the profile is shown: profile.json.\n\n{")
    view = tried(capsys, "export_profile", "format=json")["view"]
    assert (view["kind"], json.loads(view["content"])) == ("document", {"skills": ["Rust"]})


def test_a_result_is_told_as_a_model_reads_it(with_shop: None, capsys: Captured) -> None:
    """Identifiers are numbers, and what they stand for is told, so that it can be used in the next try."""
    found = tried(capsys, "find_orders", "name=hat")
    assert found["object"] == [{"id": 1, "name": "Red hat", "price": 15.0}]
    assert found["aliases"] == {"order": {"1": HAT}}
    assert found["view"]["kind"] == "cards"
    assert run(capsys, "try", "find_orders", "name=hat").endswith(f"1. Red hat — 15 EUR\n\norder 1 = {HAT}\n")


def test_a_write_wants_a_yes(with_shop: None, capsys: Captured) -> None:
    """A tool that writes is only run when told to; identifiers are given as they are."""
    assert "--yes" in run(capsys, "try", "submit_return", f"order={HAT}", code=2)
    assert shop.RETURNS == []
    assert run(capsys, "try", "submit_return", f"order={HAT}", "--yes", "--user", "ann").startswith("Red hat is on")
    assert shop.RETURNS == [("ann", HAT)]


def test_permissions_count(with_shop: None, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A tool is tried with the permissions of the user in whose name it runs."""
    monkeypatch.setenv("PERMISSIONS", "ann=refund")
    assert "not permitted" in run(capsys, "try", "refund", "--user", "bob", code=1)
    assert run(capsys, "try", "refund", "--user", "ann") == "Paid.\n"


def test_a_failure_is_an_exit_code(with_shop: None, capsys: Captured) -> None:
    """A tool that refuses or fails ends with 1; what a model would be told is printed."""
    told = tried(capsys, "submit_return", "order=gone", "--yes", code=1)
    assert (told["ok"], told["object"], told["notices"]) == (False, "There is no such order.", ["No such order."])


def test_a_tool_that_breaks_says_where(
    with_shop: None, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:  # fmt: skip
    """A tool that raises ends with 1; its developer reads where, but not what a user may have said."""
    monkeypatch.setattr(shop, "ORDERS", {"x": None})
    assert cli.main(["tools", "try", "find_orders", "name=secret"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("find_orders failed.")
    assert "tests/shop.py" in err
    assert "secret" not in err


def test_a_question_is_printed(with_shop: None, capsys: Captured) -> None:
    """A selector and a breaker print what they would ask."""
    assert run(capsys, "try", "choose_order").startswith("Which order?\n1. Blue shoes — 60 EUR\n2. Red hat")
    assert [field["name"] for field in tried(capsys, "ask_address")["question"]["fields"]] == ["street", "zip"]
    assert tried(capsys, "sign_in")["question"]["url"] == "https://shop.example/sign-in"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["try", "nothing"], "'nothing'"),
        (["try", "plan_things"], "passes the conversation on"),
        (["try", "list_todos", "user=bob"], "takes no 'user'; it takes: nothing"),
        (["try", "add_todos", "milk"], "name=value"),
        (["try", "delete_todos", "numbers=[1]", "numbers=[2]"], "once"),
        (["try", "delete_todos", "numbers=one"], "written as JSON"),
        (["try", "delete_todos", "numbers=[0]"], "greater than or equal to 1"),
        (["try", "delete_todos"], "needs numbers"),
        (["try", "export_profile", "format=xml"], "'markdown' or 'json'"),
        (["show", "nothing"], "'nothing'"),
        (["edit", "nothing", "--lang", "en"], "'nothing'"),
        (["edit", "add_todos", "--lang", "qq"], "qq"),
        (["edit", "add_todos", "--lang", "en"], "$EDITOR"),
        (["edit", "add_todos", "--lang", "en", "--add-example", "add {thing}"], "{thing}"),
        (["edit", "add_todos", "--lang", "en", "--add-example", "Add {items}"], "2 times"),
        (["edit", "add_todos", "--lang", "en", "--remove-example", "sing"], "no example 'sing'"),
        (["edit", "add_todos", "--lang", "en", "--description", "Add.\n- add it"], "dash"),
        (["dance"], "dance"),
    ],
)
def test_a_fault_of_the_caller_is_one_line(capsys: Captured, arguments: list[str], word: str) -> None:
    """Unknown tools, wrong arguments and cards that would break a rule are told in one line, with exit 2."""
    before = card_file("add_todos", "en").read_bytes()
    assert word.replace("$EDITOR", "editor") in run(capsys, *arguments, code=2)
    assert card_file("add_todos", "en").read_bytes() == before


def test_arguments_are_read_by_type() -> None:
    """A text, an identifier and a word of a list are taken as they are; all else is JSON."""

    class Place(BaseModel):
        x: int

    @tool
    def draw(
        name: str, width: Literal[1, 2], order: shop.OrderId, at: Place, big: bool = False, note: str | None = None
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


def test_a_card_is_edited_by_options(capsys: Captured) -> None:
    """Only what was named changes; the file then counts at once, and stays readable by whoever could read it."""
    path = card_file("add_todos", "ru")
    mode, lines = path.stat().st_mode, path.read_text("utf-8").splitlines()
    change = ["--add-example", "занеси {items}", "--remove-example", "надо {items}", "--description", "Добавь дела."]
    assert run(capsys, "edit", "add_todos", "--lang", "ru", *change) == f"Written: {path}\n"
    kept = [line for line in lines[1:] if line != "- надо {items}"]
    assert path.read_text("utf-8").splitlines() == ["Добавь дела.", *kept, "- занеси {items}"]
    assert path.stat().st_mode == mode
    assert [name for name in os.listdir(path.parent) if name.startswith(".")] == []
    assert json.loads(run(capsys, "show", "add_todos", "--json"))["descriptions"]["ru"] == "Добавь дела."
    assert run(capsys, "edit", "add_todos", "--lang", "ru", "--description", "Добавь дела.").startswith("Nothing has")


def test_the_last_example_stays(capsys: Captured, house: Path) -> None:
    """A card is never left in a state in which the application would not start."""
    card_file("abilities", "en").write_text("Tell.\n\n- help\n", "utf-8")
    told = run(capsys, "edit", "abilities", "--lang", "en", "--remove-example", "help", code=2)
    assert "no example of a request" in told
    assert card_file("abilities", "en").read_text("utf-8") == "Tell.\n\n- help\n"


def test_a_new_card_is_a_new_file(capsys: Captured) -> None:
    """A tool that has no card in a language gets one; its description stands above its examples."""
    card_file("abilities", "en").unlink()
    run(capsys, "edit", "abilities", "--lang", "en", "--description", "Tell.", "--add-example", "help")
    assert card_file("abilities", "en").read_text("utf-8") == "Tell.\n\n- help\n"


def test_a_broken_card_is_named_before_anything_runs(capsys: Captured) -> None:
    """`check` fails, and a conversation does not begin, with one line that names the file and the rule."""
    card_file("abilities", "en").write_text("- help\n- help\n", "utf-8")
    assert cli.main(["check"]) == 2
    assert "prompts/en/tools/abilities.md: the example 'help' is there 2 times" in capsys.readouterr().out
    for command in (["ask", "hi"], ["tools", "try", "abilities"]):
        assert cli.main(command) == 1
        told = "python -m app: prompts/en/tools/abilities.md: the example 'help' is there 2 times\n"
        assert capsys.readouterr() == ("", told)
    run(capsys, "edit", "abilities", "--lang", "en", "--remove-example", "help")
    assert cli.main(["check"]) == 0


EDITING = """
import sys
from pathlib import Path
import prompts
prompts.FOLDER = Path(sys.argv[1])
from app import cli
sys.exit(cli.main(["tools", "edit", "abilities", "--lang", "en"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "code"), [("- what now", 0), ("- {what} now", 2)])
def test_a_card_is_edited_by_hand(house: Path, line: str, code: int) -> None:
    """At a terminal the editor opens; what is no card is not written, and the draft is kept."""
    editor = house.parent / "editor.sh"
    editor.write_text(f"#!/bin/sh\necho '{line}' >> \"$1\"\n", "utf-8")
    editor.chmod(0o755)
    drafts = house.parent / "drafts"
    drafts.mkdir()
    before = card_file("abilities", "en").read_text("utf-8")
    terminal = Terminal(house, "-c", EDITING, str(house), EDITOR=str(editor), VISUAL="", TMPDIR=str(drafts))
    terminal.wait_for("Written: " if code == 0 else "(your draft: ")
    assert terminal.ends() == code
    terminal.close()
    after = card_file("abilities", "en").read_text("utf-8")
    assert after == (before + line + "\n" if code == 0 else before)
    assert [path.read_text("utf-8") for path in drafts.iterdir()] == ([] if code == 0 else [before + line + "\n"])
