"""The file of what was typed at the prompt."""

import stat
from pathlib import Path

import pytest

from app.assistant.typed_file import LONGEST_ENTRY, MOST_ENTRIES, TypedFile
from app.cli import command_line
from app.doors.terminal.repl import Typed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name the file."""
    return tmp_path / "talk.db.typed"


def kept(path: Path) -> list[str]:
    """Return the typed lines that another visit finds, the latest first."""
    return list(Typed(TypedFile(path), lambda: "later").load_history_strings())


def test_only_its_owner_may_read_it(path: Path) -> None:
    """The file is made with mode 0600."""
    Typed(TypedFile(path), lambda: "me").store_string("hi")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_every_text_comes_back_as_it_was(path: Path) -> None:
    """Several lines, wide characters and halves of characters; visits at the same time see each other's."""
    here, elsewhere = Typed(TypedFile(path), lambda: "me"), Typed(TypedFile(path), lambda: "work")
    texts = ["a\nb", "漢字 🙂", "half \udce9", '["me", "no entry"]']
    for number, text in enumerate(texts):
        (here, elsewhere)[number % 2].append_string(text)
    assert [text async for text in here.load()] == [text async for text in elsewhere.load()] == texts[::-1]


def test_it_does_not_grow_for_ever(path: Path) -> None:
    """The oldest entries go, and what is too long is not kept."""
    typed = Typed(TypedFile(path), lambda: "me")
    path.write_text('["me", "old"]\n' * MOST_ENTRIES)
    typed.store_string("new")
    typed.store_string("x" * (LONGEST_ENTRY + 1))
    assert kept(path) == ["new", *["old"] * (MOST_ENTRIES - 1)]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"5\n", b'{"me": 1}\n["a", 2]\n[]\n', b'["me"'])
def test_a_broken_file_does_no_harm(path: Path, content: bytes) -> None:
    """A broken entry is left out, and the next one is kept."""
    path.write_bytes(content)
    assert kept(path) == []
    Typed(TypedFile(path), lambda: "me").store_string("hi")
    assert kept(path) == ["hi"]


def test_a_file_that_cannot_be_used_does_no_harm(tmp_path: Path) -> None:
    """Then there is no history."""
    Typed(TypedFile(tmp_path), lambda: "me").store_string("hi")
    assert kept(tmp_path) == []


def test_a_thread_is_forgotten(path: Path) -> None:
    """The deleted thread's lines go, another thread's stay; no file is made for it."""
    TypedFile(path).forget("me")
    assert not path.exists()
    for thread in ("me", "work", "me"):
        Typed(TypedFile(path), lambda thread=thread: thread).store_string(f"in {thread}")  # type: ignore[misc]
    TypedFile(path).forget("me")
    assert kept(path) == ["in work"]


@pytest.mark.needs("standin")
def test_forget_takes_it_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`forget` leaves none of the thread's words in the folder, and only the owner may read what is there."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/talk.db")
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    assert command_line.main(["ask", "pomegranate", "--thread", "mine"]) == 0
    Typed(TypedFile.beside(tmp_path / "talk.db"), lambda: "mine").store_string("pomegranate")
    assert command_line.main(["forget", "--thread", "mine"]) == 0
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    assert not any(b"pomegranate" in file.read_bytes() for file in tmp_path.iterdir())
