"""The messages of a thread as events, for clients that read along: each has a number that no restart changes."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.conversation.persons import seen_by
from agents.events import Error, Event, Images, Interrupt, TurnEnd, TurnStart
from agents.memory.inbox import TO, TOLD, TranscriptLine
from agents.state import State
from agents.toolkit.questions import ask, worded
from app.assistant.short_term_memory import message_of

PLACES = 4
"""The number of event numbers for one line of the transcript."""
IMAGES, QUESTION, WORDS, END = range(PLACES)
"""The places of a line's events: pictures, the question in the line's text, the line itself, the end of its turn."""


def number_of(row: int, place: int = WORDS) -> int:
    """Return the number of an event of a line of the transcript, by the row of the line."""
    return row * PLACES + place


def row_of(number: int) -> int:
    """Return the row of the line of an event, by the event's number."""
    return number // PLACES


def events_of(lines: Sequence[TranscriptLine], state: State) -> Iterator[Event]:
    """Yield the last lines of a thread as events; a turn ends behind its last line.

    Tokens and tool events of an answer are only in the answer's own stream.
    """
    for line, following in pairwise([*lines, None]):
        if line is None:
            return
        present = seen_by(state, line.metadata[TO]) if TO in line.metadata else state
        is_present = line.turn == state.get("turn")
        parts: dict[int, Event] = {WORDS: _said(line)}
        if images := line.metadata.get("images"):
            parts[IMAGES] = Images(images=images)
        question = _question(present) if is_present else None
        if question and line.role == "assistant" and line.text == worded(question, present["lang"]):
            parts |= {QUESTION: question, WORDS: message_of(line).model_copy(update={"shown": True})}
        is_last = following is None or following.message_id != line.message_id
        if is_last and line.metadata.get("source") not in TOLD:
            dialog = present.get("dialog") if is_present else None
            parts[END] = TurnEnd(is_active=dialog is None, dialog=dialog, waiting=question is not None)
        for place in sorted(parts):
            facts = {"seq": number_of(line.row, place), "turn": line.turn}
            yield parts[place].model_copy(update=facts)


def _said(line: TranscriptLine) -> Event:
    if line.role == "user":
        return TurnStart(text=line.text, source=line.metadata.get("source", "message"))
    if code := line.metadata.get("code"):
        return Error(code=code, text=line.text)
    return message_of(line)


def _question(state: State) -> Interrupt | None:
    pending = state.get("pending")
    return ask(pending[0], state["lang"]) if pending else None
