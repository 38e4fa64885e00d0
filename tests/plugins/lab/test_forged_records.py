"""Records that were forged, so that the test which is exported from them runs code."""

import ast

import pytest

from agents.errors import UsageError
from app.plugins.lab.trace_test import Play, trace_test

NAMES = [
    "x=1);import os;os.system('id')#",
    "a b",
    "a.b",
    "a\nimport os",
    "class",
    "lambda",
    "*a",
    "**{}",
    "",
    "1a",
    "a\u202eb",
    "print()",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_name_is_no_code(name: str) -> None:
    """A tool or speaker of such a name is refused, wherever the test would write it."""
    for play in (Play([], {name: []}, {}), Play([], {}, {name: {"tool": []}})):
        with pytest.raises(UsageError, match="not a name in Python"):
            trace_test(play)


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_text_is_a_text(name: str) -> None:
    """Texts inside lists and objects are written as literals."""
    source = trace_test(Play([], {}, {"planner": {name: [name]}}))
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert [ast.unparse(func) for func in calls] == ["chat.as_shipped", "chat.expects", "chat.borrows"]
