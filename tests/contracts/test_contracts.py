"""Agreements between parts that no single part can see."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from agents.models import Model, Models
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.composition import SUPERVISOR_TOOLS, discover
from app.testing.script import Script
from tests.support.parts import EVERY_DIALOG
from tests.support.places import ROOT
from tests.support.size import PACKAGES


@pytest.mark.parametrize("name", ["app", "agents", "dialogs", "observers", "prompts"])
def test_a_package_is_our_own(name: str) -> None:
    """Another distribution also imports as `agents`; each of our packages resolves below the repository."""
    origin = importlib.import_module(name).__file__
    assert origin is not None
    assert Path(origin).is_relative_to(ROOT)


def test_a_name_stands_for_one_class() -> None:
    """A reader who meets a class by its name need not look up which one it is."""
    texts = (file.read_text("utf-8") for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    names = Counter(name for text in texts for name in re.findall(r"^\s*class (\w+)[(:]", text, re.MULTILINE))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.needs(*EVERY_DIALOG)
def test_the_supervisors_tools_and_dialogs_can_be_inspected() -> None:
    """Tools and dialog-tools are registered separately, and both lists can be read."""
    speakers, observers = discover()

    assert [tool.name for tool in SUPERVISOR_TOOLS] == ["current_time", "abilities", "change_language"]
    assert {name: dialog.tool for name, dialog in speakers.dialogs.items()} == {
        "orders": "handle_orders",
        "planner": "plan_things",
        "player": "watch_things",
        "profile": "get_acquainted",
        "recall": "look_back",
        "research": "look_things_up",
    }
    assert sorted(observers) == ["finished", "intent", "supervisor"]


@pytest.mark.needs("planner")
def test_a_speaker_is_found_by_name_and_by_tool() -> None:
    """The supervisor and the dialogs are looked up alike; an unknown tool belongs to nobody."""
    speakers, _ = discover()

    assert speakers[SUPERVISOR].is_supervisor
    assert speakers["planner"] is speakers.by_tool("plan_things")
    assert speakers.by_tool("gamble") is None
    assert Speakers(speakers.supervisor).successor("planner") is None


def test_each_role_has_its_model() -> None:
    """A role takes its own model, else the default; the fallback stands behind every one."""
    script = Script()
    first, second, third = (Model(name, script.models([name]).default.chat) for name in ("one", "two", "three"))
    models = Models(default=first, roles={"profile": second}, fallback=third)

    assert [model.name for model in models.chain("profile")] == ["two", "three"]
    assert [model.name for model in models.chain("planner")] == ["one", "three"]
    assert [model.name for model in Models(first).chain("observer")] == ["one"]
