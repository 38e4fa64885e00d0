"""A command imports only the modules that it uses. Each command runs in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs("standin")]
RUN = """
import contextlib, io, json, sys
from app.cli.command_line import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""
DOORS = {"fastapi", "prompt_toolkit", "telegram", "jeepney", "rich.markdown", "app.plugins.lab.commands", "mcp"}
"""Packages for a door, or for a command of another subject."""
COLLECTED = """
import gc, runpy, sys
searches = []
gc.callbacks.append(lambda phase, info: searches.append("langgraph.types" in sys.modules))
freeze = gc.freeze
gc.freeze = lambda: (freeze(), sys.stderr.write(f"{sum(searches)} {'langgraph.graph' in sys.modules}"))
runpy.run_module("app", run_name="__main__", alter_sys=True)
"""
MODELS = {"openai", "langchain_openai", "langchain_anthropic"}
GRAPH = {"langgraph.graph", "langgraph.prebuilt", "agents.toolkit", "app.plugins.standin", "app.plugins.telegram"}
"""Packages for plug-ins; a plain file opens without them."""
ENGINE = {"app.assistant.assistant", "app.composition", "agents.nodes", "dialogs", "snowballstemmer"}
"""Modules that play turns; a command reads rows without them."""
SPECIALISTS = {"icalendar", "dialogs.planner", "dialogs.orders", "dialogs.research"}


@pytest.mark.parametrize(
    ("command", "idle"),
    [
        (["ask", "hello"], DOORS | MODELS),
        (["history", "--thread", "nobody"], DOORS | MODELS | SPECIALISTS | ENGINE | GRAPH),
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


def test_no_garbage_is_sought_while_a_command_is_imported(tmp_path: Path) -> None:
    """The search begins when the modules of the command are there; before, it would find nothing again and again."""
    own = {"DATABASE_URL": f"sqlite:///{tmp_path}/first.db", "LLM_MODEL": "local:rules", "APP_LANG": "en"}
    program = [sys.executable, "-c", COLLECTED, "ask", "hello"]
    run = subprocess.run(program, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=True)
    assert run.stderr == "0 True"
