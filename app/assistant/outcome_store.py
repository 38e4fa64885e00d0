"""Store the outcome of a message: answered, stopped by the user, or failed."""

import logging
from collections.abc import Set as AbstractSet
from typing import Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Overwrite

from agents.conversation.changes import Change, Update, waiting_views
from agents.conversation.persons import turn_to
from agents.conversation.prompt import heard_message
from agents.errors import DatabaseError, ModelUnavailable
from agents.events import Error, Event, Message
from agents.events.views import Notice
from agents.graph import Graph
from agents.memory import Memory
from agents.memory.deletions import Deletion
from agents.memory.inbox import TO, InboxEntry, TranscriptLine, now_ms
from agents.nodes.route import FRESH, PASSING
from agents.state import SUPERVISOR, State, holder_of, updated
from agents.state.history import dangling, mend, set_before, waiting_calls
from agents.state.message_notes import UNDO, notes_of
from agents.state.speaker_state import merge_talks
from app.assistant.fact_keeper import FactKeeper
from app.assistant.run import Run
from prompts import phrase

FAILURE = "llm failure"
"""The source of an apology, in the transcript."""
DONE_TOLD = "done_told"
"""The mark on the line of a stopped answer: its user got a notice of the work done by then."""
TERMINAL = "terminal"
"""The device of a visit on the command line. Its user is the operator, and gets the reason of a model's failure."""
OF_SETTINGS = ("key_refused", "unavailable")
"""The codes of failures that only the operator can mend."""
LOG = logging.getLogger(__name__)


class OutcomeStore:
    """Stores transcript and outcome of a message in one transaction, and leaves the thread ready for the next one."""

    def __init__(self, graph: Graph, memory: Memory, lang: str) -> None:
        self.graph, self.memory, self.lang = graph, memory, lang
        self.fact_keeper: FactKeeper | None = None

    async def close(self, run: Run, entry: InboxEntry, message_update: Update | None) -> list[Event]:
        """Store the outcome of a message; return the last events of one that was stopped or has failed."""
        if isinstance(run.failure, DatabaseError):
            # The message stays open until the database is in order.
            raise run.failure
        if run.failure is not None:
            return await self._failed(run, entry, run.failure)
        if run.stopped and not run.ended:
            return await self._stopped(run, entry, message_update or {})
        await self._store(run, entry, "done")
        return []

    async def _stopped(self, run: Run, entry: InboxEntry, message_update: Update) -> list[Event]:
        """Store the shown part of an answer that the user has stopped."""
        await self.memory.saver.save(*run.ending)
        run.ending.clear()
        shown = run.shown.rstrip()
        # The last step may have ended after all, without its events.
        untold = await self._untold(run, entry, await self._stored(run), has_failed=False)
        speaker = await self._end_here(run, entry, message_update, shown)
        message = Message(speaker=speaker, text=shown, interrupted=True, citations=run.citations, original=run.made)
        run.note_message(message)
        run.recording.note(message)
        await self._store(run, entry, "interrupted")
        return [*untold, message]

    async def _stored(self, run: Run) -> State:
        return cast(State, (await self.graph.aget_state(run.config)).values)

    async def _untold(self, run: Run, entry: InboxEntry, state: State, *, has_failed: bool) -> list[Event]:
        """Return the due views, and notices on writes and undos without a view.

        After a failure all waiting views are due. A user who stops an answer gets only the views of writes.
        """
        events = list[Event]()
        if state.get("heard", {}).get("id") != entry.message_id:
            return events
        due = {view["call"] for view in state.get("views", []) if has_failed or view["writes"]}
        shown = [message.text for message in run.messages if message.shown]
        for view in waiting_views(state):
            if view.call in due and view.text() not in shown:
                message = Message(speaker=holder_of(state), text=view.text(), shown=True)
                run.note_message(message)
                events += [view, message]
        calls = untold_calls(state, run.done) - due
        if self.fact_keeper and (
            what := await self.fact_keeper.untold(state, entry, calls, is_shared=run.context.is_shared)
        ):
            events.append(Notice(message=phrase("done_until_then", state["lang"], what=what)))
        events += [Notice(message=text) for text in untold_undos(state)]
        run.is_told = bool(events)
        for event in events:
            run.recording.note(event)
        return events

    async def hold(self, run: Run, entry: InboxEntry, message_update: Update | None, answer: str = "") -> None:
        """Store a message that no model answers: a person answers it, or a plug-in has given the `answer`.

        Open questions of tools stay open. `message_update` None: the state has the message already.
        """
        if message_update is not None:
            await self._end_here(run, entry, message_update, answer, keeps_questions=True)
        await self.memory.transcript.close(entry, "done", run.turn, self._lines(run, entry))

    async def _end_here(
        self, run: Run, entry: InboxEntry, message_update: Update, shown: str, *, keeps_questions: bool = False
    ) -> str:
        """Write the state as if the answer had ended with its shown part; return the answer's speaker."""
        stored, decided = await self._stored(run), {**run.context.decided}
        is_new = stored.get("heard", {}).get("id") != entry.message_id
        state = updated(updated(stored, message_update if is_new else {}), decided)
        own = turn_to(state, entry.user)
        state = cast(State, {**state, **own})
        speaker = run.speaker or state.get("dialog") or SUPERVISOR
        talk = state.get("talks", {}).get(speaker, {})
        pending = state.get("pending", []) if keeps_questions else []
        waiting = waiting_calls(pending)
        messages: list[AnyMessage] = talk.get("messages", [])
        change, texts = Change(state), [message.text for message in run.messages if message.shown]
        for view in waiting_views(state):
            if view.text() in texts:
                change.screen(view.title, view.numbered())
        results = {id: phrase(_ending(run, id), state["lang"]) for id in {*dangling(messages)} - waiting}
        messages = mend(messages, results, run.done)
        heard = heard_message(state["heard"], talk, state["lang"])
        additions: list[AnyMessage] = [*([heard] if heard else []), *([AIMessage(shown)] if shown.strip() else [])]
        # Only its answer may follow a call that waits for the user.
        messages = set_before(messages, additions) if dangling(messages) else [*messages, *additions]
        anew: dict[str, object] = {} if decided or not is_new else {**FRESH, **PASSING, "said": Overwrite([])}
        over: dict[str, object] = {
            **anew,
            "listener": None,
            "asked": [],
            "votes": Overwrite([]),
            "pending": pending,
            "views": [],
            "turn": run.turn,
        }
        talks_update = Overwrite(merge_talks(state.get("talks", {}), {speaker: {"messages": messages}}))
        update = {**message_update, **decided, **own, **over, **change.update, "talks": talks_update}
        await self.graph.aupdate_state(run.config, update, as_node="settle")
        return speaker

    async def _failed(self, run: Run, entry: InboxEntry, failure: Exception) -> list[Event]:
        """Apologise; the thread stays usable, and the same message id tries again from where it failed."""
        cause, is_operator = "", run.context.device == TERMINAL
        if isinstance(failure, ModelUnavailable):
            code: str = failure.trouble
            cause = failure.cause if is_operator and code != "spent" else ""
            LOG.warning("thread %s: %s", entry.thread, failure)
        else:
            code = "loop" if isinstance(failure, GraphRecursionError) else "internal"
            LOG.error("thread %s: turn failed", entry.thread, exc_info=failure)
        lang = run.state.get("lang") or self.lang
        # Names of settings mean nothing to people who cannot change them.
        facts = {"time": failure.until} if isinstance(failure, ModelUnavailable) and failure.until else {}
        text = phrase("sorry_settings" if code in OF_SETTINGS and not is_operator else f"sorry_{code}", lang, **facts)
        error = Error(code=code, text=f"{text} ({phrase('model_cause', lang, cause=cause)})" if cause else text)
        untold = await self._untold(run, entry, run.state, has_failed=True)
        run.recording.note(error)
        await self._store(run, entry, "failed", error)
        return [*untold, error]

    async def _store(
        self, run: Run, entry: InboxEntry, status: Literal["done", "failed", "interrupted"], error: Error | None = None
    ) -> None:
        if self.fact_keeper:
            # A message whose end is not stored is played again, and long-term memory gets its end again.
            await self.fact_keeper.of_turn(run.state, entry, run.turn, is_shared=run.context.is_shared)
        lines = self._lines(run, entry, error)
        # A turn that was stopped or failed does not show whether the guess was right.
        guess = run.guess.logged(run.state) if status == "done" else None
        forgets = run.state.get("forgets") if status == "done" else None
        beside = [*run.ending]
        if forgets:
            deletion = Deletion(entry.thread, entry.message_id, entry.user, forgets, run.state["lang"])
            beside.append(self.memory.forgettings.entering(deletion))
        await self.memory.transcript.close(entry, status, run.turn, lines, run.recording.text(status), guess, beside)
        run.ending.clear()

    def _lines(self, run: Run, entry: InboxEntry, error: Error | None = None) -> list[TranscriptLine]:
        """Return the transcript lines of the answer to a message."""
        to = {TO: entry.user} if run.context.is_shared else {}

        def line(speaker: str, text: str, at_ms: int, metadata: dict[str, object]) -> TranscriptLine:
            return TranscriptLine("assistant", speaker, text, run.turn, entry.message_id, at_ms, {**metadata, **to})

        lines = []
        for message, said_ms in zip(run.messages, run.said_ms, strict=True):
            facts: dict[str, object] = {
                "source": "llm" if entry.text is not None else "greeting",
                "original": message.original,
                "citations": [*message.citations],
                "unknown_sources": message.unknown_sources,
                "images": run.images if message is run.messages[0] else [],
            }
            metadata = {name: value for name, value in facts.items() if value}
            if message.interrupted:
                metadata |= {"interrupted": True, "interrupt_timestamp": run.stopped_ms, "original": message.original}
                metadata |= {DONE_TOLD: True} if run.is_told else {}
            lines.append(line(message.speaker, message.text, said_ms, metadata))
        if error is not None:
            original = {"original": run.made} if run.made.strip() else {}
            lines.append(line(SUPERVISOR, error.text, now_ms(), {"source": FAILURE, "code": error.code, **original}))
        return lines


def _ending(run: Run, call: str) -> str:
    """Return the name of the sentence for a call's progress at the stop of its run."""
    return "call_done" if call in run.done else "call_stopped" if call in run.begun else "call_behind"


def untold_calls(state: State, done: AbstractSet[str]) -> set[str]:
    """Return the calls without later words of their model; a stop took the results of the `done` ones."""
    histories = [talk.get("messages", []) for talk in state.get("talks", {}).values()]
    results = {
        message.tool_call_id for messages in histories for message in messages if isinstance(message, ToolMessage)
    }
    untold = {*done - results}
    for messages in histories:
        for message in reversed(messages):
            if isinstance(message, ToolMessage):
                untold.add(message.tool_call_id)
            elif isinstance(message, AIMessage) and message.text.strip():
                break
    return untold


def untold_undos(state: State) -> list[str]:
    """Return the notes to models on undos in this turn, where no words of the model follow."""
    texts = list[str]()
    for talk in state.get("talks", {}).values():
        notes_behind = list[str]()
        for message in reversed(talk.get("messages", [])):
            if isinstance(message, AIMessage) and message.text.strip():
                break
            if message.id == state["heard"]["id"]:
                texts += notes_behind[::-1]
                break
            if isinstance(message, SystemMessage) and notes_of(message).get("served") == UNDO:
                notes_behind.append(message.text)
    return [*dict.fromkeys(texts)]
