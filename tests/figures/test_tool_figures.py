"""The costs of tools in a conversation, measured with three hundred of them."""

import pytest

from benchmarks.pieces import least_tokens
from tests.support.errands import errands


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", 0),
        ("Please sell two violins", 4),
        ("6992792935", 4),
        ('{"id":12}', 5),
        ("it's\n\n  done", 5),
        ("Продай скрипки, пожалуйста", 4),
        ("call_tool", 2),
    ],
)
def test_a_text_is_cut_into_pieces(text: str, pieces: int) -> None:
    """A word with the space before it, three digits, a run of signs or of spaces are a piece each."""
    assert least_tokens(text) == pieces


def test_errands_come_back_to_tools_and_talk_between() -> None:
    """A round of five turns uses three tools, the first of them twice, and has one turn without."""
    first, second, vague, talk, again = errands(5)

    assert not talk.tool
    assert first.tool == again.tool
    assert len({first.tool, second.tool, vague.tool}) == 3
    assert vague.thing == second.thing
    assert vague.thing not in vague.says
