"""What a command imports: nothing that it does not use. Each runs in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

RUN = """
import contextlib, io, json, sys
from app.cli.command_line import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""
DOORS = {
    "fastapi",
    "prompt_toolkit",
    "telegram",
    "jeepney",
    "rich.markdown",
    "app.plugins.lab.commands",
}
"""What only a door, or a command of another subject, works with."""
MODELS = {"openai", "langchain_openai", "langchain_anthropic"}
ENGINE = {"app.assistant.assistant", "app.composition", "agents.nodes", "dialogs", "snowballstemmer"}
"""What plays turns; rows are read without it."""
SPECIALISTS = {"icalendar", "dialogs.planner", "dialogs.orders", "dialogs.research"}


@pytest.mark.parametrize(
    ("command", "idle"),
    [
        (["ask", "hello"], DOORS | MODELS),
        (["threads"], DOORS | MODELS | SPECIALISTS | ENGINE),
        (["history", "--thread", "nobody"], DOORS | MODELS | SPECIALISTS | ENGINE),
        (["notes"], DOORS | MODELS | SPECIALISTS | ENGINE),
        (["check"], DOORS | MODELS),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_leaves_alone_what_it_does_not_use(tmp_path: Path, command: list[str], idle: set[str]) -> None:
    """Doors, providers and, for what is only read, specialists stay unimported."""
    own = {"DATABASE_URL": f"sqlite:///{tmp_path}/first.db", "LLM_MODEL": "local:rules", "APP_LANG": "en"}
    program = [sys.executable, "-c", RUN, *command]
    run = subprocess.run(program, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=True)
    code, modules = json.loads(run.stdout)
    assert code == (2 if "nobody" in command else 0), run.stderr
    assert not idle.intersection(modules)
