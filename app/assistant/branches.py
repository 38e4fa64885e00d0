"""Branches of a thread: the conversation goes to an earlier turn, or to a left one, and on from there.

The writes of left turns are taken back, and the writes of the turns on the path are restored.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, PutOp
from langgraph.types import Overwrite

from agents.conversation.changes import Change, Update
from agents.conversation.migration import from_transcript
from agents.conversation.persons import BLANK, others_in
from agents.graph import Graph
from agents.memory import Memory
from agents.memory.inbox import InboxEntry, TranscriptLine, now_ms
from agents.memory.store import Namespace, namespace_of, namespace_of_thread
from agents.memory.undo_log import LEFT, LoggedWrite, ToolWrite
from agents.nodes.tools import remember_form
from agents.nodes.undo import UndoNode
from agents.state import SUPERVISOR, State, form_of, holder_of
from agents.state.message_notes import notes
from agents.state.person import OF_USER, Branch, UserMessage
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speakers
from app.assistant.run import config_of
from app.assistant.thread_states import ThreadStates
from app.assistant.turn import REMEMBERED, Exchange
from prompts import FALLBACK, phrase

MARK = "back_to"
"""The key in a checkpoint's metadata of the turn that the thread went back to."""
MOST_TURNS = 100_000
BEGINNING = ""
"""The id in place of a message before the first one."""


def parents_in(thread: str) -> Namespace:
    """Return the namespace of the parents of a thread's messages: for each, the message before it."""
    return namespace_of_thread(thread, "parents")


@dataclass(frozen=True)
class Branches:
    """The tree of a thread's turns. The caller of each method holds the thread."""

    graph: Graph
    states: ThreadStates
    memory: Memory
    speakers: Speakers
    context: Callable[[str, str], Context]
    """Returns the context of a thread and a user."""

    async def path(self, thread: str, message: str) -> list[str]:
        """Return the messages up to this one, oldest first. One without a kept parent follows the turn before it."""
        items = await self.memory.store.asearch(parents_in(thread), limit=MOST_TURNS)
        parents = {item.key: str(item.value["parent"]) for item in items}
        order = [id for id, _ in await self.memory.transcript.turns(thread)]
        parents = {**dict(zip(order[1:], order, strict=False)), **parents}
        path = list[str]()
        while message and message not in path:
            path.append(message)
            message = parents.get(message, BEGINNING)
        return path[::-1]

    async def left(self, thread: str) -> set[str]:
        """Return the messages whose turns the conversation has left; none where it has never gone back."""
        if not await self._store.asearch(parents_in(thread), limit=1):
            return set()
        at, turns = await self.at(thread), await self.memory.transcript.turns(thread)
        path, now = {*await self.path(thread, at)}, dict(turns).get(at, 0)
        # A turn behind the present one has failed, and is tried again.
        return {id for id, turn in turns if turn <= now and id not in path}

    async def at(self, thread: str) -> str:
        """Return the message of the conversation's present turn; empty in a new thread."""
        return _at(await self._values(thread))

    async def parent(self, thread: str, message: str) -> str | None:
        """Return the message before this one; None if that was not noted."""
        item = await self._store.aget(parents_in(thread), message)
        return str(item.value["parent"]) if item else None

    async def present(self, thread: str, message: str) -> str | None:
        """Return the message of the conversation's present turn; None if that turn does not follow the given message.

        Turns of other doors may lie between the two.
        """
        values = await self._values(thread)
        branch = values.get("branch")
        if branch and not branch["settled"]:
            return None
        present = current = _at(values)
        # Nobody may leave turns that several people have written.
        is_shared = bool(others_in(values, values.get("heard", {}).get("user", "")))
        path = list[str]()
        while current and current != message and await self.parent(thread, current) is None:
            path = path or await self.path(thread, current)
            path.pop()
            current = path[-1] if path else BEGINNING
        return present if current == message or is_shared else None

    async def go(self, thread: str, user: str, message: str, by: str, rest: Sequence[Exchange] = ()) -> str:
        """Go to the turn of a message and add the exchanges that came after it elsewhere.

        Returns the message of the conversation's new present turn. `by` is the message that goes on from there; the
        same message again, after a crash, continues the interrupted change.
        """
        before = (await self._values(thread)).get("branch")
        begun = before if before and before["by"] == by else None
        if begun and begun["settled"]:
            return begun["at"]
        path = await self.path(thread, message)
        values, config = await self._values_at(thread, path)
        present = await self._values(thread)
        heard: UserMessage = present.get("heard") or UserMessage(id=BEGINNING, text=None, source="message", user=user)
        turn = max([present.get("turn", 0), *(number for _, number in await self.memory.transcript.turns(thread))])
        if rest:
            messages = exchanged(thread, user, rest, turn + 1, by)
            if added := await self.memory.transcript.entry(thread, messages[0][0].message_id):
                turn = added.turn - 1
            else:
                await self.memory.transcript.restore(thread, messages, adds=True)
            turn, last = turn + len(rest), messages[-1][0]
            heard = UserMessage(id=last.message_id, text=None, source="message", user=user)
            parents = list[PutOp]()
            for entry, _ in messages:
                parent = {"parent": path[-1] if path else BEGINNING}
                parents.append(PutOp(parents_in(thread), entry.message_id, parent))
                path.append(entry.message_id)
            await self._store.abatch(parents)
            values = with_exchanges(values, rest)
        at = path[-1] if path else BEGINNING
        change = Change(cast(State, {**values, "turn": turn, "heard": heard}))
        remarks = begun.get("told", []) if begun else []
        change.put(branch=Branch(at=at, heard=heard["id"], by=by, done=[], settled=False, told=remarks))
        await self._write(config or config_of(thread), change.state)
        await self._settle(thread, user, {*path}, change)
        await self._write(config_of(thread), change.state)
        return at

    async def told(self, thread: str, by: str) -> list[str]:
        """Return the remarks for the user of a message on the turns that were left for it."""
        branch = (await self._values(thread)).get("branch")
        return branch.get("told", []) if branch and branch["by"] == by else []

    async def copy(self, source: str, message: str, target: str, rest: Sequence[Exchange] = ()) -> str:
        """Make a new thread of the turns up to a message, with their writes, as if of another person.

        Returns the last message of the new thread.
        """
        path = await self.path(source, message)
        numbers = dict(await self.memory.transcript.turns(source))
        entries, answers = list[tuple[InboxEntry | None, Sequence[TranscriptLine]]](), dict[str, list[TranscriptLine]]()
        for line in await self.memory.transcript.lines(source):
            if line.role == "assistant":
                answers.setdefault(line.message_id, []).append(line)
        for id in path:
            if entry := await self.memory.transcript.entry(source, id):
                entries.append((replace(entry, thread=target, user=target), answers.get(id, [])))
        values, _ = await self._values_at(source, path)
        turn = max((numbers.get(id, 0) for id in path), default=0)
        added = exchanged(target, target, rest, turn + 1)
        await self.memory.transcript.restore(target, [*entries, *added])
        last = added[-1][0].message_id if added else message
        heard = UserMessage(id=last, text=None, source="message", user=target)
        state = {**with_exchanges(values, rest), "turn": turn + len(rest), "heard": heard, "branch": None}
        change = Change(cast(State, {**state, "writer": target, "persons": {}}))
        await self._write(config_of(target), change.state)
        runtime, undo = self._runtime(target, target), UndoNode(self.speakers)
        writes = await self.memory.undo.writes(source, source)
        standing = [write for write in writes if write.message in path and write.undone_by not in path]
        for write in standing:
            await self.memory.undo.note(_write_of(write, target, target), write.record)
            await undo.redo(_formless(write), change, runtime)
        await self._remember(change, runtime, {write.speaker for write in standing})
        return last

    async def place(
        self, thread: str, user: str, state: State, path: Sequence[str], writes: Sequence[LoggedWrite]
    ) -> None:
        """Let a new thread begin with a state, and with the writes of the messages of a path."""
        for write in writes:
            await self.memory.undo.note(_write_of(write, thread, user), write.record)
        for logged, write in zip(await self.memory.undo.writes(thread, user), writes, strict=True):
            await self.memory.undo.mark(write.undone_by, logged)
        change = Change(cast(State, {**state, "branch": None}))
        await self._settle(thread, user, {*path}, change)
        await self._write(config_of(thread), change.state)

    async def _settle(self, thread: str, user: str, path: set[str], change: Change) -> None:
        """Take back all writes except those of a path's messages; note the writes that cannot be taken back."""
        runtime, undo = self._runtime(thread, user), UndoNode(self.speakers)
        done, changed = list[dict[str, object]](), list[LoggedWrite]()
        writes = await self.memory.undo.writes(thread, user)
        for write in reversed([write for write in writes if write.message not in path and not write.undone_by]):
            changed.append(write)
            taken, text, is_gone = await undo.take_back(_formless(write), change, runtime)
            if stale := taken.get("stale"):
                await self._tell(thread, change, phrase("undo_stale", change.state["lang"], items="; ".join(stale)))
            if is_gone or taken:
                await self.memory.undo.mark(LEFT, write)
            elif text:
                await self._tell(thread, change, text)
                done.append({"tool": write.tool, **{name: write.record.get(name) for name in ("args", "text")}})
        for write in writes:
            if write.message in path and write.undone_by and write.undone_by not in path:
                changed.append(write)
                _, what = await undo.redo(_formless(write), change, runtime)
                if what:
                    await self._tell(thread, change, phrase("branch_not_again", change.state["lang"], what=what))
                await self.memory.undo.mark("", write)
        await self._remember(change, runtime, {write.speaker for write in changed})
        if branch := change.state["branch"]:
            change.put(branch={**branch, "done": done, "settled": True})

    async def _tell(self, thread: str, change: Change, text: str) -> None:
        """Note a remark for the user, before the write that it concerns is marked as settled."""
        branch = change.state["branch"]
        if branch and text not in branch.get("told", []):
            change.put(branch={**branch, "told": [*branch.get("told", []), text]})
            await self._write(config_of(thread), change.state)

    async def _remember(self, change: Change, runtime: Runtime[Context], speakers: set[str]) -> None:
        """Keep the present forms of these speakers for later threads."""
        for speaker in self.speakers.remembered():
            place = namespace_of(runtime.context.user, "forms")
            if speaker.name in speakers and await self._store.aget(place, speaker.name):
                await remember_form(speaker, form_of(change.state, speaker.name), runtime.context, self._store)

    @property
    def _store(self) -> BaseStore:
        return self.memory.store

    def _runtime(self, thread: str, user: str) -> Runtime[Context]:
        return Runtime(context=self.context(thread, user), store=self._store, stream_writer=lambda _: None)

    async def _values(self, thread: str) -> State:
        return cast(State, (await self.states.latest(thread)).values)

    async def _values_at(self, thread: str, path: Sequence[str]) -> tuple[State, RunnableConfig | None]:
        """Return the state at the end of a path, with its checkpoint's config; without one, from the transcript."""
        numbers = dict(await self.memory.transcript.turns(thread))
        end = (await self.kept_turns(thread)).get(numbers.get(path[-1], 0)) if path else None
        if end:
            return cast(State, (await self.graph.aget_state(end)).values), end
        lines = [
            line for id in path[-REMEMBERED:] for line in await self.memory.transcript.lines(thread, message_id=id)
        ]
        values = await self._values(thread)
        rebuilt: Update = from_transcript(lines) if lines else {}
        talks = cast("dict[str, object]", rebuilt.get("talks", {}))
        blank = {**BLANK, **rebuilt, "talks": talks, "lang": values.get("lang", FALLBACK)}
        return cast(State, {**blank, **{name: values[name] for name in ("writer", "persons") if name in values}}), None

    async def kept_turns(self, thread: str) -> dict[int, RunnableConfig]:
        """Return the turns whose end is still stored, the latest first, each with the config of its last checkpoint."""
        configs: dict[int, RunnableConfig] = {}
        root: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        async for checkpoint in self.memory.saver.alist(root):
            turn = checkpoint.checkpoint["channel_values"].get("turn")
            # An input is stored before its turn begins, under the number of the turn before.
            begins = checkpoint.metadata.get("source") == "input" or MARK in checkpoint.metadata
            if isinstance(turn, int) and not begins:
                configs.setdefault(turn, checkpoint.config)
        return configs

    async def _write(self, config: RunnableConfig, state: State) -> None:
        """Write a state between two turns, over all that stands there."""
        over: dict[str, object] = {"listener": None, "asked": [], "votes": Overwrite([]), "said": Overwrite([])}
        marked: RunnableConfig = {**config, "metadata": {MARK: state["turn"]}}
        await self.graph.aupdate_state(
            marked, {**state, **over, "talks": Overwrite(state.get("talks", {}))}, as_node="settle"
        )


def _at(values: State) -> str:
    heard, branch = values.get("heard", {}).get("id", BEGINNING), values.get("branch")
    return branch["at"] if branch and branch["heard"] == heard else heard


def _write_of(write: LoggedWrite, thread: str, user: str) -> ToolWrite:
    """Return a write as one of another thread and user."""
    about = {name: getattr(write, name) for name in ("message", "speaker", "tool", "call")}
    return ToolWrite(thread=thread, user=user, **about)


def _formless(write: LoggedWrite) -> LoggedWrite:
    """Return a write without its changes of a form: each turn's state has its own form."""
    items = {kind: pairs for kind, pairs in write.record.get("items", {}).items() if kind != "form"}
    return replace(write, record={**write.record, "items": items}) if "items" in write.record else write


def exchanged(
    thread: str, user: str, rest: Sequence[Exchange], turn: int, by: str = ""
) -> list[tuple[InboxEntry, Sequence[TranscriptLine]]]:
    """Return exchanges from elsewhere as messages of a thread, whose turns begin with this number.

    Their ids are always the same before the same message (`by`).
    """
    messages = list[tuple[InboxEntry, Sequence[TranscriptLine]]]()
    for number, exchange in enumerate(rest, turn):
        id = uuid.uuid5(uuid.NAMESPACE_OID, f"{by} {number - turn}").hex if by else uuid.uuid4().hex
        at_ms, source = now_ms(), "greeting" if exchange.text is None else "llm"
        entry = InboxEntry(thread, id, user, exchange.text, exchange.source, turn=number, received_ms=at_ms)
        line = TranscriptLine("assistant", SUPERVISOR, exchange.answer, number, id, at_ms, {"source": source})
        messages.append((entry, [line] if exchange.answer else []))
    return messages


def with_exchanges(values: State, rest: Sequence[Exchange]) -> State:
    """Return a state whose speaker has the exchanges from elsewhere in its messages; it has no open question."""
    if not rest:
        return values
    change, messages = Change(cast(State, {**values, "pending": []})), list[AnyMessage]()
    for exchange in rest[-REMEMBERED:]:
        passed_on = {} if exchange.source in OF_USER else notes(passed_on=True)
        heard = [] if exchange.text is None else [HumanMessage(exchange.text, additional_kwargs=passed_on)]
        messages += [*heard, *([AIMessage(exchange.answer)] if exchange.answer else [])]
    change.add(holder_of(change.state), *messages)
    return change.state
