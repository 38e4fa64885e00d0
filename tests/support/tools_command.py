"""`python -m app tools`, run in this process."""

import json
from typing import Any

import pytest

from app.cli import command_line

Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: str, code: int = 0) -> str:
    """Run `tools` and return its output; on trouble, its line on stderr."""
    assert command_line.main(["tools", *arguments]) == code
    out, err = capsys.readouterr()
    if code == 2:
        assert out == ""
        assert len(err.splitlines()) == 1
        return str(err)
    return str(out)


def tried(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    """Try a tool and return the output."""
    return json.loads(run(capsys, "try", *arguments, "--json", code=code))
