"""Delete a thread, a user's part of a shared thread, a remembered form, or all data of a person."""

import logging
from dataclasses import dataclass, replace
from typing import cast

from langgraph.types import Overwrite

from agents.conversation.changes import Update
from agents.conversation.deletion import EVERYTHING, SETTINGS
from agents.conversation.persons import others_in, without, without_forms
from agents.errors import BrokenState, Undeleted, UsageError
from agents.graph import Graph
from agents.memory import Memory
from agents.memory.deletions import NOT_ALL, Deletion
from agents.memory.inbox import TOLD
from agents.state import State
from agents.toolkit.services import LongTermMemory, Services, Takeover
from agents.toolkit.speaker import Speakers
from app.assistant.run import config_of
from app.assistant.thread_states import ThreadStates
from app.assistant.turn import REMEMBERED

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Forgetter:
    """Deletes in one database. Each method waits for the running turns of the threads that it changes.

    An unreadable state prevents no deletion: it goes, with a line in the log.
    Each method raises UsageError when another process kept the database's log from being emptied: all rows are gone
    then, and their bytes go when that process closes the file. `thread` and `person` raise Undeleted when a plug-in
    fails to delete its rows; all else is gone then.
    """

    graph: Graph
    states: ThreadStates
    memory: Memory
    speakers: Speakers
    services: Services

    async def is_shared(self, thread: str, user: str) -> bool:
        """Tell whether a thread is not one person's alone: a group, or somebody else wrote there."""
        try:
            values = cast(State, (await self.states.sound(thread)).values)
        except BrokenState as broken:
            LOG.error("%s; its transcript alone tells who wrote there", broken)
            values = cast(State, {})
        return bool(others_in(values, user) or values.get("persons") or await self.writers(thread) - {user})

    async def writers(self, thread: str) -> set[str]:
        """Return the users who wrote in a thread."""
        return await self.memory.transcript.users_of(thread)

    async def thread(self, thread: str, *, keeps_people: bool = False) -> bool:
        """Remove every trace of a thread, and all data of its user if it has only one; False if there is none.

        `keeps_people` keeps the data of people.
        """
        return await self.memory.forget(thread, keeps_people=keeps_people)

    async def part(self, thread: str, user: str) -> bool:
        """Remove a user's messages in a thread and the answers to them; False if there were none."""
        async with self.memory.locks.hold(thread):
            values = await self._values(thread)
            is_known = user in {values.get("writer"), *values.get("persons", {})}
            await self._unlearn(user, thread=thread)
            if takeover := self.services.find(Takeover):
                await takeover.erase_part(thread, user)
            try:
                was_said = await self.memory.forget_part(thread, user)
            finally:
                if is_known:
                    await self._write(thread, {**without(values, user), **await self._heard(thread, values, user)})
        return was_said or is_known

    async def person(self, user: str) -> None:
        """Remove all data of a user, and their messages in every thread."""
        faults: list[UsageError | Undeleted] = []
        try:
            await self.memory.forget_person(user)
        except (UsageError, Undeleted) as fault:
            faults.append(fault)
        # The threads come last: by them a removal that was killed half-way is found again.
        for thread in await self.memory.transcript.threads_of(user):
            try:
                await (self.part(thread, user) if await self.is_shared(thread, user) else self.thread(thread))
            except (UsageError, Undeleted) as fault:
                faults.append(fault)
        await self.memory.forgettings.close_all(user)
        if faults:
            raise next((fault for fault in faults if isinstance(fault, Undeleted)), faults[0])

    async def form(self, user: str, dialog: str, field: str | None = None) -> None:
        """Remove a user's form of a dialog and the facts that observers noted, or one field of the form."""
        for thread in await self.memory.transcript.threads_of(user):
            async with self.memory.locks.hold(thread):
                if values := await self._values(thread):
                    await self._write(thread, without_forms(values, user, {dialog}, field))
        await self._unlearn(user, dialog=dialog, field=field or "")
        await self.memory.forget_form(user, dialog, field)

    async def learnt(self, user: str) -> None:
        """Remove the facts from a user's conversations: those kept at their ends, and remembered forms."""
        for kept in self.services.every(LongTermMemory):
            await kept.clear(user)
        for dialog in self.speakers.remembered():
            await self.form(user, dialog.name)

    async def _unlearn(self, user: str, *, thread: str | None = None, dialog: str = "", field: str = "") -> None:
        for kept in self.services.every(LongTermMemory):
            await kept.erase(user, thread=thread, dialog=dialog, field=field)

    async def carry_out(self, deletion: Deletion) -> Deletion:
        """Carry out a deletion that the user has agreed to, unless it is done; a killed process may have begun it.

        Returns what was deleted.
        """
        # No thread's name begins like this. A second process that waits here must not delete later messages.
        async with self.memory.locks.hold(f"\0forget {deletion.user}"):
            if await self.memory.forgettings.of(deletion.thread, deletion.message_id) != deletion:
                return deletion
            done = deletion
            try:
                await self.forget(deletion.user, deletion.what)
            except UsageError:
                # All rows are gone; only their bytes wait for another reader of the file to close it.
                pass
            except Undeleted:
                done = replace(deletion, what=NOT_ALL)
            if deletion.what != EVERYTHING:
                # An undo after it must not reach for an older write.
                await self.memory.undo.note_forgotten(deletion.thread, deletion.user, deletion.message_id)
            await self.memory.forgettings.close(done)
            return done

    async def forget(self, user: str, what: str) -> None:
        """Remove the data that the user has named, in the terms of `agents.conversation.deletion`."""
        if what == EVERYTHING:
            await self.person(user)
        elif what in SETTINGS:
            await self.memory.forget_setting(user, what)
        else:
            dialog, _, field = what.partition(".")
            await self.form(user, dialog, field or None)

    async def _heard(self, thread: str, values: State, user: str) -> Update:
        """Return the update of `heard` if the thread's last message was the user's: the last remaining message."""
        if values["heard"].get("user", user) != user:
            return {}
        lines = await self.memory.transcript.lines(thread, limit=REMEMBERED)
        message_ids = [line.message_id for line in lines if line.metadata.get("source") not in TOLD]
        return {"heard": {"id": message_ids[-1] if message_ids else "", "text": None, "source": "message", "user": ""}}

    async def _write(self, thread: str, update: Update) -> None:
        """Change the state of a thread between two turns; no former state of it stays."""
        over: dict[str, object] = {"listener": None, "asked": [], "views": [], "agreed": None}
        anew = {"votes": Overwrite([]), "said": Overwrite([]), "talks": Overwrite(update["talks"])}
        await self.graph.aupdate_state(config_of(thread), {**update, **over, **anew}, as_node="settle")
        await self.memory.saver.aprune([thread])

    async def _values(self, thread: str) -> State:
        """Return the state of a thread that the caller holds."""
        snapshot, _ = await self.states.mended(thread)
        return cast(State, snapshot.values)
