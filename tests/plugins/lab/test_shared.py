"""Shared agents: a file in the lab's folder is a dialog for everybody, from the next start on."""

import re
from pathlib import Path

import pytest
import yaml

from agents.errors import ContractError
from agents.events import Interrupt, trace
from app.assistant import Turn
from app.cli import command_line
from app.composition import discover, discover_checked, open_assistant
from app.composition.models import make_models
from app.plugins.lab import SHARED
from app.plugins.lab.folder import LabSettings
from app.settings import Settings, read
from dialogs import STEPS
from tests.plugins.lab.test_agents import CLERK

pytestmark = pytest.mark.needs("planner", "standin")


def share(name: str, **changes: object) -> Path:
    """Put an agent where everybody has it, and return its file."""
    path = read(LabSettings).lab_folder / SHARED / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({**CLERK.model_dump(mode="json", exclude_unset=True), **changes}), "utf-8")
    return path


async def test_a_shared_agent_is_a_dialog(settings: Settings) -> None:
    """From the next start on everybody has it, with its own model and parameters; taken back it is gone."""
    file = share("depot_clerk", model="local:rules", parameters={"max_tokens": 99})
    speakers, _ = discover_checked(settings)
    tools = [tool.name for tool in speakers.dialogs["depot_clerk"].tools]
    assert tools[:4] == ["current_time", "list_todos", "add_todos", "depot_weather"]
    assert make_models(settings, speakers).roles["depot_clerk"].name == "local:rules"
    async with open_assistant(settings) as assistant:
        assert "You help with depots. $5" in assistant.prompt("depot_clerk", "ru")
        texts = "I need the depot", "I need the depot", "how cold is it at the depot"
        turns = [[event async for event in assistant.play(Turn(thread="t", text=text))] for text in texts]
        # What opens the agent is no to-do ("I need {items}") while it leads, either.
        assert [event.prompt for events in turns for event in events if isinstance(event, Interrupt)] == []
        assert 'depot_weather() = {"degrees":-3}' in trace(turns[-1])
    file.unlink()
    assert "depot_clerk" not in discover()[0].dialogs


def test_every_door_takes_the_model_of_a_shared_agent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal and `check` make it, too: where its key is missing they say so. `--model` takes its place."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    share("depot_clerk", model="openai:gpt-5-mini")
    for command in (["ask", "hello"], ["check"]):
        assert command_line.main(command) == 2
        assert "OPENAI_API_KEY" in "".join(capsys.readouterr())
    assert command_line.main(["ask", "hello", "--model", "local:rules"]) == 0
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    assert command_line.main(["check"]) == 0
    assert re.search(r"depot_clerk +openai:gpt-5-mini", capsys.readouterr().out)


@pytest.mark.needs("usage")
@pytest.mark.parametrize(
    "name", ["supervisor", "observer", "default", "fallback", "planner", "usage", "1st", *sorted(STEPS)]
)
def test_a_name_that_is_taken_is_not_loaded(settings: Settings, name: str) -> None:
    """A file by the name of a role, a node, a dialog or a plug-in would stand in its place: the start names it."""
    share(name)
    with pytest.raises(ContractError, match=f"{name}' cannot be the name of an agent"):
        discover_checked(settings)
