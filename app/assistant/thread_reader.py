"""The readable side of threads: their state, open questions, transcripts and records."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agents.conversation.persons import lang_of, name_of, seen_by
from agents.events import Event, Interrupt
from agents.memory.inbox import InboxEntry, TranscriptLine, lines_of
from agents.memory.preferences import Preferences
from agents.memory.thread_list import ThreadInfo
from agents.plugin import Plugin
from agents.state import State
from agents.toolkit.client_tools import waiting_for_client
from agents.toolkit.questions import ask, fits
from agents.toolkit.services import Takeover
from agents.toolkit.speaker import Silence, Speakers
from app.assistant.records import Record, Step, read_record
from app.assistant.thread_events import END, events_of, number_of, row_of
from app.assistant.turn_player import TurnPlayer
from app.extensions import plugins
from dialogs import Dialog


class ThreadReader:
    """Reads threads, for doors and commands; it changes none."""

    def __init__(self, player: TurnPlayer, speakers: Speakers) -> None:
        self.graph, self.memory, self.speakers = player.graph, player.memory, speakers
        self._player = player

    @property
    def dialogs(self) -> Mapping[str, str]:
        """The dialogs a user can go to, with their descriptions."""
        return {name: dialog.description for name, dialog in self.speakers.dialogs.items()}

    async def holder(self, thread: str) -> str:
        """Return the name of the person who holds a thread; empty if the assistant has it."""
        takeover = self._player.services.find(Takeover)
        return await takeover.holder(thread) if takeover else ""

    @property
    def parts(self) -> Mapping[str, Plugin]:
        """The plug-ins and the dialogs that are on, by name, with all that they declare."""
        return {**plugins(), **{speaker.name: speaker for speaker in self.speakers if isinstance(speaker, Dialog)}}

    async def state(self, thread: str, user: str | None = None) -> dict[str, Any] | None:
        """Return the state of a thread as plain data; None for an unknown one.

        Where several people write, it is the state of `user`; without one it is that of the last writer, with the
        states of all under `persons`.
        """
        values = await self._values(thread)
        if not values:
            return None
        held = {"held_by": await self.holder(thread) or None}
        if user is not None:
            return facts_of(thread, seen_by(values, user)) | {"lang": lang_of(values, user)} | held
        persons = {person: facts_of(thread, seen_by(values, person)) for person in values.get("persons", {})}
        return facts_of(thread, values) | held | ({"persons": persons} if persons else {})

    async def asked(self, thread: str) -> list[str]:
        """Return the users of a thread who have an open question of a tool before them."""
        values = await self._values(thread)
        people = [values.get("writer", thread), *values.get("persons", {})]
        return [user for user in dict.fromkeys(people) if seen_by(values, user).get("pending")]

    async def name(self, thread: str, user: str) -> str:
        """Return the name of a user in a thread that others read; empty in other threads."""
        values = await self._values(thread)
        return name_of(values, user) if user in values.get("persons", {}) else ""

    async def question(self, thread: str, user: str) -> Interrupt | None:
        """Return the open question of a tool to a user in a thread; None if there is none."""
        values = seen_by(await self._values(thread), user)
        pending = values.get("pending", [])
        return ask(pending[0], values["lang"]) if pending and not waiting_for_client(pending) else None

    async def asked_call(self, thread: str, user: str) -> str:
        """Return the id of the call that waits for a user's answer; empty if none does."""
        pending = seen_by(await self._values(thread), user).get("pending")
        return pending[0]["call"] if pending else ""

    async def fits(self, thread: str, user: str, text: str) -> bool:
        """Tell whether a tool waits for the user and the text, sent as a `CHOICE`, answers it."""
        values = seen_by(await self._values(thread), user)
        return bool(values.get("pending")) and fits(values["pending"][0], text, values["lang"])

    async def message(self, thread: str, id: str) -> InboxEntry | None:
        """Return a message of a thread as it was received, with its status."""
        return await self.memory.transcript.entry(thread, id)

    async def preferences(self, user: str) -> Preferences:
        """Return the preferences that a user has set."""
        return await Preferences.of(self.memory.store, user)

    async def last_message(self, thread: str, user: str) -> InboxEntry | None:
        """Return the last message of a user in a thread, with its status; None if there is none."""
        return await self.memory.transcript.last(thread, user)

    async def history(self, thread: str, user: str | None = None) -> list[TranscriptLine]:
        """Return a thread's transcript, oldest line first; with a user, only their messages and the answers to them."""
        lines = await self.memory.transcript.lines(thread)
        return lines if user is None else lines_of(user, lines)

    async def events(self, thread: str, after: int = 0) -> list[Event]:
        """Return the messages of a thread as events with lasting numbers: those behind the number `after`."""
        lines = await self.memory.transcript.lines(thread, after=row_of(after) - 1)
        if not lines or number_of(lines[-1].row, END) <= after:
            return []
        events = events_of(lines, await self._values(thread))
        return [event.model_copy(update={"thread": thread}) for event in events if event.seq > after]

    async def records(self, thread: str) -> list[Record]:
        """Return the records of a thread's turns, oldest first."""
        rows = await self.memory.transcript.records(thread)
        return [read_record(text, record or "") for _, text, record in rows]

    async def steps(self, thread: str, id: str | None = None) -> Mapping[str, Sequence[Step]]:
        """Return the recorded steps of a thread's turns, or of one turn, by the ids of their messages."""
        rows = await self.memory.transcript.records(thread, id)
        return {id: read_record(text, record).steps for id, text, record in rows if record}

    async def threads(self, user: str | None = None, prefix: str = "", *, most: int | None = None) -> list[ThreadInfo]:
        """List the threads in which a user has written, those whose names begin with `prefix`, or all.

        The one last written to stands first; at most `most` are listed.
        """
        return await self.memory.threads.infos(user, prefix, most=most)

    def silence(self, dialog: str | None) -> Silence:
        """Return the silence before a user is asked for a sign of life, in a dialog or (None) with the supervisor."""
        return (self.speakers.dialogs.get(dialog or "") or self.speakers.supervisor).silence or Silence()

    @property
    def shortest_silence(self) -> int:
        """The shortest silence in seconds after which a speaker asks the user; 0 if no speaker does."""
        dialogs = (None, *self.dialogs)
        return min((seconds for dialog in dialogs if (seconds := self.silence(dialog).seconds)), default=0)

    async def _values(self, thread: str) -> State:
        return cast(State, (await self._player.states.sound(thread)).values)


def facts_of(thread: str, values: State) -> dict[str, object]:
    """Return the content of a state, as plain data."""
    talks = values.get("talks", {})
    return {
        "thread": thread,
        "is_active": values.get("is_active", True),
        "dialog": values.get("dialog"),
        "paused": values.get("paused", []),
        "turn": values.get("turn", 0),
        "pending": [ask(question, values["lang"]).body() for question in values.get("pending", [])],
        "lang": values.get("lang"),
        "wishes": values.get("wishes", []),
        "forms": {name: talk["form"] for name, talk in talks.items() if talk.get("form")},
        "talks": {
            name: {**talk, "messages": len(talk.get("messages", [])), "lost": len(talk.get("lost", []))}
            for name, talk in talks.items()
        },
    }
