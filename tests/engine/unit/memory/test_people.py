"""Whose lines of a transcript are whose."""

from agents.memory.inbox import TO, TranscriptLine, lines_of

ANN = TranscriptLine("user", "ann", "hello", 1, "m1", 1)
ANSWER = TranscriptLine("assistant", "supervisor", "Hi.", 1, "m1", 2)
BOB = TranscriptLine("user", "bob", "and I?", 2, "m2", 3)
REMINDER = TranscriptLine("assistant", "supervisor", "It is time.", 2, "n1", 4)


def test_a_thread_of_one_person_is_all_theirs() -> None:
    """Messages without a question before them are theirs too."""
    assert lines_of("ann", [ANN, ANSWER, REMINDER]) == [ANN, ANSWER, REMINDER]


def test_among_several_people_only_own_lines_are_theirs() -> None:
    """Those are their messages, the answers to these, and what was told to them by name."""
    line = TranscriptLine("assistant", "supervisor", "Ann, it is time.", 2, "n2", 5, {TO: "ann"})
    assert lines_of("ann", [ANN, ANSWER, BOB, REMINDER, line]) == [ANN, ANSWER, line]
