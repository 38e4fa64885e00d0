"""A thread in the lab: messages, decisions with their reasons, tool calls, and a replay with another model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.memory.feedback import Rating
from agents.memory.inbox import TranscriptLine
from agents.state import SUPERVISOR
from app.assistant import Assistant
from app.assistant.records import Answered, Decided, Record, Step, line_of
from app.composition import discover_checked
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall, case_of
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.folder import lab_folder, named_after
from app.plugins.lab.going_back import state_after
from app.plugins.lab.initial_state import DEVICE, beginning_of, first_of
from app.plugins.lab.mocks import recorded_mocks
from app.plugins.lab.played_turn import PlayedTurn, play
from app.plugins.lab.reasons import problem_text
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.turn_notes import TurnNote, notes_of
from app.plugins.lab.variants import LabVariant, staged_as
from app.presentation.texts import Reference, references
from app.settings import Settings


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """One turn of a thread, with its record, notes and ratings."""

    number: int
    """The number in the transcript; 0 for a message without an answer."""
    text: str | None
    answers: Sequence[TranscriptLine]
    record: Record
    is_kept: bool
    """Whether the state at the turn's end is stored, so that the thread can go back to it."""
    is_behind_kept: bool = False
    """Whether the state at the turn's beginning is stored."""
    id: str = ""
    """The id of the turn's message."""
    note: TurnNote = field(default_factory=TurnNote)
    ratings: Sequence[Rating] = ()
    """The users' ratings of the turn."""

    @property
    def steps(self) -> list[tuple[str, Step]]:
        """The steps with a line in a trace, and every decision, each with its line."""
        lines = []
        for step in self.record.steps:
            line = line_of(step)
            if line is None and isinstance(step, Decided):
                line = f"{step.observer} ({step.by}): {step.verdict}"
            lines += [(line, step)] if line else []
        return lines

    @property
    def decisions(self) -> list[Decided]:
        """The decisions on the active agent, with their makers and reasons."""
        return [step for step in self.record.steps if isinstance(step, Decided)]

    @property
    def sources(self) -> list[Reference]:
        """The sources of the answers, each once."""
        return references([citation for line in self.answers for citation in line.metadata.get("citations", [])])


async def view(assistant: Assistant, thread: str) -> tuple[dict[str, Any], list[TurnView]]:
    """Return the state of a thread now, and its turns. Raises UsageError: there is no such thread."""
    rows = await assistant.memory.transcript.records(thread)
    lines, state = await assistant.history(thread), await assistant.state(thread)
    if state is None and not lines:
        raise LabRefusal("no_thread", thread=thread)
    kept, records = await assistant.branches.kept_turns(thread), await assistant.records(thread)
    notes, ratings = await notes_of(assistant.memory.store, thread), await assistant.memory.feedback.of(thread)
    turns = []
    for (id, text, _), record in zip(rows, records, strict=True):
        own = [line for line in lines if line.message_id == id]
        number = max((line.turn for line in own), default=0)
        answers = [line for line in own if line.role == "assistant"]
        view = TurnView(number=number, text=text, answers=answers, record=record, is_kept=number in kept)
        rated = [rating for rating in ratings if rating.message_id == id]
        view = replace(view, is_behind_kept=number == 1 or number - 1 in kept)
        turns.append(replace(view, id=id, note=notes.get(id, TurnNote()), ratings=rated))
    return state or {}, turns


async def replay(settings: Settings, records: Sequence[Record], variant: LabVariant) -> list[tuple[Record, PlayedTurn]]:
    """Play the messages with another model, parameters or prompts, on an empty database; return the turns then and now.

    Tools that tell of the world outside give their recorded answers to calls with the same arguments; others fail.

    Raises:
        ConfigError: the model is wrong.
        UsageError: there is no message to play.
    """
    if not records:
        raise LabRefusal("thread_unrecorded")
    mocks = recorded_mocks(records, discover_checked(settings)[0])
    async with staged_as(settings, variant.model_copy(update={"mocks": (*variant.mocks, *mocks)})) as assistant:
        played = [await play(assistant, record.text, lang=record.lang or None) for record in records]
    return [*zip(records, played, strict=True)]


async def keep_case(assistant: Assistant, settings: Settings, thread: str) -> str:
    """Keep a thread as a case with the same beginning, and the user's data of that time; return its name.

    Raises UsageError: nothing of it can be played again.
    """
    records = await assistant.records(thread)
    case = case_of(records, discover_checked(settings)[0], problem_text("thread", thread=thread))
    if begins := await first_of(assistant, thread):
        own = {"begins": begins, "user": begins.user, "device": records[0].device or DEVICE}
        case = case.model_copy(update=own)
    return lab_folder().add("cases", named_after(thread), case)


async def keep_turn(assistant: Assistant, settings: Settings, thread: str, turn: int) -> str:
    """Keep one turn of a thread as a case with the state before it; the case expects its calls and its active agent.

    Raises UsageError: there is no such turn, it cannot be played again, or the state before it is not kept.
    """
    _, turns = await view(assistant, thread)
    record = next((it.record for it in turns if it.number == turn and it.record.is_playable), None)
    if record is None:
        raise LabRefusal("turn_unrecorded", turn=turn)
    begins, after = await beginning_of(assistant, thread, turn - 1), await state_after(assistant, thread, turn)
    answered = [step for step in record.steps if isinstance(step, Answered)]
    expected = Expected(
        calls=tuple(ExpectedCall(tool=step.tool, args=step.args) for step in answered if step.ok),
        holder=str(after["dialog"] or SUPERVISOR) if after else "",
        failed_tools=not all(step.ok for step in answered),
    )
    case = Case(
        about=problem_text("turn", thread=thread, turn=turn),
        lang=record.lang,
        user=begins.user,
        device=record.device or DEVICE,
        begins=begins,
        turns=(CaseTurn(user=record.text, expect=expected),),
        mocks=tuple(recorded_mocks([record], discover_checked(settings)[0])),
    )
    return lab_folder().add("cases", named_after(f"{thread} {turn}"), case)


async def desk_from(assistant: Assistant, thread: str, turn: int) -> DeskSession:
    """Return a session of the desk that begins with the end of a turn. Raises UsageError: the turn is not kept."""
    begins = await beginning_of(assistant, thread, turn)
    about, lang = problem_text("turn", thread=thread, turn=turn), str(begins.state["lang"])
    device = next((it.record.device for it in (await view(assistant, thread))[1] if it.number == turn), "")
    return DeskSession(about=about, lang=lang, user=begins.user, device=device or DEVICE, begins=begins)


def keep_mocks(settings: Settings, records: Sequence[Record], tools: Sequence[str]) -> list[str]:
    """Keep the answers of all tools, or of these, as mocks; return the names. Raises UsageError: none has answered."""
    mocks = recorded_mocks(records, discover_checked(settings)[0], volatile_alone=False)
    if not (chosen := [mock for mock in mocks if not tools or mock.tool in tools]):
        raise LabRefusal("no_result")
    return [lab_folder().add("mocks", named_after(mock.tool), mock) for mock in chosen]
