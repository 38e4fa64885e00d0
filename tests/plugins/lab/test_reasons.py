"""The reasons of the gate in words."""

import pytest

from agents.conversation.gate import weights
from app.assistant.recording import Decided, read_record
from app.plugins.lab.reasons import worded
from app.prices import Tokens
from prompts import languages, table

REASON = "score -4.86: foreign less own, question --, wQ=milk, b=^ add, p=milk|list, r=bread, b=^ $, sentence ."


def made(reason: str) -> Decided:
    """Return a decision of the gate."""
    return Decided("gate", "stay", None, reason, "gate")


def test_the_gate_says_why_no_observer_was_asked() -> None:
    """Its features stand in words, each once; a rule of it, and whatever others decided, is told as it is."""
    text = worded(made(REASON), "en")
    assert text.startswith("No observer was asked, because the message looks as if it stayed in the dialog.")
    for piece in ("“milk”", "“add”", "“milk – list”", "“bread” in the answer", "there are no words", "score -4.86"):
        assert piece in text
    assert "=" not in text
    assert "«milk»" in worded(made(REASON), "ru")
    assert "“milk”" in worded(made(REASON), "zh")
    assert worded(made("a plain answer"), "en") == "No observer was asked, because: a plain answer"
    assert worded(Decided("undo", "stay", None, "score 1: own", "free"), "en") == "score 1: own"


@pytest.mark.parametrize("lang", languages())
def test_every_feature_has_words(lang: str) -> None:
    """What the weights of the gate look at can be said."""
    phrases = table("lab/phrases", lang)["gate"]
    named = {name.partition(" ")[0] for name in weights().weights if "=" not in name}
    assert named - {*phrases} == set()


def test_a_turn_that_was_taken_up_again_took_what_both_tries_did() -> None:
    """The tokens of a failed try count as well; an older record has none."""
    tries = (
        '{"status": "failed", "used": {"a": {"calls": 1, "input": 5}, "b": {"calls": 1}}}\n'
        '{"status": "done", "is_resumed": true, "used": {"a": {"calls": 2, "input": 1, "output": 3}}}'
    )
    assert read_record("hi", tries).took == Tokens(calls=4, input=6, output=3)
    assert read_record("hi", '{"status": "done"}').took == Tokens()
