"""What `local:rules` reads beside the cards stays small, and belongs to one tool."""

from pathlib import Path

import pytest

import prompts
from app.plugins.standin.vocabulary import asking
from tests.support.standin_fresh import counted

LANGS = ("en", "ru", "zh")
MOST_LINES, LONGEST_LINE = 150, 200


@pytest.mark.parametrize("lang", LANGS)
def test_the_words_of_a_language_are_few(lang: str) -> None:
    """No list grows to catch single sentences."""
    files = [prompts.FOLDER / lang / "standin" / "words.toml", *(prompts.FOLDER / lang).glob("*/standin.toml")]
    lines = [line for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= LONGEST_LINE


def test_a_question_belongs_to_its_tool() -> None:
    """A tool of one's own with a parameter `reason` is not asked with the words of the shop."""
    assert "ordered by mistake" in asking("cancel_pending_order", "reason", "en")
    assert asking("send_card", "reason", "en") == "What should “reason” be?"


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGS)
async def test_fresh_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    """Of two hundred that were never used for mending, the shares that docs/figures.md names."""
    monkeypatch.setenv("TZ", "UTC")
    verdicts, covered, lines = await counted(tmp_path, lang)
    assert verdicts.total() == 200
    assert verdicts["right"] >= 180, lines
    assert verdicts["asked needlessly"] <= 6, lines
    assert verdicts["written unasked"] + verdicts["wrong"] <= 2, lines
    assert covered[True] / covered.total() >= 0.95, lines
