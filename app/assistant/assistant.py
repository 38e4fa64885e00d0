"""The entry for every door: `Assistant.play` takes a user message through the graph, once."""

import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

from agents.conversation.deletion import worded
from agents.conversation.persons import lang_of, seen_by
from agents.conversation.prompt import Prompting
from agents.errors import DatabaseError
from agents.events import Error, Event, Forgetting, Message, TurnEnd, TurnStart
from agents.foreign import contained
from agents.language.text.clean import whole
from agents.memory.deletions import Deletion
from agents.memory.inbox import TO, UNASKED, InboxEntry, TranscriptLine, now_ms
from agents.memory.notices import NoticeSource
from agents.memory.preferences import Preferences
from agents.models import Model
from agents.state import SUPERVISOR
from agents.state.limits import Limits
from agents.state.person import RESULT
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tools_of
from app.assistant.branches import Branches, parents_in
from app.assistant.clocks import Clock, Deliver
from app.assistant.fact_keeper import FactKeeper
from app.assistant.forgetter import Forgetter
from app.assistant.outcome_store import TERMINAL
from app.assistant.run import EventSequencer
from app.assistant.thread_events import number_of
from app.assistant.thread_reader import ThreadReader
from app.assistant.turn import Turn
from app.assistant.turn_player import TurnPlayer
from app.assistant.turn_queue import TurnQueue
from app.process.exit_codes import STORAGE
from app.security.rates import HourlyCount
from prompts import phrase

LOG = logging.getLogger(__name__)
NOT_TAKEN = ("message_long", "many_turns")
"""The codes of errors on messages that were not taken in; there is nothing to try again."""
MOST_ECHOED = 200
"""The most characters of a refused message in its first event."""


@dataclass
class PlayProgress:
    """The progress of a message's play, step by step; between two steps the thread is free."""

    sequencer: EventSequencer
    waiting: deque[InboxEntry] = field(default_factory=deque)
    due: Sequence[Deletion] = ()
    """The deletions that must happen before the next step."""
    ends: dict[str, TurnEnd] = field(default_factory=dict)
    """The ends of turns that delete something, by their messages."""
    is_over: bool = False


class Assistant(ThreadReader):
    """The conversation, for doors: play a turn, stop it, look at a thread, forget it."""

    def __init__(self, player: TurnPlayer, speakers: Speakers) -> None:
        super().__init__(player, speakers)
        self._prompting = Prompting(speakers)
        player.tool_names = frozenset(tool.name for speaker in speakers for tool in tools_of(speaker, speakers))
        player.tells_metadata = any(speaker.is_custom for speaker in speakers)
        self._turn_count = HourlyCount(player.limits.turns_per_hour)
        graph, states, memory = player.graph, player.states, player.memory
        self.forgetting = Forgetter(graph, states, memory, speakers, player.services)
        self.branches = Branches(
            graph, states, memory, speakers, lambda thread, user: player.context(thread, user, None)
        )
        self._fact_keeper = player.outcomes.fact_keeper = FactKeeper(player.memory, player.services, speakers)

    @property
    def services(self) -> Services:
        """The services that dialogs offer to tools and commands."""
        return self._player.services

    @property
    def limits(self) -> Limits:
        """The limits of one message, and of a user's messages."""
        return self._player.limits

    @property
    def lang(self) -> str:
        """The language of a new thread."""
        return self._player.lang

    @property
    def leading(self) -> Sequence[Model]:
        """The supervisor's model, and its fallbacks."""
        return self._player.models.chain(SUPERVISOR)

    @property
    def reads(self) -> bool:
        """Whether the supervisor's models read the parts beside a message, such as files and quotations."""
        return all(model.reads for model in self.leading)

    @property
    def sees(self) -> bool:
        """Whether one of the supervisor's models sees pictures."""
        return any(model.sees for model in self.leading)

    async def play(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Take one message through the conversation and yield its events, one turn at a time per thread.

        The same id again repeats the outcome and does nothing twice. A message of this thread that a crash
        left unanswered is answered first. Where the database fails, an apology says whether the message was stored.

        Raises:
            UsageError: the id was used before with another text.
        """
        try:
            self.memory.storage.check()
            if self.is_crowded(turn.owner) and not await self._is_stored(turn):
                text = phrase("sorry_crowded", await self._lang(turn))
                for event in await self._beside(turn, EventSequencer(turn.thread), Error(code="crowded", text=text)):
                    yield event
                return
            with self._player.queue.taken(turn.owner):
                async with aclosing(self._play(turn)) as events:
                    async for event in events:
                        yield event
        except (DatabaseError, OSError) as fault:
            LOG.error("thread %s: the database cannot be used: %s", turn.thread, fault)
            key = "sorry_storage" if await self._is_stored(turn) else "sorry_not_stored"
            sequencer = EventSequencer(turn.thread)
            lang = turn.lang or turn.door_lang or self._player.lang
            yield sequencer(Error(code=STORAGE, text=phrase(key, lang)), 0)
            yield sequencer(TurnEnd(is_active=True, dialog=None, waiting=False), 0)

    async def _is_stored(self, turn: Turn) -> bool:
        try:
            self.memory.storage.check()
            return await self.message(turn.thread, turn.id) is not None
        except (DatabaseError, OSError):
            return False

    async def _play(self, turn: Turn) -> AsyncGenerator[Event, None]:
        progress = PlayProgress(EventSequencer(turn.thread))
        while not progress.is_over:
            async with self.memory.locks.hold(turn.thread), aclosing(self._step(turn, progress)) as events:
                async for event in events:
                    yield event
            for deletion in progress.due:
                # It concerns many threads, and each must be free.
                done = await self.forgetting.carry_out(deletion)
                is_own = deletion.thread == turn.thread and deletion.user == turn.owner
                if is_own and deletion.message_id != turn.id:
                    end = progress.ends.get(deletion.message_id)
                    for event in await self._beside(
                        replace(turn, text=None), progress.sequencer, _forgotten(done), end
                    ):
                        yield event

    async def _step(self, turn: Turn, progress: PlayProgress) -> AsyncGenerator[Event, None]:
        """Answer the waiting messages, unless a deletion comes first; the caller holds the thread."""
        progress.due, deleted = await self.memory.forgettings.met(turn.thread, turn.owner, turn.id)
        if progress.due:
            return
        notice: Event | None = _forgotten(deleted) if deleted else None
        if not deleted and (refusal := self._refusal(turn)):
            notice = await self._refused(turn, *refusal)
        if notice:
            progress.is_over = True
            for event in await self._beside(turn, progress.sequencer, notice, progress.ends.get(turn.id)):
                yield event
            return
        for entry in progress.waiting:
            # The messages after the wish for a deletion were perhaps deleted with all the rest.
            await self.memory.transcript.accept(entry)
        if turn.after is not None:
            for event in await self._gone(turn, turn.after):
                yield progress.sequencer(event, 0)
        progress.waiting = deque(await self._due_with(turn))
        ended_before = len(progress.ends)
        async with aclosing(self._answered(turn, progress)) as events:
            async for event in events:
                yield event
        progress.is_over = len(progress.ends) == ended_before

    async def _gone(self, turn: Turn, after: str) -> list[Event]:
        """Bring the conversation to the turn that a message continues; return the remarks on the turns it leaves."""
        thread, stored = turn.thread, await self.message(turn.thread, turn.id)
        if await self.holder(thread) or (stored and stored.status not in ("open", "failed")):
            return []
        if stored is None:
            at = None if turn.before else await self.branches.present(thread, after)
            if at is None:
                for entry in await self.memory.transcript.open_entries(thread):
                    # A turn must be over before the conversation can leave it.
                    _ = [event async for event in self._player.play(entry, turn, EventSequencer(thread))]
                at = await self.branches.go(thread, turn.owner, after, turn.id, turn.before)
            await self.memory.store.aput(parents_in(thread), turn.id, {"parent": at})
        texts = await self.branches.told(thread, turn.id)
        return [await self.tell(thread, text, f"{turn.id}/{place}", turn.owner) for place, text in enumerate(texts)]

    async def _answered(self, turn: Turn, progress: PlayProgress) -> AsyncGenerator[Event, None]:
        """Answer messages in their order, up to the first that deletes something."""
        while progress.waiting:
            entry, forgets = progress.waiting.popleft(), False
            async with aclosing(self._player.play(entry, turn, progress.sequencer)) as events:
                async for event in events:
                    forgets = forgets or isinstance(event, Forgetting)
                    if forgets and isinstance(event, TurnEnd) and await self.forgets(entry.thread, entry.message_id):
                        progress.ends[entry.message_id] = event
                        return
                    # Another user's answer is shown when their own message is played.
                    if entry.user == turn.owner:
                        yield event

    @property
    def queue(self) -> TurnQueue:
        """The turns of this process."""
        return self._player.queue

    def is_crowded(self, user: str) -> bool:
        """Tell whether this process takes no further turn of a user; it still takes a stored one."""
        return self._player.queue.is_full(user)

    def refuses(self, turn: Turn) -> bool:
        """Tell whether a message is refused: it is too long, or its user has sent too many."""
        return self._refusal(turn) is not None

    async def _due_with(self, turn: Turn) -> list[InboxEntry]:
        """Return the messages to play for a message: its writer's open ones before it, and itself.

        Of other users, only the message that a crash left half done comes before. The caller holds the thread.
        """
        waiting = await self.memory.transcript.accept_in_order(turn.entry())
        if all(entry.user == turn.owner for entry in waiting):
            return waiting
        begun = await self._player.begun(turn.thread)
        return [entry for entry in waiting if entry.user == turn.owner or entry.message_id == begun]

    async def receive(self, turn: Turn, updates: Sequence[int] = ()) -> bool:
        """Store a message for a later play, also by another process; False if it was answered before.

        A message that `play` will refuse is not stored. `updates` are the message's rows of `memory.updates`; they are
        closed with it.

        Raises:
            UsageError: the id was used before with another text.
            DatabaseError: it could not be stored.
        """
        if await self.forgets(turn.thread, turn.id):
            # Its play reports the deletion again, and stores nothing.
            return True
        stored = await self.memory.transcript.entry(turn.thread, turn.id)
        if stored and stored.status not in ("open", "failed"):
            return False
        if stored or not (self._refusal(turn) or self.is_crowded(turn.owner)):
            await self.memory.transcript.accept(turn.entry(), updates)
        return True

    async def forgets(self, thread: str, id: str) -> bool:
        """Tell whether a message of the last day has agreed to a deletion."""
        return await self.memory.forgettings.of(thread, id) is not None

    async def extend(self, turn: Turn, updates: Sequence[int] = ()) -> bool:
        """Replace a received message whose turn has not begun; False if the new one is too long.

        `updates` are the rows of `memory.updates` that came to it.

        Raises:
            DatabaseError: it could not be stored.
        """
        if self._refusal(turn) is not None:
            return False
        return await self.memory.transcript.extend(turn.entry(), updates)

    def is_too_long(self, turn: Turn) -> bool:
        """Tell whether a message is refused for its length."""
        # The door limits the results of a client's tools.
        return turn.source != RESULT and len(turn.text or "") > self._player.limits.message_length

    async def unanswered(self, thread: str, device: str) -> list[Turn]:
        """Return the messages of a thread that a crash left unanswered, oldest first, for a door to play them again."""
        return [Turn.of(entry, device) for entry in await self.memory.transcript.open_entries(thread)]

    async def tell(self, thread: str, text: str, id: str, user: str | None = None, *, source: str = UNASKED) -> Message:
        """Store an unasked message, once per `id`, and return it; `user` is its recipient.

        The caller holds the thread (`memory.locks.hold`). The next speaker of the thread reads it.
        """
        to = {TO: user} if user not in (None, thread) else {}
        line = TranscriptLine("assistant", SUPERVISOR, text, 0, id, now_ms(), {"source": source, **to})
        stored = await self.memory.transcript.tell(thread, line)
        seq = number_of(stored.row)
        return Message(speaker=stored.speaker, text=stored.text, thread=thread, turn=stored.turn, seq=seq)

    async def speak(self, user: str, lang: str) -> None:
        """Speak a language with a user from now on, as if they had asked for it in words."""
        await Preferences(lang=lang).save(self.memory.store, user)

    async def greeting(self, user: str, lang: str) -> str:
        """Return the greetings of dialogs and plug-ins to a user who comes back, or an empty text."""
        greetings = list[str]()
        for name, part in self.parts.items():
            try:
                with contained():
                    greetings += [str(whole(await part.greeting(self.services, user, lang)))] if part.greeting else []
            except Exception:
                LOG.exception("the greeting of %s failed", name)
        return "\n\n".join(filter(None, greetings))

    @property
    def sources(self) -> list[NoticeSource]:
        """The sources of notices, which users get later: the engine's own, and those of dialogs."""
        return [self.memory.notices, *self.services.every(NoticeSource)]

    def ringing(self, deliver: Deliver, *, user: str | None = None) -> Clock:
        """Let the notices of one user, or of all, ring during a block."""
        return Clock(self.memory, self.sources, deliver, user=user)

    async def stop(self, thread: str, user: str | None = None, *, after_tools: bool = False) -> bool:
        """Stop the running answer of a thread; its `play` then ends with the shown text.

        With `user` only an answer to that user is stopped. Returns False if there is none. `after_tools` lets running
        tools and a begun message come to their end; the model is not asked again.
        """
        return self._player.stop(thread, user, after_tools=after_tools)

    @asynccontextmanager
    async def counted(self, user: str) -> AsyncIterator[Callable[[Event], None]]:
        """Yield a function that counts events of model calls outside turns towards the user's limits of the day.

        Raises:
            ModelUnavailable: a call would be over a limit; the function raises it.
        """
        spent = await self._player.budget(user)
        try:
            with self.queue.taken(user), self.queue.place(user) as place:
                await place
                yield spent.note
        finally:
            await spent.store()

    async def conclude(self, thread: str) -> None:
        """Keep the facts about all writers of a stopped thread in long-term memory; waits until the thread is free."""
        for person in await self.forgetting.writers(thread):
            is_shared = await self.forgetting.is_shared(thread, person)
            async with self.memory.locks.hold(thread):
                values, last = await self._values(thread), await self.memory.transcript.last(thread, person)
                if values and last:
                    await self._fact_keeper.of_thread(seen_by(values, person), last, is_shared=is_shared)

    def prompt(self, dialog: str | None, lang: str) -> str:
        """Return the system prompt of a dialog, or (None) of the supervisor; a dialog that is gone has none."""
        if dialog is not None and dialog not in self.dialogs:
            return ""
        return self._prompting.role(self.speakers[dialog or SUPERVISOR], lang)

    def _refusal(self, turn: Turn) -> tuple[str, int] | None:
        """Return the code and the limit of a message's refusal: for its length, or its user's number of messages."""
        limits = self._player.limits
        if self.is_too_long(turn):
            return "message_long", limits.message_length
        if turn.device != TERMINAL and not self._turn_count.admits(turn.owner, f"{turn.thread} {turn.id}"):
            return "many_turns", limits.turns_per_hour
        return None

    async def _refused(self, turn: Turn, code: str, most: int) -> Error:
        text = phrase(f"sorry_{code}", await self._lang(turn), length=len(turn.text or ""), most=most)
        return Error(code=code, text=text)

    async def _lang(self, turn: Turn) -> str:
        """Return the language of a notice on a message that is not played."""
        before = lang_of(await self._values(turn.thread), turn.owner) or turn.door_lang
        entry = replace(turn, text=turn.text and turn.text[:MOST_ECHOED]).entry()
        return self._player.languages.choose(entry, (await self.preferences(turn.owner)).lang or turn.lang, before)

    async def _beside(
        self, turn: Turn, sequencer: EventSequencer, notice: Event, end: TurnEnd | None = None
    ) -> list[Event]:
        """Return the events of a message that is not played, with the notice on it; nothing of it is stored.

        `end` ends a turn that has begun.
        """
        if end is not None:
            return [sequencer(notice, end.turn), sequencer(end, end.turn)]
        values = seen_by(await self._values(turn.thread), turn.owner)
        start = TurnStart(text=turn.text and turn.text[:MOST_ECHOED], source=turn.source)
        holder = values.get("dialog")
        end = TurnEnd(is_active=holder is None, dialog=holder, waiting=bool(values.get("pending")))
        return [sequencer(event, 0) for event in (start, notice, end)]


def _forgotten(deletion: Deletion) -> Message:
    return Message(speaker=SUPERVISOR, text=worded("forgotten", deletion.what, deletion.lang))
