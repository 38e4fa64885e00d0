"""A language is a folder of texts: what is known of it stands in its `language.toml`."""

from pathlib import Path

import pytest

import prompts
from agents.language.text.stems import letters_of, stem
from agents.language.text.vocabulary import corrected, listening, wishes
from app.assistant.turn import Languages


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add Greek to the languages, with words of its own."""
    for lang in prompts.languages():
        (tmp_path / lang).mkdir()
        for name in ("supervisor.md", "words.toml", "language.toml"):
            (tmp_path / lang / name).write_bytes((prompts.FOLDER / lang / name).read_bytes())
    (tmp_path / "el").mkdir()
    (tmp_path / "el" / "supervisor.md").write_text("Είσαι βοηθός.", "utf-8")
    (tmp_path / "el" / "words.toml").write_text('yes = ["ναι"]\n', "utf-8")
    (tmp_path / "el" / "language.toml").write_text(
        'names = ["Ελληνικά", "Greek"]\nletters = "α-ωά-ώ"\nstemmer = "greek"\n', "utf-8"
    )
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)


@pytest.mark.parametrize(
    ("text", "lang", "heard"),
    [
        ("add milk", "en", "en"),
        ("добавь молоко", "en", "ru"),
        ("добавь milk and bread", "ru", "ru"),
        ("add milk", "ru", "en"),
        ("42", "ru", "ru"),
        ("add milk", "xx", "en"),
        ("把牛奶加到清单", "en", "zh"),
        ("把牛奶加到清单", "ru", "zh"),
        ("把Milk和Bread加到清单", "zh", "zh"),
        ("добавь молоко", "zh", "ru"),
        ("add milk", "zh", "en"),
    ],
)
def test_a_text_is_read_in_the_language_of_its_letters(text: str, lang: str, heard: str) -> None:
    """The conversation's language holds unless the letters are plainly of another; an unknown one falls back."""
    assert listening(text, lang) == heard


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize(
    ("text", "lang", "heard"), [("Καλημέρα σας", "en", "el"), ("hello there", "el", "en"), ("добрый день", "el", "ru")]
)
def test_a_third_language_needs_no_code(text: str, lang: str, heard: str) -> None:
    """Its letters, stemmer and name come from its folder."""
    assert listening(text, lang) == heard
    assert prompts.languages()[:2] == ["en", "el"]
    assert letters_of("Καλημέρα", "el") == 8
    assert stem("καλημερες", "en") == stem("καλημερα", "el")


@pytest.mark.parametrize(
    ("text", "current", "heard"),
    [
        ("добрый день", "en", "ru"),
        ("good day", "ru", "en"),
        ("да", "en", "en"),
        ("добавь milk", "en", "en"),
        ("你好，在吗", "en", "zh"),
        ("добрый день", "zh", "ru"),
    ],
)
def test_what_the_user_writes_changes_the_language(text: str, current: str, heard: str) -> None:
    """A few letters of an alphabet that the current language lacks are enough; a mixed text changes nothing."""
    assert Languages("en", ("en", "ru", "zh")).heard(text, current) == heard


@pytest.mark.parametrize(
    ("lang", "text", "meant"),
    [
        ("en", "not at 3, at 4", "at 4"),
        ("en", "at 4, not at 3", "at 4"),
        ("en", "not at 15:30 but at 16:45", "at 16:45"),
        ("ru", "не хлеб, а молоко", "молоко"),
        ("zh", "不是3点，是4点", "4点"),
        ("en", "no, milk", "milk"),
        ("en", "not milk", "not milk"),
        ("en", "not milk, bread, tea", "not milk, bread, tea"),
        ("en", "not milk, maybe tea", "tea"),
        ("en", "not bad, thank you", "not bad, thank you"),
        ("en", "not sure, maybe later", "not sure, maybe later"),
        ("ru", "не уверен, может быть потом", "не уверен, может быть потом"),
        ("zh", "不确定，以后再说", "不确定，以后再说"),
    ],
)
def test_what_stands_beside_a_denial_is_meant(lang: str, text: str, meant: str) -> None:
    """Of several clauses none is certain."""
    assert corrected(text, lang).strip() == meant


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "I need batteries"), ("ru", "мне нужны батарейки"), ("zh", "我需要电池"), ("zh", "我们需要电池")],
)
def test_a_need_is_a_wish(lang: str, text: str) -> None:
    """No field of a form takes it for its value."""
    assert wishes(text, lang)
