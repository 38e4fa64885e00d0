"""`--trace`: a turn as a tree."""

from collections.abc import Sequence
from io import StringIO
from itertools import count
from typing import Any

from rich.console import Console

from agents.events import (
    Error,
    Event,
    Handover,
    Message,
    ModelEnd,
    ModelStart,
    ModelThinking,
    Observed,
    SearchStep,
    Sources,
    Token,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
)
from app.doors.terminal.trace_tree import TraceTree


def tree(events: Sequence[Event], *, closed: bool = False) -> str:
    """Return the tree of these events, one tenth of a second apart."""
    screen = StringIO()
    ticks = count()
    view = TraceTree(Console(file=screen, width=120), lambda: next(ticks) / 10)
    for event in events:
        view.show(event)
    if closed:
        view.close()
    return screen.getvalue()


def test_a_turn_is_a_tree_with_times_tokens_verdicts_and_reasons() -> None:
    """Those who act are the branches; a call and its outcome are one leaf; a handoff begins anew."""
    spent: dict[str, Any] = {"input_tokens": 300, "cached_tokens": 200, "output_tokens": 20, "ms": 250}
    assert (
        tree(
            [
                TurnStart(turn=4, text="show me boots"),
                ModelStart(speaker="topic observer", model="small"),
                Observed(
                    observer="topic",
                    verdict="switch",
                    target="search",
                    reason="asks for goods",
                    by="observer",
                ),
                ModelEnd(speaker="topic observer", model="small", **spent),
                Handover(from_="orders", to="search", brief="wants boots"),
                ModelStart(speaker="search", model="big"),
                ToolStart(speaker="search", tool="find", args={"query": "boots"}, id="1"),
                ModelEnd(speaker="search", model="big", **spent),
                ToolEnd(speaker="search", tool="find", args={"query": "boots"}, id="1", object="3 hits", ms=12),
                Token(speaker="search", text="Three"),
                Message(speaker="search", text="Three\npairs."),
                TurnEnd(turn=4, is_active=False, dialog="search", model_calls=1, ms=1840),
            ]
        )
        == """\
turn 4 · 1.84 s · 1 model call · 600 tokens in (400 cached), 40 out · search listens
├── +0.10 s  user: show me boots
├── topic observer
│   ├── +0.20 s  asks small · 0.25 s · 300 tokens in (200 cached), 20 out
│   └── +0.30 s  switch -> search (observer) · asks for goods
├── +0.40 s  orders -> search · wants boots
└── search
    ├── +0.50 s  asks big · 0.25 s · 300 tokens in (200 cached), 20 out
    ├── +0.60 s  find(query='boots') = 3 hits · 12 ms
    └── +0.70 s  says: Three pairs.

"""
    )


def test_thinking_is_a_leaf_of_who_thinks() -> None:
    """A model that thinks is told below its speaker."""
    asked = ModelStart(speaker="supervisor", model="m")
    shown = tree([TurnStart(turn=1, text="hi"), asked, ModelThinking(speaker="supervisor", model="m")], closed=True)
    assert "+0.30 s  thinks" in shown


def test_the_steps_of_a_search_stand_below_its_call() -> None:
    """Each with what came of it and its time, also where calls run side by side."""
    shown = tree(
        [
            TurnStart(turn=1, text="hats"),
            ToolStart(speaker="research", tool="search", id="1"),
            ToolStart(speaker="research", tool="search", id="2"),
            SearchStep(speaker="research", id="1", step="choose", detail="documents", ms=0),
            SearchStep(speaker="research", id="1", step="collect", detail="4 documents for 1 queries", ms=12),
            Sources(id="1", sources={"0": {"title": "Hats", "url": "help/en#hats"}}),
            ToolEnd(speaker="research", tool="search", id="1", object="{}", ms=13),
        ],
        closed=True,
    )
    assert (
        """\
├── research
│   ├── +0.20 s  search() = {} · 13 ms
│   │   ├── +0.40 s  choose: documents · 0 ms
│   │   └── +0.50 s  collect: 4 documents for 1 queries · 12 ms
│   └── +0.30 s  calls search …
└── +0.60 s  sources: 0 Hats
"""
        in shown
    )


def test_a_turn_without_end_is_shown_as_far_as_it_came() -> None:
    """A turn that was cut off is printed with what is still running."""
    shown = tree([TurnStart(turn=1, text="hi"), ModelStart(speaker="supervisor", model="m")], closed=True)
    assert "turn 1 · not ended" in shown
    assert "asks m …" in shown


def test_texts_are_short_and_harmless() -> None:
    """A long text is cut to a line and loses its control characters; nothing is taken for markup."""
    shown = tree([TurnStart(text=f"\x1b[2J[red]{'x' * 500}"), Error(code="busy", text="no")], closed=True)
    assert "\x1b" not in shown
    assert "[red]" in shown
    assert "x" * 161 not in shown
    assert "error busy: no" in shown


def test_a_closed_view_prints_once() -> None:
    """A turn that ended is not printed again when the screen is closed."""
    shown = tree([TurnStart(turn=1, text="hi"), TurnEnd(turn=1, is_active=True, dialog=None)], closed=True)
    assert shown.count("turn 1") == 1
