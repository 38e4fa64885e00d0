"""The gate's guess for each message and its outcome: numbers alone, by which the gate is calibrated.

No text is kept here. A row goes with its message when a thread is forgotten.
"""

from dataclasses import asdict, dataclass

from agents.memory.connection import Session

TABLES = """
CREATE TABLE gate_log (
    letter INTEGER PRIMARY KEY, model TEXT NOT NULL, score REAL NOT NULL,
    watched INTEGER NOT NULL, leaves INTEGER NOT NULL);
"""
LOG = """
INSERT INTO gate_log (letter, model, score, watched, leaves)
VALUES (:letter, :model, :score, :watched, :leaves) ON CONFLICT (letter) DO UPDATE
SET model = excluded.model, score = excluded.score, watched = excluded.watched, leaves = excluded.leaves
"""
TAKE_BACK = """
UPDATE gate_log SET leaves = 0 WHERE letter = (SELECT max(id) FROM inbox WHERE thread = ? AND id < ?)
"""
KEPT = 20_000
"""Messages whose guesses are kept."""
PRUNE = "DELETE FROM gate_log WHERE letter <= ?"
ALL = "SELECT score, watched, leaves FROM gate_log WHERE model = ? ORDER BY letter"


@dataclass(frozen=True)
class Logged:
    """One guess and its outcome."""

    score: float
    watched: bool
    """Whether an observer decided. If not, only a handoff by the dialog could show that the guess was wrong."""
    leaves: bool


@dataclass(frozen=True)
class GateOutcome:
    """A turn's addition to the log."""

    logged: Logged | None = None
    model: str = ""
    takes_back: bool = False
    """Whether the user took back the change of subject of the turn before."""


def log(connection: Session, thread: str, letter: int, outcome: GateOutcome) -> None:
    """Write a turn's addition, inside the transaction that closes its message."""
    if outcome.takes_back:
        connection.execute(TAKE_BACK, (thread, letter))
    if guess := outcome.logged:
        connection.execute(PRUNE, (letter - KEPT,))
        connection.execute(LOG, {"letter": letter, "model": outcome.model, **asdict(guess)})


def logged(connection: Session, model: str) -> list[Logged]:
    """Return the guesses that were logged with these weights, oldest first."""
    rows = connection.execute(ALL, (model,)).fetchall()
    return [Logged(score, bool(watched), bool(leaves)) for score, watched, leaves in rows]
