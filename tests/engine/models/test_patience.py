"""The longest wait of a user for a first word, whatever the models do: counted in simulated time."""

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.events import Event
from agents.models import Model
from agents.models.reply import Listener, reply
from app.testing.script import Line, Script, ScriptModel
from tests.support.simulated_time import now, simulated

TIMEOUT, SHARED = 60.0, 25.0
"""Seconds that a model may be silent, and that all tries after it have at least."""
SILENT = 1e6
BROKEN, REFUSED = TimeoutError("in mid-text"), ConnectionError("no such server")


@pytest.mark.parametrize(
    ("models", "tries", "seconds"),
    [
        pytest.param([(SILENT, "never")], 1, TIMEOUT, id="silent"),
        pytest.param([(SILENT, "never"), (SILENT, "never")], 2, TIMEOUT + SHARED, id="silent, both"),
        pytest.param([(0, REFUSED), (SILENT, "never")], 2, TIMEOUT, id="refused, then silent"),
        pytest.param([(59, REFUSED), (SILENT, "never")], 2, 59 + SHARED, id="refused late, then silent"),
        pytest.param([(0, BROKEN), (0, BROKEN)], 6, 0, id="always broken"),
        pytest.param([(20, BROKEN), (20, BROKEN)], 3, 60, id="broken late, both"),
        pytest.param([(50, BROKEN), (SILENT, "never")], 2, 50 + SHARED, id="broken late, then silent"),
    ],
)
def test_all_tries_together_are_bounded(models: list[tuple[float, Line]], tries: int, seconds: float) -> None:
    """However the tries of two models add up, the user is told within the time of one and what all tries share."""
    scripts = [Script(queues={"supervisor": [line] * 3}, delays={"supervisor": delay}) for delay, line in models]
    chain = [Model("m", ScriptModel(role="supervisor", script=script), first_seconds=TIMEOUT) for script in scripts]
    events: list[Event] = []

    async def ask() -> float:
        begun = now()
        with pytest.raises(ModelUnavailable):
            await reply(chain, [SystemMessage("You."), HumanMessage("hi")], [], Listener("supervisor", events.append))
        return now() - begun

    assert simulated(ask()) == pytest.approx(seconds, abs=1)
    assert seconds <= TIMEOUT + SHARED
    assert sum(len(script.asked) for script in scripts) == tries


@pytest.mark.parametrize(
    ("habits", "delay", "answers"),
    [({}, 100, True), ({}, 50, True), ({"slowest": 1.0}, 50, False), ({"slowest": 40.0}, 100, True)],
)
def test_a_cold_server_is_waited_for(habits: dict[str, float], delay: float, answers: bool) -> None:
    """A model that has not answered yet, or was slow before, may read its prompt for longer, cut connections included.

    What breaks off in the silence is asked for again: a server keeps what it has read of the prompt.
    """
    lines: list[Line] = ["Hello"] if delay > TIMEOUT else [BROKEN, BROKEN, "Hello"]
    script = Script(queues={"supervisor": lines}, delays={"supervisor": delay})
    chat = ScriptModel(role="supervisor", script=script)
    model = Model("m", chat, first_seconds=TIMEOUT, cold_seconds=300, habits=habits)

    async def ask() -> str:
        messages: list[AnyMessage] = [SystemMessage("You."), HumanMessage("hi")]
        return (await reply([model], messages, [], Listener("supervisor", lambda event: None))).text

    if answers:
        assert simulated(ask()) == "Hello"
    else:
        with pytest.raises(ModelUnavailable, match="busy"):
            simulated(ask())
