"""The words of `local:rules` beside the cards stay few, and belong to one tool."""

from pathlib import Path

import pytest

import prompts
from app.composition import discover, faults_of
from app.extensions import Extensions, use
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


@pytest.mark.needs("orders")
def test_a_question_belongs_to_its_tool() -> None:
    """A tool of one's own with a parameter `reason` is not asked with the words of the shop."""
    assert "ordered by mistake" in asking("cancel_pending_order", "reason", "en")
    assert asking("send_card", "reason", "en") == "What should “reason” be?"


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[topics]\n", "nothing reads [topics]; there are: ask, named, needs, values"),
        ('[ask]\nadd_todo.items = "What?"\n', "[ask] names 'add_todo', a tool that no speaker has"),
        (
            '[named]\nfind_notes = ["subject"]\n',
            "[named] names 'subject', which find_notes does not take; it takes: about",
        ),
        ('[needs]\nfind_notes.lamp = ["lamp"]\n', "[needs] names 'lamp', which find_notes does not take"),
        ('[values]\nfind_notes.lamp = "find.about"\n', "[values] names 'lamp', which find_notes does not take"),
    ],
)
def test_words_of_what_does_not_exist_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    """`check`, and whatever starts, tells the file and the rule in one line."""
    file = tmp_path / "own" / "prompts" / "en" / "planner" / "standin.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    monkeypatch.setenv("EXTENSIONS", str(tmp_path / "own"))
    try:
        [line] = faults_of(discover()[0], complete=True)
    finally:
        use(Extensions(_env_file=None, extensions=()))
    assert line.startswith(f"own/prompts/en/planner/standin.toml: {fault}")


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGS)
async def test_fresh_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    """Of two hundred that were never used for mending, the shares that docs/figures.md names."""
    monkeypatch.setenv("TZ", "UTC")
    verdicts, covered, lines = await counted(tmp_path, lang)
    assert verdicts.total() == 200
    assert verdicts["right"] >= 180, lines
    assert verdicts["asked needlessly"] <= 6, lines
    assert verdicts["written unasked"] == 0, lines
    assert verdicts["wrong"] == 0, lines
    assert covered[True] / covered.total() >= 0.95, lines
