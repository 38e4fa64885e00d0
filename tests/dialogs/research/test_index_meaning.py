"""The meaning of a query: slips of typing, synonyms, the language of the question, a watched folder."""

from pathlib import Path

import pytest

from agents.language.text.stems import is_slip
from dialogs.research.index import DocumentIndex, index_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the same pages in two languages."""
    folder = tmp_path / "docs"
    for lang, pages in {
        "en": {"mail": "Postfix is a mail server. It is installed.", "packages": "Remove a package with apt-get."},
        "ru": {"mail": "Postfix – почтовый сервер. Его устанавливают.", "print": "Настройка принтера."},
    }.items():
        (folder / lang).mkdir(parents=True)
        for name, text in pages.items():
            (folder / lang / f"{name}.txt").write_text(text, "utf-8")
    return folder


@pytest.fixture
def index(tmp_path: Path, folder: Path) -> DocumentIndex:
    """An index of the folder."""
    index = DocumentIndex(tmp_path / "dialogs.documents.db")
    index_folder(index, folder, "", lambda *_: None)
    return index


def found(index: DocumentIndex, query: str, lang: str = "en") -> list[str]:
    """Return the places that a query finds."""
    return [passage.url for passage in index.search(query, 5, lang)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("postfx", "en/mail.txt"),
        ("psotfix", "en/mail.txt"),
        ("postffix", "en/mail.txt"),
        ("serwer", "en/mail.txt"),
        ("pakcage", "en/packages.txt"),
        ("instaled", "en/mail.txt"),
        ("пинтер", "ru/print.txt"),
        ("прнитеры", "ru/print.txt"),
        ("нстройка", "ru/print.txt"),
    ],
)
def test_a_slip_finds_what_was_meant(index: DocumentIndex, query: str, first: str) -> None:
    """A letter left out, too many, wrong, or two in the wrong order."""
    assert found(index, query)[0] == first


@pytest.mark.parametrize("query", ["unicorn", "mall", "xx", "postal", "паркет"])
def test_another_word_is_no_slip(index: DocumentIndex, query: str) -> None:
    """A missing word is not found, however much it looks like a present one."""
    assert found(index, query) == []


def test_a_slip_is_one_letter() -> None:
    """Words that begin alike are different words."""
    slips = [("postfx", "postfix"), ("postfixx", "postfix"), ("pestfix", "postfix"), ("mai", "mail")]
    others = [("ma", "mail"), ("mail", "ma"), ("serv", "servant"), ("mole", "mail"), ("", "mail"), ("mall", "mail")]

    assert all(is_slip(*pair) for pair in slips)
    assert not any(is_slip(*pair) for pair in others)


def test_parts_of_a_word_are_found(index: DocumentIndex) -> None:
    """`apt-get` is found by `apt`, and by itself."""
    assert found(index, "apt") == found(index, "apt-get") == ["en/packages.txt"]


def test_the_language_of_the_question_comes_first(index: DocumentIndex) -> None:
    """The name of a program is the same in both; the other language's page comes behind, and is not lost."""
    assert found(index, "what is postfix", "en") == ["en/mail.txt", "ru/mail.txt"]
    assert found(index, "что такое postfix", "ru") == ["ru/mail.txt", "en/mail.txt"]
    assert found(index, "что такое postfix", "en") == ["ru/mail.txt", "en/mail.txt"]


def test_synonyms_of_ones_own(index: DocumentIndex, tmp_path: Path) -> None:
    """A file beside the database lists them, words and phrases; a running search has what is in it now."""
    words = tmp_path / "dialogs.documents.synonyms.txt"
    assert found(index, "uninstall an app") == []

    words.write_text(
        "# ours\nuninstall, remove\nsoftware, app, package  # all of it\nмашина для писем, postfix\n", "utf-8"
    )
    assert found(index, "uninstall an app") == ["en/packages.txt"]
    assert found(index, "машина для писем", "ru")[0] == "ru/mail.txt"
    assert found(index, "писем", "ru") == []

    words.unlink()
    assert found(index, "uninstall an app") == []
    words.mkdir()
    assert found(index, "postfix")[0] == "en/mail.txt"
