"""Cards that were edited: what `check` says of them."""

import pytest

from app.cli import command_line
from prompts import card_file
from tests.support.tools_command import Captured

pytestmark = [pytest.mark.needs("standin"), pytest.mark.usefixtures("house")]


def test_a_broken_card_is_named_before_anything_runs(capsys: Captured) -> None:
    """`check` fails, and a conversation does not begin, with one line that names the file and the rule."""
    card_file("abilities", "en").write_text("- help\n- help\n", "utf-8")
    assert command_line.main(["check"]) == 2
    assert "prompts/en/cards/abilities.md: the example 'help' is there 2 times" in capsys.readouterr().out
    for command in (["ask", "hi"], ["graph"]):
        assert command_line.main(command) == 2
        output = "python -m app: prompts/en/cards/abilities.md: the example 'help' is there 2 times\n"
        assert capsys.readouterr() == ("", output)
