"""The play of one message: it is answered, repeated, or resumed after a crash or a failure."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast
from zoneinfo import ZoneInfo

from langgraph.graph import START
from langgraph.store.base import Op
from langgraph.types import StateSnapshot

from agents.conversation.changes import Update
from agents.conversation.persons import lang_of, others_in, seen_by
from agents.errors import DatabaseError
from agents.events import REBUILT, Error, Event, Forgetting, Images, Message, ModelEnd, TurnEnd, TurnStart
from agents.events.views import Notice
from agents.foreign import contained
from agents.graph import Graph
from agents.hooks import around
from agents.language.text.clean import whole
from agents.memory import Memory
from agents.memory.inbox import TOLD, InboxEntry, TranscriptLine
from agents.memory.notices import NoticeSource
from agents.memory.preferences import Preferences, machine_zone
from agents.models import FREE, Models
from agents.nodes.ask import request_of
from agents.plugin import AroundTurn, Events, TurnRequest
from agents.sources.attachments import Contents
from agents.state import State
from agents.state.limits import Limits
from agents.state.verdict import Ballot, read_votes
from agents.toolkit.client_tools import client_tools, waiting_for_client
from agents.toolkit.context import Budgets, Context, TurnUsage
from agents.toolkit.help import HelpChain
from agents.toolkit.questions import ask, worded
from agents.toolkit.services import Services
from app.assistant.outcome_store import DONE_TOLD, OutcomeStore
from app.assistant.run import EventSequencer, Run
from app.assistant.short_term_memory import message_of
from app.assistant.system_messages import SystemMessages
from app.assistant.thread_states import RESUMED, Progress, ThreadStates, progress_of
from app.assistant.turn import REMEMBERED, Languages, Turn, left_unanswered, metadata_of, told_unasked, update_for
from app.assistant.turn_queue import TurnQueue
from app.presentation.texts import shortened
from prompts import phrase

LOG = logging.getLogger(__name__)
LONG_WAIT = 3.0
"""Seconds of waiting for a place after which the user gets a notice."""
LONGEST_LEFT = 200
"""The most characters of an unanswered message in the notice to its user."""


@dataclass(eq=False, kw_only=True)
class TurnDependencies:
    """The parts with which turns are played."""

    memory: Memory
    models: Models
    help: HelpChain = field(default_factory=HelpChain)
    permissions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The permissions of each user; those of `*` are everybody's."""
    limits: Limits = field(default_factory=Limits)
    services: Services = field(default_factory=Services)
    """The services of dialogs and application for tools."""

    def context(self, thread: str, user: str, zone: ZoneInfo | None, device: str = "") -> Context:
        """Return the context of a new turn."""
        granted = self.permissions
        return Context(
            thread,
            user,
            self.models,
            now=self.memory.now,
            locks=self.memory.locks,
            ledger=self.memory.ledger,
            undo=self.memory.undo,
            notes=self.memory.notes,
            zone=zone or machine_zone(),
            device=device,
            permissions=granted.get("*", frozenset()) | granted.get(user, frozenset()),
            help=self.help,
            limits=self.limits,
            services=self.services,
        )


@dataclass(eq=False)
class TurnPlayer(TurnDependencies):
    """Carries messages through the graph, one run at a time per thread; the caller holds the thread."""

    graph: Graph
    languages: Languages
    tells_metadata: bool = False
    """Whether some speaker's model reads the metadata of messages."""
    tool_names: frozenset[str] = frozenset()
    """The names of all tools of the speakers; no tool of a client may have one of them."""
    queue: TurnQueue = field(default_factory=TurnQueue)
    around_turn: Sequence[AroundTurn] = ()
    """The hooks of plug-ins around each answer, the first one outermost."""

    def __post_init__(self) -> None:
        self.states = ThreadStates(self.graph, self.memory.saver)
        self.outcomes = OutcomeStore(self.graph, self.memory, self.languages.default)
        self._runs: dict[str, Run] = {}

    @property
    def lang(self) -> str:
        """The language of a new thread."""
        return self.languages.default

    def stop(self, thread: str, user: str | None = None, *, after_tools: bool = False) -> bool:
        """Stop the running answer of a thread, of this user if one is named; False if there is none.

        `after_tools` lets running tools and a begun message come to their end; the model is not asked again.
        """
        run = self._runs.get(thread)
        if run is None or user not in (None, run.context.user):
            return False
        if run.place and not run.place.done():
            # It still waits for its place, and has nothing to bring to an end.
            run.stop()
            run.place.cancel()
        elif after_tools:
            run.stop_after_tools()
        else:
            run.stop()
        return True

    async def play(self, entry: InboxEntry, turn: Turn, sequencer: EventSequencer) -> AsyncGenerator[Event, None]:
        """Answer a message and yield the events, stamped; repeat the outcome of one that was answered before.

        `turn` is the message that a door has brought: this one, or one behind it.
        """
        snapshot, is_mended = await self.states.mended(entry.thread)
        if entry.status in ("done", "interrupted"):
            for event in await self._repeated(entry, seen_by(cast(State, snapshot.values), entry.user)):
                yield sequencer(event, entry.turn)
            return
        begun, progress = time.perf_counter(), progress_of(entry, snapshot)
        reads = list[Op]([Preferences.query(entry.user), SystemMessages.query(entry.thread)])
        [settings, given], lines = await self.memory.opening(entry.thread, reads)
        preferences = Preferences.read(settings)
        context = await self._context(entry, turn, snapshot, preferences, SystemMessages.read(given).texts)
        run = Run(self.graph, context, snapshot, is_resumed=progress in RESUMED)
        self._runs[entry.thread] = run
        try:
            update, remarks = None, list[Notice]()
            if progress is Progress.NEW:
                update = await self._update(entry, snapshot, turn, context, preferences.lang, lines)
                may_be_left = lines and (
                    lines[0].metadata.get("interrupted") or lines[0].metadata.get("source") in TOLD
                )
                # A user with the preference "steer" wants both messages answered at once.
                if may_be_left and preferences.busy != "steer":
                    remarks = await self._left(entry, update["lang"])
            lang = (update or run.state)["lang"]
            run.recording.begin(lang, context.device, resumed=progress in RESUMED)
            mended = [Error(code=REBUILT, text=phrase("state_rebuilt", lang))] if is_mended else []
            for event in (_start(entry), *_as_shown(run.messages, run.state, entry), *mended, *remarks):
                yield sequencer(event, run.turn)
            request = TurnRequest(entry, run.turn, run.context, update, is_resumed=progress in RESUMED)
            async with aclosing(self._hooked(run, request, progress)) as events:
                async for event in events:
                    yield sequencer(event, run.turn)
        finally:
            del self._runs[entry.thread]
            await context.spent.store()
            await self.memory.saver.save(*run.ending)
        ms = round((time.perf_counter() - begun) * 1000)
        end = _end(run.state).model_copy(update={"model_calls": run.model_calls, "ms": ms, "held_by": request.held_by})
        yield sequencer(end, run.turn)

    async def _hooked(self, run: Run, request: TurnRequest, progress: Progress) -> AsyncGenerator[Event, None]:
        """Answer a message within the hooks of plug-ins, one of which may answer in place of the graph."""
        entry, is_played = request.entry, False
        answers = list[str]()

        def kept(events: Events) -> Events:
            # The end of a turn closes every generator at once, the innermost one first.
            stack.push_async_callback(events.aclose)
            return events

        def play(request: TurnRequest) -> Events:
            nonlocal is_played
            is_played, run.context = True, request.context
            return kept(self._answer(run, request, progress))

        hooks = [lambda request, inner, hook=hook: kept(hook(request, inner)) for hook in self.around_turn]
        try:
            with contained():
                async with AsyncExitStack() as stack:
                    async for event in around(hooks, play)(request):
                        shown = _whole(event) if hooks else event
                        if not is_played and isinstance(shown, Message):
                            answers.append(shown.text)
                            run.note_message(shown)
                        yield shown
        except DatabaseError:
            raise
        except Exception as failure:
            for event in await self._after_hook(run, request, failure):
                yield event
            return
        if not is_played:
            # An answer that a crash left half made stays incomplete: no model is asked.
            update = None if progress is Progress.ENDED else request.update or {}
            await self.outcomes.hold(run, entry, update, "\n\n".join(answers))

    async def _after_hook(self, run: Run, request: TurnRequest, failure: Exception) -> list[Event]:
        """Store a turn whose hook has failed, and return its last events; a stored answer stays. The run is over."""
        entry = request.entry
        if run.closed:
            LOG.error("thread %s: a hook failed behind the end of the turn", entry.thread, exc_info=failure)
            return []
        run.failure = failure
        if request.update and progress_of(entry, await self.states.latest(entry.thread)) is Progress.NEW:
            # The state has heard the message, as when the graph's first step fails.
            await self.graph.aupdate_state(run.config, request.update, as_node=START)
        return await self.outcomes.close(run, entry, request.update)

    async def _answer(self, run: Run, request: TurnRequest, progress: Progress) -> AsyncGenerator[Event, None]:
        """Run the graph, unless it came to its end before, and store the outcome."""
        entry, update = request.entry, request.update
        async with aclosing(self._driven(run, update, progress)) as events:
            async for event in events:
                yield event
        request.outcome = "failed" if run.failure else "stopped" if run.stopped else "done"
        request.failure = run.failure
        last = await self.outcomes.close(run, entry, update)
        run.closed = True
        for event in (*run.held, *last):
            yield event
        if not last and progress in RESUMED and (what := run.state.get("forgets")):
            yield Forgetting(what=what)

    async def _driven(self, run: Run, update: Update | None, progress: Progress) -> AsyncGenerator[Event, None]:
        """Wait for a place, run the graph, and yield its events."""
        if progress is Progress.ENDED:
            return
        with self.queue.place(run.context.user) as run.place:
            async for notice in _waited(run.place, (update or run.state)["lang"]):
                yield notice
            async with aclosing(run.stream(update)) as events:
                async for event in events:
                    if isinstance(event, ModelEnd):
                        await run.context.spent.store()
                    yield event

    async def _left(self, entry: InboxEntry, lang: str) -> list[Notice]:
        """Return notices on messages before this one that a stop left unanswered."""
        recent = await self.memory.transcript.lines(entry.thread, limit=REMEMBERED)
        left = [line for line in left_unanswered(recent, entry.user) if line.text != entry.text]
        told_ids = {line.message_id for line in recent if line.metadata.get(DONE_TOLD)}
        writes = await self.memory.undo.writes(entry.thread, entry.user) if left else []
        begun = {write.message for write in writes if not write.is_undone}

        def remark(line: TranscriptLine) -> str:
            key = "left_half_done" if line.message_id in begun else "left_unanswered"
            key = "left_half_told" if line.message_id in told_ids else key
            return phrase(key, lang, text=shortened(" ".join(line.text.split()), LONGEST_LEFT))

        return [Notice(message=remark(line)) for line in left]

    async def budget(self, user: str, zone: ZoneInfo | None = None) -> TurnUsage:
        """Return the budget of a user's turn within the day's limits."""
        if (budgets := self.services.find(Budgets)) is None:
            return TurnUsage()
        is_paid = not any(model.name.startswith(FREE) for model in self.models)
        return await budgets.budget(user, zone or machine_zone(), is_paid=is_paid)

    async def begun(self, thread: str) -> str:
        """Return the id of the message that the graph last worked on in a thread; empty for none."""
        snapshot, _ = await self.states.mended(thread)
        return str(snapshot.values.get("heard", {}).get("id", ""))

    async def _repeated(self, entry: InboxEntry, state: State) -> list[Event]:
        """Return the events of an answered message: the message, the answers, and the open question."""
        lines = await self.memory.transcript.lines(entry.thread, message_id=entry.message_id)
        answers = [line for line in lines if line.role == "assistant"]
        images = [Images(images=line.metadata["images"]) for line in answers if line.metadata.get("images")]
        return [_start(entry), *images, *_as_shown([*map(message_of, answers)], state, entry), _end(state)]

    async def _context(
        self,
        entry: InboxEntry,
        turn: Turn,
        snapshot: StateSnapshot,
        preferences: Preferences,
        system_messages: Sequence[str],
    ) -> Context:
        written = [task.result.get("votes") for task in snapshot.tasks if task.result]
        votes_before_crash = [votes for votes in written if isinstance(votes, list)]
        # The machine's zone is read once: a link leads to it.
        zone = preferences.zone or machine_zone()
        return replace(
            self.context(entry.thread, entry.user, zone, turn.device),
            rings=turn.rings,
            has_failed=any(task.error for task in snapshot.tasks),
            is_interruptable=preferences.busy == "interrupt",
            is_shared=turn.is_group or bool(others_in(cast(State, snapshot.values), entry.user)),
            ballot=Ballot(read_votes(vote for vote in chain.from_iterable(votes_before_crash) if vote)),
            contents=turn.contents if turn.id == entry.message_id else Contents(),
            client_tools=client_tools(turn.tools, self.tool_names) if turn.id == entry.message_id else {},
            system_messages=system_messages,
            spent=await self.budget(entry.user, zone),
        )

    async def _update(
        self,
        entry: InboxEntry,
        snapshot: StateSnapshot,
        turn: Turn,
        context: Context,
        set_lang: str | None,
        lines: Sequence[TranscriptLine],
    ) -> Update:
        """Return the state update of a new message; `set_lang` is the language that the user has set.

        In a thread of one person whose transcript is not ahead of the state, the last transcript line is enough.
        """
        before = lang_of(cast(State, snapshot.values), entry.user)
        chosen = self.languages.choose(entry, set_lang or turn.lang, before)
        if context.is_shared or (lines and lines[-1].message_id != snapshot.values.get("heard", {}).get("id")):
            lines = await self.memory.transcript.lines(entry.thread, limit=REMEMBERED)
        name = turn.name if turn.owner == entry.user else ""
        update = update_for(entry, chosen, snapshot, lines, is_shared=context.is_shared, name=name)
        unasked = [line.message_id for line in told_unasked(lines)]
        sources = self.services.every(NoticeSource) if unasked else ()
        if any([await source.is_foreign(id) for source in sources for id in unasked]):
            update["heard"]["told"] = True
        if self.tells_metadata:
            update["heard"]["metadata"] = metadata_of(entry, lines, context, name)
        return update


async def _waited(place: asyncio.Future[None], lang: str) -> AsyncGenerator[Notice, None]:
    """Wait for a place; a user who waits long gets a notice."""
    if not place.done():
        await asyncio.wait([place], timeout=LONG_WAIT)
    if not place.done():
        yield Notice(message=phrase("turn_waits", lang))
        await asyncio.wait([place])


def _as_shown(messages: Sequence[Message], state: State, entry: InboxEntry) -> list[Event]:
    """Return the messages of a turn in their shown form: an open question with its options, views as text."""
    pending = state.get("pending")
    calls = waiting_for_client(pending or ())
    if calls and state["heard"]["id"] == entry.message_id:
        return [*messages, *map(request_of, calls)]
    if not messages or not pending:
        return [*messages]
    question = ask(pending[0], state["lang"])
    if messages[-1].text != worded(question, state["lang"]):
        return [*messages]
    return [*messages[:-1], question, messages[-1].model_copy(update={"shown": True})]


def _start(entry: InboxEntry) -> TurnStart:
    return TurnStart(text=entry.text, source=entry.source)


def _end(state: State) -> TurnEnd:
    holder = state.get("dialog")
    return TurnEnd(is_active=holder is None, dialog=holder, waiting=bool(state.get("pending")))


def _whole(event: Event) -> Event:
    """Return an event of a hook with texts that every door and database takes."""
    texts = {name: whole(text) for name, text in vars(event).items() if isinstance(text, str) and not text.isascii()}
    return event.model_copy(update=texts) if texts else event
