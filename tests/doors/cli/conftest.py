"""A command line with a stand-in for the assistant behind it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.events import Event
from tests.support.fake_assistant import StandIn

Stage = Callable[..., StandIn]
Feed = Callable[[str], int]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    """Put a stand-in with these turns behind the command line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("APP_LANG", "en")

    def set_up(*turns: Sequence[Event], **more: object) -> StandIn:
        stand_in = StandIn(*turns, **more)  # type: ignore[arg-type]  # passed through
        monkeypatch.setattr("app.cli.talk.open_assistant", stand_in.open)
        monkeypatch.setattr("app.cli.threads.open_assistant", stand_in.open)
        monkeypatch.setattr("app.cli.records.backend_of", lambda _: SimpleNamespace(open=stand_in.open_backend))
        monkeypatch.setattr("app.cli.installation.open_assistant", stand_in.open)
        return stand_in

    return set_up


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Feed]:
    """Give the command line a text as its standard input."""
    path = tmp_path / "input.txt"
    path.touch()
    with path.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield partial(path.write_text, encoding="utf-8")
