"""Messages between doors and workers, and a door's output of a turn that was begun twice."""

import json
from pathlib import Path

import procrastinate
import pytest

from agents.events import (
    RETRY,
    Error,
    Event,
    Handover,
    Images,
    Interrupt,
    Message,
    ModelStart,
    Observed,
    Sources,
    Token,
    ToolStart,
    TurnEnd,
    TurnStart,
)
from agents.events.views import CardList, Document, Entry, Table
from agents.sources.attachments import Contents
from agents.toolkit.client_tools import ClientTool
from app.assistant import Turn
from app.assistant.turn import Exchange
from app.cli.command_line import main
from app.plugins.postgres.door_assistant import Retelling
from app.plugins.postgres.queue import EventPage
from app.plugins.postgres.wire import events_as_json, events_of, turn_as_json, turn_of

PICTURE = {"url": "u", "title": "t", "thumbnail": "", "width": None, "height": 3, "mime_type": "image/png", "page": ""}
EVENTS: list[Event] = [
    TurnStart(text="hi \ud800 \0", source="asr", seq=1, thread="t", turn=2),
    TurnStart(text=None),
    ToolStart(speaker="s", tool="t", args={"a": [1, {"b": None}]}, id="i"),
    Token(speaker="s", text="x", citations=[]),
    Interrupt(id="q", kind="select", prompt="which?", options=[{"id": "1", "label": "one"}]),
    Message(speaker="s", text="x", interrupted=True, original="y"),
    Observed(observer="o", verdict="switch", target="planner", by="observer"),
    Handover(from_="a", to="b"),
    Images.model_validate({"images": [PICTURE]}),
    Sources.model_validate({"sources": {"0": {"title": "t", "url": "u"}}}),
    CardList(title="c", entries=[Entry(label="a")]),
    Table(columns=["a"], rows=[["1"]]),
    Document(title="d", content="text"),
    TurnEnd(is_active=True, dialog=None, ms=3),
]
MIGRATIONS = Path(procrastinate.__file__).parent / "sql" / "migrations"


def test_events_arrive_as_they_were() -> None:
    """Of every kind, with all that is in them."""
    arrived = events_of(events_as_json(EVENTS))
    assert [type(event) for event in arrived] == [type(event) for event in EVENTS]
    assert json.dumps([event.plain() for event in arrived]) == json.dumps([event.plain() for event in EVENTS])


def test_a_newer_version_is_understood() -> None:
    """Unknown parts of its messages are left out."""
    written = json.dumps([["Token", {"speaker": "s", "text": "x", "mood": "merry"}], ["Dance", {"step": 1}]])
    assert events_of(written) == [Token(speaker="s", text="x")]


def test_a_turn_arrives_as_it_was() -> None:
    """With what its files hold."""
    turn = Turn(
        thread="t",
        text="look",
        user="u",
        quoted=[{"kind": "file", "by": "a.txt", "text": "", "from_": "file"}],  # type: ignore[typeddict-item, typeddict-unknown-key]
        before=(Exchange("hi", "Hello."),),
        tools=(ClientTool("clock", "Tells the time.", {"type": "object"}),),
        contents=Contents(texts={"f": "words \ud800"}, pictures=[{"type": "image", "base64": "eA=="}]),
    )
    assert turn_of(turn_as_json(turn)) == turn


def test_a_turn_that_is_begun_anew_is_told_once() -> None:
    """A half answer is taken back; a complete message is not told again, a second message of the same words is."""
    start, first, end = TurnStart(text="hi"), Message(speaker="s", text="one"), TurnEnd(is_active=True, dialog=None)
    piece, asked = Token(speaker="s", text="tw"), ModelStart(speaker="s", model="m")
    retelling, told = Retelling(), list[Event]()
    pages: list[tuple[int, list[Event]]]
    pages = [(1, [start, asked, first, piece]), (2, [start]), (2, [first, asked, piece, first, end]), (3, [start, end])]
    for number, (attempt, events) in enumerate(pages):
        told += retelling.new_in(EventPage((attempt, number), events, "open"))
    back = Error(code=RETRY, text="")
    assert told == [start, asked, first, piece, back, asked, piece, first, end]


@pytest.mark.parametrize("workers", ["yes", "no"])
def test_a_worker_needs_its_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    """Without them it is one line."""
    monkeypatch.setenv("WORKERS", workers)
    assert main(["worker"]) == 2
    assert capsys.readouterr().err.startswith("python -m app: WORKERS: ")
    if workers == "yes":
        assert main(["serve", "--port", "0"]) == 2


def test_the_tables_of_the_engine_are_known() -> None:
    """A newer procrastinate needs its new migrations in `open_queue`, and then the name of the last one here."""
    assert max(path.name for path in MIGRATIONS.glob("*.sql")) == "03.04.00_50_post_add_retry_failed_job_procedure.sql"
