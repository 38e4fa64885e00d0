"""Values that the rules find in what was said."""

from typing import Any

import pytest

from app.plugins.standin.values import named, parameters
from app.plugins.standin.vocabulary import vocabulary

FUNCTION = {
    "name": "export_profile",
    "parameters": {
        "properties": {
            "kind": {"enum": ["table", "player_state", 3], "type": "string"},
            "size": {"anyOf": [{"const": "big", "type": "string"}, {"type": "null"}], "default": None},
            "format": {"enum": ["markdown", "json"], "type": "string"},
            "anything": {"type": "string"},
            "done": {"type": "boolean"},
        },
        "required": ["kind"],
    },
}


@pytest.mark.parametrize(
    ("name", "said", "value"),
    [
        ("kind", "Table", "table"),
        ("kind", "the player state, please", "player_state"),
        ("kind", "3", 3),
        ("kind", "chair", None),
        ("kind", "table and chair", None),
        ("size", "big", "big"),
        ("format", "plain text", "markdown"),
        ("format", "JSON", "json"),
        ("anything", "table", None),
        ("done", "ticked", None),
    ],
)
@pytest.mark.needs("profile")
def test_a_choice_is_named_by_its_value_or_by_a_word_for_it(name: str, said: str, value: Any) -> None:
    """A parameter that admits a few values needs no word list; one that has a list is called by that, too."""
    assert named(said, parameters(FUNCTION)[name], vocabulary("en")) == value
