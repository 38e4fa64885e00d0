"""`python -m app tools edit`: cards are changed by options or by hand, and never left broken."""

import json
import os
from pathlib import Path

import pytest

from app.cli import command_line
from prompts import card_file
from tests.support.pseudo_terminal import Terminal
from tests.support.tools_command import Captured, run


@pytest.mark.needs("planner")
def test_a_card_is_edited_by_options(capsys: Captured) -> None:
    """Only what was named changes; the file then counts at once, and stays readable by whoever could read it."""
    path = card_file("add_todos", "ru")
    mode, lines = path.stat().st_mode, path.read_text("utf-8").splitlines()
    change = [
        "--add-example",
        "занеси {items}",
        "--remove-example",
        "новое дело {items}",
        "--description",
        "Добавь дела.",
    ]
    assert run(capsys, "edit", "add_todos", "--lang", "ru", *change) == f"Written: {path}\n"
    kept = [line for line in lines[lines.index("") :] if line != "- новое дело {items}"]
    assert path.read_text("utf-8").splitlines() == ["Добавь дела.", *kept, "- занеси {items}"]
    assert path.stat().st_mode == mode
    assert [name for name in os.listdir(path.parent) if name.startswith(".")] == []
    assert json.loads(run(capsys, "show", "add_todos", "--json"))["descriptions"]["ru"] == "Добавь дела."
    assert run(capsys, "edit", "add_todos", "--lang", "ru", "--description", "Добавь дела.").startswith("Nothing has")


@pytest.mark.needs("standin")
def test_a_card_may_be_left_without_examples(capsys: Captured, house: Path) -> None:
    """The application starts without them; `check` gives a warning, apart from the faults, and does not fail."""
    card_file("abilities", "en").write_text("Tell.\n\n- help\n", "utf-8")
    run(capsys, "edit", "abilities", "--lang", "en", "--remove-example", "help")
    assert card_file("abilities", "en").read_text("utf-8") == "Tell.\n\n"
    warning = "prompts/en/cards/abilities.md: the card has no example of a request"
    assert command_line.main(["check"]) == 0
    assert f"Warnings\n  {warning}\n\nNo faults." in capsys.readouterr().out
    assert command_line.main(["check", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["warnings"], report["faults"]) == ([warning], [])


def test_a_card_that_would_break_a_rule_is_not_written(capsys: Captured, house: Path) -> None:
    """A card is never left in a state in which the application would not start."""
    before = card_file("abilities", "en").read_text("utf-8")
    output = run(capsys, "edit", "abilities", "--lang", "en", "--add-example", "tell {it}", code=2)
    assert "{it}, which is no parameter" in output
    assert card_file("abilities", "en").read_text("utf-8") == before


def test_a_new_card_is_a_new_file(capsys: Captured) -> None:
    """A tool that has no card in a language gets one; its description stands above its examples."""
    card_file("abilities", "en").unlink()
    run(capsys, "edit", "abilities", "--lang", "en", "--description", "Tell.", "--add-example", "help")
    assert card_file("abilities", "en").read_text("utf-8") == "Tell.\n\n- help\n"


@pytest.mark.needs("standin")
def test_a_broken_card_is_named_before_anything_runs(capsys: Captured) -> None:
    """`check` fails, and a conversation does not begin, with one line that names the file and the rule."""
    card_file("abilities", "en").write_text("- help\n- help\n", "utf-8")
    assert command_line.main(["check"]) == 2
    assert "prompts/en/cards/abilities.md: the example 'help' is there 2 times" in capsys.readouterr().out
    for command in (["ask", "hi"], ["tools", "try", "abilities"]):
        assert command_line.main(command) == 2
        output = "python -m app: prompts/en/cards/abilities.md: the example 'help' is there 2 times\n"
        assert capsys.readouterr() == ("", output)
    run(capsys, "edit", "abilities", "--lang", "en", "--remove-example", "help")
    assert command_line.main(["check"]) == 0


EDITING = """
import sys
from pathlib import Path
import prompts
prompts.FOLDER = Path(sys.argv[1])
from app.cli import command_line
sys.exit(command_line.main(["tools", "edit", "abilities", "--lang", "en"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "code"), [("- what now", 0), ("- {what} now", 2)])
def test_a_card_is_edited_by_hand(house: Path, line: str, code: int) -> None:
    """At a terminal the editor opens; a wrong card is not written, and the draft is kept."""
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
