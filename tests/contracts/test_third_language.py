"""A further language is a folder: whatever it lacks is English, and no code names it."""

import ast
import re
from pathlib import Path

import pytest

import prompts
from agents.events import Event, trace
from app.assistant import Turn
from app.composition import discover, open_assistant
from app.presentation.tool_card import warnings
from app.settings import Settings
from tests.support.pages import PACKAGES
from tests.support.places import ROOT

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


@pytest.mark.needs("planner", "standin")
async def test_one_can_talk_in_a_language_that_is_a_few_files(german: Path) -> None:
    """Its own sentences are said; prompts, cards and word lists that it lacks are the English ones."""
    shipped = [lang for lang in prompts.languages() if lang != "de"]
    assert prompts.languages() == ["en", *sorted(["de", *shipped[1:]])]
    assert prompts.translated("planner/prompt") == shipped

    conversation = await talk("what is on my list?", "add milk to my list", "what is on my list?")
    assert "Die Liste ist leer." in conversation
    assert "planner.add_todos(items=['milk']) = 1. milk" in conversation


def test_a_folder_without_texts_is_no_language(house: Path) -> None:
    """Folders of editors or of Python beside the languages are not offered to users."""
    shipped = prompts.languages()
    (house / "__pycache__").mkdir(exist_ok=True)
    (house / "notes").mkdir()
    prompts.read_anew()
    assert prompts.languages() == shipped


def test_the_check_names_what_it_lacks(german: Path) -> None:
    """Files are named in one line, and the entries of a table in another; contractions are a language's own."""
    (german / "words.toml").write_text('yes = ["ja"]\n[contractions]\n"im" = "in dem"\n', "utf-8")
    (german / "page.toml").write_text((prompts.FOLDER / "en" / "page.toml").read_text("utf-8"), "utf-8")
    prompts.read_anew()
    lines = [line for line in warnings(discover()[0], ["de"]) if "is used" in line]

    assert any(re.match(r"prompts/de lacks \d+ of the files, en is used: abilities\.md, ", line) for line in lines)
    warning = next(line for line in lines if line.startswith("prompts/de/words.toml lacks "))
    assert " en is used: no, agree, " in warning
    assert "contractions" not in warning
    assert not any("page.toml" in line for line in lines)


def codes_in(source: str) -> set[str]:
    """Return the codes of languages that stand in Python source as texts of their own."""
    codes = {*prompts.languages()}
    if not codes.intersection(re.findall(r"\w+", source)):
        return set()
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {text for text in constants if isinstance(text, str) and text in codes}


def test_no_code_names_a_language() -> None:
    """Code names the fallback alone, in one place. A search engine may have a table of its regions."""
    allowed = {"prompts/__init__.py", "dialogs/research/retrievers/ddgs.py"}
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    naming = {file.relative_to(ROOT).as_posix() for file in files if codes_in(file.read_text("utf-8"))}
    assert naming - allowed == set()


def test_sections_are_completed_key_by_key(german: Path) -> None:
    """Missing keys of a section are English; a list is taken whole, and so is a section with words as keys."""
    (german / "words.toml").write_text('[forget]\nverbs = ["lösche"]\n[contractions]\n"gibts" = "gibt es"\n', "utf-8")
    prompts.read_anew()
    words, english = prompts.table("words", "de"), prompts.table("words", "en")

    assert words["forget"]["verbs"] == ["lösche"]
    assert words["forget"]["openings"] == english["forget"]["openings"]
    assert words["contractions"] == {"gibts": "gibt es"}
    assert english["forget"]["verbs"] != ["lösche"]
