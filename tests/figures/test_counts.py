"""The costs of a conversation, counted on the 30-turn script and on long ones that repeat its middle."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agents.conversation.prompt import Prompting
from agents.models.window import PLAIN
from agents.toolkit.tool_search import tool_searches
from app.composition import discover
from app.testing.script import Asked
from benchmarks.conversation import TURNS, mean_length, script
from benchmarks.counts import OBSERVER, Calls, count, made_of, summary
from prompts import languages

pytestmark = pytest.mark.needs("planner", "profile")
MOST_CALLS = 40
MOST_OF_ALL, MOST_UNASKED = 56, 63
MOST_WATCHED = 0.5
MOST_CHARACTERS = 42_000
MOST_CONSTANT = 7_100
LEAST_REPEATED = 0.9
LONG, FIRST = 150, 100
BOUND = 4_000
"""Tokens of a history there, a quarter of what it may have: so a thread is long after a quarter of the turns."""
WAVE = 1.1
"""The most that a prompt's length may be, divided by the history's length before the turn."""


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    """The 30-turn script, performed."""
    return count(TURNS, Path(tmp_path_factory.mktemp("usual")))


def growing(call: Asked) -> int:
    """Return the characters of a prompt beside its role and tools, which are constant."""
    parts = made_of(call)
    return parts["history"] + parts["last message"]


def sizes(calls: Calls) -> str:
    """Return the calls and characters by role, for a failing test."""
    return "\n".join(json.dumps(row) for row in summary(calls))


def is_one_a_turn(calls: Calls) -> bool:
    """Tell whether no turn has two of these calls."""
    return len({*calls.turns}) == len(calls.turns)


def test_script_is_the_one_that_others_were_measured_on() -> None:
    """Begin, ten turns, switch, ten, back, six, leave; every third turn a tool; texts of about 100 characters."""
    steps = script()
    kinds = ["begin", *["continue"] * 10, "switch", *["continue"] * 10, "back", *["continue"] * 6, "leave"]
    assert [step.kind for step in steps] == kinds
    assert [place for place, step in enumerate(steps, 1) if step.exchange.query] == [*range(3, 28, 3)]
    assert mean_length(steps) == pytest.approx(100, abs=5)


def test_thirty_turns_take_40_calls(usual: Calls) -> None:
    """The first takeover costs two calls, every other turn one, a tool one more; a draft thrown away counts too."""
    assert len(usual.but(OBSERVER).asked) <= MOST_CALLS, sizes(usual)


def test_thirty_turns_take_56_calls_of_all_roles(usual: Calls) -> None:
    """Observers and drafts that are thrown away are included."""
    assert len(usual.asked) <= MOST_OF_ALL, sizes(usual)


def test_no_turn_asks_two_observers(usual: Calls) -> None:
    """So their votes in one call would save none."""
    assert is_one_a_turn(usual.by(OBSERVER)), sizes(usual)


@pytest.mark.slow
def test_thirty_turns_without_a_question_take_63_calls_of_all_roles(tmp_path: Path) -> None:
    """Behind an answer that asks nothing any message may be a new subject, so more of them ask the observers."""
    calls = count(TURNS, tmp_path, asks=False)
    assert len(calls.asked) <= MOST_UNASKED, sizes(calls)
    assert is_one_a_turn(calls.by(OBSERVER)), sizes(calls)
    assert calls.cost <= MOST_CHARACTERS, sizes(calls)


def test_observers_are_asked_less_than_every_second_turn(usual: Calls) -> None:
    """The gate lets plain answers pass."""
    assert len(usual.by(OBSERVER).asked) < MOST_WATCHED * TURNS, sizes(usual)


def test_thirty_turns_cost_what_42000_characters_cost(usual: Calls) -> None:
    """All prompts of all roles together, observers included; a part repeated from the last prompt costs a tenth."""
    assert usual.cost <= MOST_CHARACTERS, sizes(usual)


def test_a_prompt_repeats_all_of_the_one_before_it_in_the_turn(usual: Calls) -> None:
    """After a tool's result a provider's cache serves the whole earlier prompt."""
    assert usual.within == 1


def test_a_prompt_repeats_all_of_the_one_before_it_until_its_history_is_cut(usual: Calls) -> None:
    """Between turns as well: nothing that a speaker has read is taken out or put in later."""
    for speaker in ("profile", "planner"):
        asked = usual.by(speaker).asked
        assert all(after.prefix.startswith(before.prefix) for before, after in pairwise(asked)), sizes(usual)


@pytest.mark.parametrize("lang", languages())
def test_the_constant_part_of_a_prompt_is_short(lang: str) -> None:
    """A role and the schemas of its tools, as they go over the wire, have 7,100 characters at most."""
    prompting = Prompting(speakers := discover()[0], tool_searches(speakers))
    for speaker in prompting.speakers:
        schemas = json.dumps(prompting.tools(speaker, lang), ensure_ascii=False, separators=(",", ":"))
        assert len(prompting.role(speaker, lang)) + len(schemas) <= MOST_CONSTANT, speaker.name


@pytest.mark.slow
def test_a_long_thread_costs_no_more_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its histories are cut between turns, so that a cache serves most of each prompt, and all within a turn.

    A prompt holds a history of so many tokens at most, and what the turn adds; 3 turns take 4 calls, as in a short one.
    """
    monkeypatch.setattr("agents.conversation.context_window.DEAREST", BOUND)
    long = count(LONG, tmp_path)
    first = long.until(FIRST)
    assert first.repeated >= LEAST_REPEATED * first.characters, sizes(first)
    assert long.within == 1
    assert max(map(growing, long.asked)) <= WAVE * BOUND / PLAIN
    assert len(long.but(OBSERVER).asked) <= MOST_CALLS / TURNS * LONG * 1.03, sizes(long)
