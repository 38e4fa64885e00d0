"""The node that takes back tools' writes, at the user's word."""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Sequence

from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime

from agents.conversation import switch
from agents.conversation.changes import Change, Update
from agents.language.text.vocabulary import is_said
from agents.memory.inbox import storable
from agents.memory.ledger import Doubtful, Write, WriteBusy
from agents.memory.undo_log import FORGOTTEN, LoggedWrite
from agents.nodes.tools import remember_form, tool_state
from agents.state import SUPERVISOR, State, form_of, holder_of, messages_of
from agents.state.history import last_reply
from agents.state.message_notes import UNDO, notes
from agents.toolkit.confirmation import worded
from agents.toolkit.context import Context, emitter
from agents.toolkit.context import Runtime as RuntimeOfTool
from agents.toolkit.result import Refused
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import tool_named
from agents.toolkit.traits import Done, Items, traits_of
from agents.toolkit.undo import FACTS, REMEMBER, UNDO_LAST, TakenBack, both, sentences, taken_back
from prompts import phrase

LOG = logging.getLogger(__name__)
TIMEOUT = 60
"""The most seconds of a function that takes a write back."""
LASTS = 24 * 3600
"""Seconds for which the ledger remembers that a write was taken back."""
REDO, RECALL = "redo", "recall"
"""In `undoing`, in place of a message: do again what was just taken back; tell what was written last."""


class UndoNode:
    """Take back the writes of one message, the latest first, and tell the user the outcome."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the answer, with the forms and the language as they were before."""
        if state["undoing"] in (REDO, RECALL):
            change = Change(state)
            await (self._redone if state["undoing"] == REDO else self._recalled)(change, runtime)
            return change.emit(runtime)
        context, message, id = runtime.context, state["undoing"] or None, state["heard"]["id"]
        wrote, turn = state.get("wrote", -1), state["turn"]
        if is_called := message == UNDO_LAST:
            message = id if wrote == turn else None
        # "Bring it back" never removes an item.
        gone = message is None and is_said("bring_back", state["heard"]["text"] or "")
        if message is None and not (gone or is_called) and (old := await self._old(change := Change(state), runtime)):
            switch.answer(change, phrase("undo_old", state["lang"], items=old), holder_of(state), UNDO)
            change.put(undoing=None, undo_asked=True)
            return change.emit(runtime)
        log = context.undo
        is_old = is_called and wrote < turn - 1
        writes = await log.claim(context.thread, context.user, id, message, gone=gone) if log and not is_old else []
        total: TakenBack = {}
        texts, change, writers = list[str](), Change(state), {self._owner(write)[0].name for write in writes}
        for write in writes:
            taken, text, _ = await self.take_back(write, change, runtime)
            total = both(taken, total)
            texts += [text] if text else []
        lang = change.state["lang"]
        answer = "\n".join(dict.fromkeys([*sentences(total, lang), *texts]))
        if not answer and (message is None or is_called):
            answer = phrase("undo_nothing_gone" if gone else "undo_nothing", lang)
        if answer:
            self._tell(change, answer, writers, is_undone=bool(writes))
        for name in writers:
            change.talk(name, settled=id)
        change.put(undoing=None, undo_asked=False)
        if writes:
            change.put(undid=turn, last_done=None)
        return change.emit(runtime)

    async def _old(self, change: Change, runtime: Runtime[Context]) -> str:
        """Return the last writes in words, if the user has to be asked first: they are more than a turn old."""
        context, state = runtime.context, change.state
        if state.get("undo_asked") or state.get("undid", -1) >= state["turn"] - 1 or context.undo is None:
            return ""
        logged = await context.undo.writes(context.thread, context.user)
        if storable(state["heard"]["id"]) in {it.undone_by for it in logged}:
            # An undo that was cut off goes on: its outcome is told.
            return ""
        turn, items = self._last(logged, change, runtime)
        return items if 0 < turn < state["turn"] - 1 else ""

    def _last(self, logged: Sequence[LoggedWrite], change: Change, runtime: Runtime[Context]) -> tuple[int, str]:
        """Return the turn of the last writes that stand, and these in words; no words if they can't be taken back."""
        standing = [it for it in logged if not it.is_undone]
        if not standing or standing[-1].tool == FORGOTTEN:
            return 0, ""
        last = standing[-1]
        texts = [text for it in standing if it.message == last.message for text in self._items(it, change, runtime)]
        is_shared, lang = runtime.context.is_shared, change.state["lang"]
        return last.turn, phrase("undo_count", lang, count=len(texts)) if is_shared else "; ".join(texts)

    async def _recalled(self, change: Change, runtime: Runtime[Context]) -> None:
        """Tell what was written last, and ask whether it shall be taken back."""
        context, lang = runtime.context, change.state["lang"]
        logged = await context.undo.writes(context.thread, context.user) if context.undo else []
        _, items = self._last(logged, change, runtime)
        text = phrase("undo_recalled", lang, items=items) if items else phrase("undo_nothing", lang)
        if change.state.get("undid") == change.state["turn"] - 1:
            # The undo itself was last.
            reply, items = last_reply(messages_of(change.state, holder_of(change.state)), in_words=True), ""
            text = reply.text if reply else text
        switch.answer(change, text, holder_of(change.state), UNDO)
        change.put(undoing=None, undo_asked=bool(items))

    async def _redone(self, change: Change, runtime: Runtime[Context]) -> None:
        """Do again what the turn before took back; name what has to be asked for anew."""
        context, state, log = runtime.context, change.state, runtime.context.undo
        logged = await log.writes(context.thread, context.user) if log else []
        writes = [write for write in logged if write.is_undone and write.undone_in == state["turn"] - 1]
        if not writes:
            # A process that was killed has marked them; its changes of the form are lost.
            standing = [write for write in logged if not write.is_undone]
            writes = [write for write in standing if write.message == standing[-1].message]
        total: TakenBack = {}
        texts, again = list[str](), list[LoggedWrite]()
        for write in writes:
            taken, what = await self.redo(write, change, runtime)
            total = both(total, taken)
            texts += [phrase("branch_not_again", state["lang"], what=what)] if what else []
            again += [] if what else [write]
        if log:
            await log.mark("", *again)
        items = [text for outcome, words in total.items() if outcome != "stale" for text in words]
        lines = [phrase("undo_again", state["lang"], items="; ".join(items))] if items else []
        lines += [*sentences({"stale": total.get("stale", ())}, state["lang"]), *dict.fromkeys(texts)]
        writers = {self._owner(write)[0].name for write in writes}
        self._tell(change, "\n".join(lines) or phrase("undo_nothing", state["lang"]), writers, is_undone=False)
        change.put(undoing=None, wrote=state["turn"], undid=state["turn"])

    def _items(self, write: LoggedWrite, change: Change, runtime: Runtime[Context]) -> list[str]:
        """Return the changes of a write, in words."""
        (speaker, tool), lang = self._owner(write), change.state["lang"]
        kinds = kinds_of(write, tool)
        pairs = [
            (items, pair) for items in kinds for pair in write.record.get("items", {}).get(items.name, {}).values()
        ]
        texts = [
            items.worded(value, lang) for items, (before, after) in pairs if (value := after or before) is not None
        ]
        if texts or tool is None:
            return texts or [write.tool]
        return [worded(tool, write.record.get("args", {}), self._runtime(write, speaker, change, runtime).state)]

    async def take_back(
        self, write: LoggedWrite, change: Change, runtime: Runtime[Context]
    ) -> tuple[TakenBack, str, bool]:
        """Take one write back; return its items by outcome, a function's words, and whether nothing of it is left."""
        speaker, tool = self._owner(write)
        if write.tool == FORGOTTEN:
            return {}, phrase("undo_forgotten", change.state["lang"]), False
        of_tool = self._runtime(write, speaker, change, runtime)
        if kinds := kinds_of(write, tool):
            taken = await _put_back(write, kinds, of_tool)
            await self._keep(change, speaker, of_tool)
            return taken, "", not taken.get("stale")
        text, is_done = await _inverted(write, tool, of_tool)
        return {}, text, is_done

    async def redo(self, write: LoggedWrite, change: Change, runtime: Runtime[Context]) -> tuple[TakenBack, str]:
        """Write the items of an undone write once more; return a call with an effect elsewhere in words instead."""
        speaker, tool = self._owner(write)
        of_tool = self._runtime(write, speaker, change, runtime)
        if kinds := kinds_of(write, tool):
            taken = await _put_back(write, kinds, of_tool, again=True)
            await self._keep(change, speaker, of_tool)
            return taken, ""
        return {}, worded(tool, write.record.get("args", {}), of_tool.state) if tool else ""

    def _runtime(
        self, write: LoggedWrite, speaker: Speaker, change: Change, runtime: Runtime[Context]
    ) -> RuntimeOfTool:
        visible, emit = tool_state(speaker, self.speakers, change.state), emitter(runtime)
        return ToolRuntime(
            visible, runtime.context, {}, stream_writer=emit, tool_call_id=write.call, store=runtime.store
        )

    def _owner(self, write: LoggedWrite) -> tuple[Speaker, BaseTool | None]:
        """Return the speaker whose tool has written, and the tool if it is still there."""
        speaker = self.speakers.successor(write.speaker) or self.speakers.supervisor
        return speaker, tool_named(write.tool, speaker, self.speakers)

    async def _keep(self, change: Change, speaker: Speaker, runtime: RuntimeOfTool) -> None:
        """Take over the undo's changes of the state: the form of a speaker, the language."""
        visible = runtime.state
        if visible["lang"] != change.state["lang"]:
            change.put(lang=visible["lang"])
        if speaker.form and visible["form"] != form_of(change.state, speaker.name):
            change.talk(speaker.name, form=visible["form"])
            await remember_form(speaker, visible["form"], runtime.context, runtime.store)

    def _tell(self, change: Change, answer: str, writers: Iterable[str], *, is_undone: bool) -> None:
        """Say the answer, and tell it to the speaker that leads and to those that had written.

        A model that has asked for the undo tells its outcome itself; `is_undone` if a write was taken back.
        """
        holder, undoing = holder_of(change.state), change.state["undoing"]
        if undoing == UNDO_LAST:
            writers = {*writers, holder}
            change.put(listener=holder)
        elif undoing not in ("", REDO):
            # The user's message goes on to the dialog to which they are back.
            change.say(SUPERVISOR, answer)
        else:
            # The question before it stays open.
            switch.answer(change, answer, holder, UNDO)
            writers = [name for name in writers if name != holder]
        for name in writers:
            # Its model may fail before it says so.
            is_untold = is_undone and undoing == UNDO_LAST
            change.add(name, SystemMessage(answer, additional_kwargs=notes(served=UNDO) if is_untold else {}))


def kinds_of(write: LoggedWrite, tool: BaseTool | None) -> Sequence[Items]:
    """Return the kinds of items that a write has entered; none for a call that enters none."""
    is_fact = write.tool == REMEMBER and "items" in write.record
    return [FACTS] if is_fact else traits_of(tool).items if tool else ()


async def _put_back(
    write: LoggedWrite, kinds: Sequence[Items], runtime: RuntimeOfTool, *, again: bool = False
) -> TakenBack:
    """Put the items of a write back as they were before it, or with `again` as it had left them."""
    total: TakenBack = {}
    for items in kinds:
        pairs = write.record.get("items", {}).get(items.name, {})
        changes = {key: (after, before) if again else (before, after) for key, (before, after) in pairs.items()}
        if changes:
            total = both(total, await taken_back(runtime, items, changes))
    return total


async def _inverted(write: LoggedWrite, tool: BaseTool | None, runtime: RuntimeOfTool) -> tuple[str, bool]:
    """Let the function of a tool take its write back, once; return the words for the user, and whether it is gone."""
    lang, record = runtime.state["lang"], write.record
    what = worded(tool, record.get("args", {}), runtime.state) if tool else write.tool
    inverse, ledger = traits_of(tool).inverse if tool else None, runtime.context.ledger
    if inverse is None or ledger is None:
        return phrase("undo_cannot", lang, what=what), False
    done = Done(record["args"], record["object"], record["text"])

    async def perform() -> str:
        async with asyncio.timeout(TIMEOUT):
            return await inverse(done, runtime)

    async def ready() -> None:
        return

    context, id = runtime.context, runtime.state["heard"]["id"]
    key = hashlib.sha256(f"undo {write.id}".encode()).hexdigest()
    own_write = Write(key=key, thread=context.thread, user=context.user, message=id, reply=id, how="once", lasts=LASTS)
    try:
        text = await ledger.once(own_write, perform, ready=ready, harmless=(Refused,))
    except Refused as refusal:
        return f"{phrase('undo_cannot', lang, what=what)} {refusal}".strip(), False
    except (Doubtful, WriteBusy):
        return phrase("undo_doubtful", lang, what=what), False
    except Exception:
        LOG.exception("the undo of tool %s failed", write.tool)
        return phrase("undo_doubtful", lang, what=what), False
    if record.get("key"):
        await ledger.take_back(record["key"])
    return text or what, True
