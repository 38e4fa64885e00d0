"""Trained rankers are kept beside the database, and made anew where they are broken or belong to other tools."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agents.language.tool_ranker import ranker
from agents.language.tool_ranker.ranker import Card, ToolRanker
from agents.toolkit.tool_search import tool_searches
from app.composition import rankers
from app.composition.rankers import MOST_KEPT, keep_beside, kept_ranker, kept_readings, prepared
from tests.support.compiled import discovered

KITCHEN = [Card(name, {"en": f"The {name}."}, {"en": [f"turn on the {name}"]}) for name in ("oven", "fan", "light")]
REQUEST = "please turn the fan on"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the kept rankers."""
    return tmp_path / "dialogs.rankers"


def test_a_ranker_is_trained_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process loads it; it ranks to the last digit as before."""
    made = kept_ranker(folder, KITCHEN)
    best = made.rank(REQUEST, 3)
    with monkeypatch.context() as patch:
        patch.setattr("agents.language.tool_ranker.ranker.Space", None)
        loaded = kept_ranker(folder, KITCHEN)
    assert loaded.rank(REQUEST, 3) == best
    assert best[0].name == "fan"


BREAKS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "empty": lambda data: b"",
    "changed": lambda data: data.replace(b"fan", b"fun"),
}


@pytest.mark.parametrize("change", BREAKS.values(), ids=[*BREAKS])
def test_a_broken_file_is_made_anew(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Whatever is wrong with it: nobody notices but by the time that it takes."""
    best = kept_ranker(folder, KITCHEN).rank(REQUEST, 3)
    [file] = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(change(whole))
    assert kept_ranker(folder, KITCHEN).rank(REQUEST, 3) == best
    assert file.read_bytes() == whole


def test_phrases_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process loads their words and stems."""
    phrases = {"turn on the lights", "включи свет", "打开灯"}
    made = kept_readings(folder, phrases)
    assert made == ranker.read_phrases(phrases)
    with monkeypatch.context() as patch:
        patch.setattr(ranker, "read_phrases", None)
        assert kept_readings(folder, phrases) == made


def test_other_cards_have_a_ranker_of_their_own(folder: Path) -> None:
    """A word on a card is enough; the oldest files go for the next."""
    for number in range(MOST_KEPT + 2):
        kept_ranker(folder, [*KITCHEN, Card(f"kettle {number}")])
    assert len([*folder.iterdir()]) == MOST_KEPT


def test_without_a_place_to_keep_it_a_ranker_works(tmp_path: Path) -> None:
    """The folder of a database may be one that cannot be written to, or gone."""
    assert kept_ranker(tmp_path / "gone" / "dialogs.rankers", KITCHEN).rank(REQUEST, 1)[0].name == "fan"


async def test_a_door_trains_what_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside everything else, once it is open: those of all speakers, and that of all tools."""
    monkeypatch.setattr(ranker, "make_ranker", ranker.make_ranker)
    monkeypatch.setattr(rankers, "AFTER", 0)
    keep_beside(folder.with_name("dialogs.db"))
    made, done = list[int](), asyncio.Event()
    loop = asyncio.get_running_loop()

    def make(cards: Sequence[Card]) -> ToolRanker:
        made.append(len(cards))
        if len(made) == len(tool_searches(speakers)) + 1:
            loop.call_soon_threadsafe(done.set)
        return ToolRanker(KITCHEN)

    speakers = discovered()[0]
    monkeypatch.setattr(rankers, "ranker_of", make)
    async with prepared(speakers, direct=True):
        await done.wait()
    assert max(made) > sum(len(speaker.tools) for speaker in speakers)
