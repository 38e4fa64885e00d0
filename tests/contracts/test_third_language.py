"""A further language is a folder: whatever it lacks is English, and no code names it."""

from pathlib import Path

import pytest

import prompts
from agents.events import Event, trace
from app.assistant import Turn
from app.composition import open_assistant
from app.settings import Settings

LANGUAGE = """
names = ["Deutsch", "German"]
letters = "a-zäöüß"
stemmer = "german"
"""


@pytest.fixture
def german(house: Path) -> Path:
    """Add a folder with a few files to a copy of the prompts."""
    folder = house / "de"
    folder.mkdir()
    (folder / "language.toml").write_text(LANGUAGE, encoding="utf-8")
    (folder / "planner").mkdir()
    (folder / "planner" / "phrases.toml").write_text('todos_none = "Die Liste ist leer."\n', encoding="utf-8")
    return folder


async def talk(*texts: str) -> str:
    """Return the trace of a conversation in German with the model that needs no key."""
    events: list[Event] = []
    async with open_assistant(Settings(_env_file=None)) as assistant:
        for text in texts:
            events += [event async for event in assistant.play(Turn(thread="t", text=text, lang="de"))]
        assert (await assistant.state("t") or {})["lang"] == "de"
    return trace(events)


async def test_one_can_talk_in_a_language_that_is_a_few_files(german: Path) -> None:
    """Its own sentences are said; prompts, cards and word lists that it lacks are the English ones."""
    assert prompts.languages() == ["en", "de", "ru"]
    assert prompts.translated("planner/prompt") == ["en", "ru"]

    told = await talk("what is on my list?", "add milk to my list", "what is on my list?")
    assert "Die Liste ist leer." in told
    assert "planner.add_todos(items=['milk']) = 1. milk" in told


def test_a_folder_without_texts_is_no_language(house: Path) -> None:
    """What an editor or Python leaves beside the languages is not offered to users."""
    (house / "__pycache__").mkdir(exist_ok=True)
    (house / "notes").mkdir()
    assert prompts.languages() == ["en", "ru"]
