"""A copy of the prompts, and a shop among the tools."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.toolkit.speaker import Speakers
from app import composition
from observers import Observer
from prompts import card_file, languages
from tests.support import shop_tools


@pytest.fixture(autouse=True)
def at_home(house: Path) -> None:
    """Leave the prompts and the database of the project alone."""


@pytest.fixture
def with_shop(monkeypatch: pytest.MonkeyPatch, house: Path) -> None:
    """Give the planner the tools of a shop, and them their cards, in place of other tools of their names."""
    discover = composition.discover

    def discover_more() -> tuple[Speakers, dict[str, Observer]]:
        speakers, watching = discover()
        planner = speakers.dialogs["planner"]
        more = replace(planner, tools=[*planner.tools, *shop_tools.TOOLS])
        names = {entry.name for entry in shop_tools.TOOLS}
        rest = {
            name: replace(dialog, tools=[entry for entry in dialog.tools if entry.name not in names])
            for name, dialog in speakers.dialogs.items()
        }
        return replace(speakers, dialogs={**rest, "planner": more}), watching

    monkeypatch.setattr("app.cli.tools.discover", discover_more)
    for tool in shop_tools.TOOLS:
        for lang in languages():
            card_file(tool.name, lang).write_text("- do it\n", "utf-8")
        for form in house.rglob(f"forms/{tool.name}.toml"):
            form.unlink()
    shop_tools.RETURNS.clear()
