"""`python -m app tools`: what is listed and shown, and which line tells a fault of the caller."""

import json

import pytest

from prompts import card, languages
from tests.support.tools_command import Captured, run

pytestmark = pytest.mark.needs("planner", "profile")


def test_tools_are_listed(capsys: Captured) -> None:
    """Every tool stands in a line with whose it is and how it may be used, or in a JSON list."""
    rows = [line.split() for line in run(capsys).splitlines()]
    assert ["get_acquainted", "supervisor", "hand-over", "read", *", ".join(languages()).split()] in rows
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
        assert set(shown["examples"]) == {*languages()}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["show", "nothing"], "'nothing'"),
        (["dance"], "dance"),
    ],
)
def test_a_fault_of_the_caller_is_one_line(capsys: Captured, arguments: list[str], word: str) -> None:
    """Unknown tools and wrong arguments are told in one line, with exit 2."""
    assert word in run(capsys, *arguments, code=2)
