"""`python -m app usage`: what models took, by day."""

import asyncio
import json
from pathlib import Path

import pytest

from app.cli import command_line
from app.composition import open_assistant
from app.plugins.usage.counts import Usage
from app.prices import Tokens
from app.settings import read_settings
from prompts import sentence


@pytest.mark.needs("standin")
def test_days_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each day and model, as JSON too; nothing used is said in words."""
    assert command_line.main(["usage"]) == 0
    assert capsys.readouterr().out.strip() == sentence("usage/phrases", "no_usage", "en")
    asyncio.run(use())
    assert command_line.main(["usage"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[1:] == ["openai:m", "1", "3", "2", "1", "0.0000", "4"]
    assert command_line.main(["usage", "--user", "ann", "--json"]) == 0
    [day] = json.loads(capsys.readouterr().out)
    assert (day["model"], day["input_tokens"], day["output_tokens"]) == ("", 3, 1)


async def use() -> None:
    """Let Ann use a model."""
    async with open_assistant(read_settings(), remote=False) as assistant:
        await assistant.services.get(Usage).add("ann", {"openai:m": Tokens(1, 3, 2, 1)}, 4)
