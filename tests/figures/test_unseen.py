"""Words that a history keeps as said by a speaker were seen by the user."""

import pytest
from langchain_core.messages import AIMessage

from agents.state import State
from app.testing.kept_replies import KeptReplies
from benchmarks.unseen import performed, row
from tests.support.parts import EVERY_DIALOG


@pytest.mark.needs(*EVERY_DIALOG)
def test_the_script_keeps_no_word_that_nobody_saw() -> None:
    """In the conversation that is counted everywhere each reply of a history stands in the transcript."""
    kept = performed(turns=24)
    assert len(kept.texts) > 20
    assert kept.unseen == set()


def test_a_word_that_nobody_saw_is_counted() -> None:
    """The count sees a reply, or the end of one, that only the model knows of."""
    kept = KeptReplies()
    said = [AIMessage("Good morning."), AIMessage("It is on.\nWho made it?"), AIMessage("")]
    state: State = {"talks": {"player": {"messages": [*said]}}}
    kept.note(state, ["Good morning.", "It is on."])
    assert kept.unseen == {"It is on.\nWho made it?"}
    assert row("talk", kept)["words unseen"] == 6
