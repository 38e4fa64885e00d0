"""What came of the gate's guess in one turn, as its events tell."""

from agents.events import Guessed, Observed
from agents.memory.gate_log import Logged, Outcome
from agents.state.verdict import Kind

LEFT: tuple[Kind, ...] = ("switch", "supervisor")
"""The verdicts by which a message leaves the dialog. One that finishes it is not for another dialog."""
UNDO = "undo"
"""The decision by which the user takes the switch of the turn before back."""


class GuessOutcome:
    """Gather from the events of a turn whether the gate guessed right."""

    def __init__(self) -> None:
        self._guess: Guessed | None = None
        self._watched = self._leaves = self._takes_back = False

    def begin(self, guess: Guessed) -> None:
        """Take the guess itself."""
        self._guess = guess

    def note(self, event: Observed) -> None:
        """Take a decision on who holds the conversation."""
        self._takes_back = self._takes_back or (
            event.observer == UNDO and event.by == "free" and event.verdict == "switch"
        )
        if event.by in ("observer", "dialog"):
            self._watched = self._watched or event.by == "observer"
            self._leaves = self._leaves or event.verdict in LEFT

    def logged(self) -> Outcome | None:
        """Return what the log keeps of the turn; None if there is nothing to learn."""
        if self._guess is None:
            return Outcome(takes_back=True) if self._takes_back else None
        logged = Logged(self._guess.score, self._watched, self._leaves)
        return Outcome(logged, self._guess.model, self._takes_back)
