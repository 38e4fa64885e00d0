"""The ends of dialogs and threads: the facts found by then go to the services of long-term memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agents.memory import Memory
from agents.memory.inbox import TO, InboxEntry, now_ms
from agents.memory.undo_log import LoggedWrite
from agents.state import State, form_of
from agents.toolkit.confirmation import worded
from agents.toolkit.context import ToolState
from agents.toolkit.services import DialogEnd, Fact, LongTermMemory, Services
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tool_named
from agents.toolkit.traits import traits_of
from agents.toolkit.undo import FACTS, FORM, REMEMBER, field_value
from prompts import phrase


@dataclass(frozen=True)
class FactKeeper:
    """Gives the facts of an ended dialog to long-term memory, before the end is stored."""

    memory: Memory
    services: Services
    speakers: Speakers

    async def of_turn(self, state: State, entry: InboxEntry, turn: int, *, is_shared: bool) -> None:
        """Give the facts of the dialogs that a message has ended, and the writes that it has taken back."""
        talks = state.get("talks", {})
        settled = [name for name, talk in talks.items() if talk.get("settled") == entry.message_id]
        ended = [name for name in settled if talks[name].get("status") == "finished"]
        if settled:
            await self._tell(state, replace(entry, turn=turn), ended, is_shared=is_shared)

    async def of_thread(self, state: State, last: InboxEntry, *, is_shared: bool) -> None:
        """Give the facts of all dialogs of a stopped thread; `last` is the last message of the user."""
        await self._tell(state, last, [*self.speakers.dialogs], is_shared=is_shared)

    async def untold(self, state: State, entry: InboxEntry, calls: Collection[str], *, is_shared: bool) -> str:
        """Return a sentence on the writes of these calls that still stand, or an empty text."""
        writes = await self.memory.undo.writes(entry.thread, entry.user) if calls else []
        standing = (write for write in writes if not write.is_undone)
        own = [write for write in standing if write.call in calls and write.message == entry.message_id]
        if is_shared and own:
            return phrase("undo_count", state["lang"], count=len(own))
        return "; ".join(self._worded(write, state["lang"], has_forms=True) for write in own)

    async def _tell(self, state: State, entry: InboxEntry, ended: Sequence[str], *, is_shared: bool) -> None:
        keepers = self.services.every(LongTermMemory)
        writes = await self.memory.undo.writes(entry.thread, entry.user) if keepers else []
        standing = [write for write in writes if not write.is_undone]
        facts = self._in_forms(state, entry, standing, ended)
        if is_shared:
            # A form may have values from before others came. The writes of tools are the user's own.
            lines = await self.memory.transcript.lines(entry.thread)
            aloud = {line.message_id for line in lines if TO in line.metadata} | {entry.message_id}
            facts = [fact for fact in facts if fact.write.id and fact.write.message in aloud]
        elif ended:
            facts += self._of_tools(state, standing)
        ending = DialogEnd(
            thread=entry.thread,
            user=entry.user,
            lang=state["lang"],
            is_shared=is_shared,
            message=entry.message_id,
            turn=entry.turn,
            is_over=bool(ended),
            facts=facts,
            undone=[write.id for write in writes if write.is_undone],
        )
        for keeper in keepers:
            await keeper.keep(ending)

    def _in_forms(
        self, state: State, entry: InboxEntry, writes: Sequence[LoggedWrite], dialogs: Sequence[str]
    ) -> list[Fact]:
        """Return the values of forms, each with its last write."""
        fields = [(write, field) for write in writes for field in write.record.get("items", {}).get(FORM.name, {})]
        last = {(write.speaker, field): write for write, field in fields}
        unlogged = LoggedWrite(0, "", "", "", {}, entry.message_id, entry.turn, now_ms())
        values = {
            (name, field): field_value(name, field, value)
            for name in dialogs
            if name in self.speakers.dialogs
            for field, value in form_of(state, name).items()
        }
        return [
            Fact(
                key=f"form/{name}/{field}",
                kind=FORM.name,
                dialog=name,
                text=FORM.worded(value, state["lang"]) if value else "",
                write=last.get((name, field), unlogged),
            )
            for (name, field), value in values.items()
            if value or (name, field) in last
        ]

    def _of_tools(self, state: State, writes: Sequence[LoggedWrite]) -> list[Fact]:
        texts = {write.id: self._worded(write, state["lang"]) for write in writes}
        kinds = {write.id: next(iter(write.record.get("items", {})), "") for write in writes}
        return [
            Fact(key=f"write/{write.id}", kind=kinds[write.id], dialog=write.speaker, text=texts[write.id], write=write)
            for write in writes
            if texts[write.id]
        ]

    def _worded(self, write: LoggedWrite, lang: str, *, has_forms: bool = False) -> str:
        """Return the sentence on a tool's write; empty for a tool that is gone, and for a form unless `has_forms`."""
        speaker = self.speakers.successor(write.speaker) or self.speakers.supervisor
        tool = tool_named(write.tool, speaker, self.speakers)
        state: ToolState = {"lang": lang, "speaker": speaker.name}
        if tool and "args" in write.record:
            return worded(tool, write.record["args"], state)
        values = [
            kind.remembered(before if after is None else after, lang)
            for kind in ([FACTS] if write.tool == REMEMBER else traits_of(tool).items if tool else [])
            if has_forms or kind.name != FORM.name
            for before, after in write.record.get("items", {}).get(kind.name, {}).values()
        ]
        return f"{worded(tool, {}, state)}: {'; '.join(values)}" if tool and values else "; ".join(values)
