"""Thinking in a reply's text is taken out while it streams."""

import random

import pytest

from agents.models.answer import AnswerText, answer_in


def streamed(text: str, pieces: random.Random, *, headless: bool = False) -> str:
    """Return the shown part of a text that comes in pieces of one to five characters."""
    reader, shown = AnswerText(headless=headless), ""
    while text:
        size = pieces.randint(1, 5)
        shown, text = shown + reader.feed(text[:size]), text[size:]
    return shown + reader.rest()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>So…</think>\n\nHello <b>there</b>", "Hello <b>there</b>"),
        ("<THINK>So…</Think>Hello", "Hello"),
        ("[THINK]So…[/THINK]Yes", "Yes"),
        ("◁think▷So…◁/think▷Yes", "Yes"),
        ("<|channel|>analysis<|message|>So…<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>", "Yes"),
        ("<think></think>OK", "OK"),
        ("First. <think>So…</think>Second.", "First. Second."),
        ("1 < 2 and a < b", "1 < 2 and a < b"),
        ("<think>Cut off in the mid", ""),
        ("A tag that never was: <thi", "A tag that never was: <thi"),
        ("No thinking", "No thinking"),
    ],
)
def test_only_the_answer_is_shown(text: str, answer: str) -> None:
    """Whatever the pieces, the thinking and its tags are left out and nothing else is."""
    assert {streamed(text, random.Random(seed)) for seed in range(50)} == {answer}


@pytest.mark.parametrize(
    ("text", "answer"), [("So…\n</think>\nHello", "Hello"), ("Hello, no thinking", "Hello, no thinking")]
)
def test_a_text_may_begin_inside_the_thinking(text: str, answer: str) -> None:
    """Some chat templates open the tag in the prompt: nothing is shown until it is closed, or the text is over."""
    assert {streamed(text, random.Random(seed), headless=True) for seed in range(50)} == {answer}


def test_thinking_that_was_not_expected_is_seen_when_it_closes() -> None:
    """A closing tag alone says that all before it was thinking: whoever showed it takes it back."""
    reader = AnswerText()

    assert reader.feed("So… </think>Hello") == "So… Hello"
    assert reader.unopened
    assert answer_in("So… </think>Hello") == "Hello"
    assert answer_in("<think>So…</think>Hello") == "Hello"
