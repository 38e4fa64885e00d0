"""The node that takes back what tools have written, at the user's word."""

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
from agents.memory.ledger import Doubtful, Write, WriteBusy
from agents.memory.undo_log import FORGOTTEN, LoggedWrite
from agents.nodes.tools import remember_form, tool_state
from agents.state import SUPERVISOR, State, form_of, holder_of
from agents.state.message_notes import UNDO
from agents.toolkit.confirmation import worded
from agents.toolkit.context import Context, emitter
from agents.toolkit.context import Runtime as RuntimeOfTool
from agents.toolkit.result import Refused
from agents.toolkit.shelf import tool_named
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import Done, Items, traits_of
from agents.toolkit.undo import FACTS, REMEMBER, UNDO_LAST, TakenBack, both, sentences, taken_back
from prompts import phrase

LOG = logging.getLogger(__name__)
TIMEOUT = 60
"""Seconds that a function may take that takes a write back."""
LASTS = 24 * 3600
"""Seconds during which it is remembered that a write was taken back."""


class UndoNode:
    """Take back the writes of one message, the latest first, and say what came of it."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return what was said, with the forms and the language as they were before."""
        context, message, id = runtime.context, state["undoing"] or None, state["heard"]["id"]
        wrote, turn = state.get("wrote", -1), state["turn"]
        if is_called := message == UNDO_LAST:
            message = id if wrote == turn else None
        # "Bring it back" never takes away what is there.
        gone = message is None and is_said("bring_back", state["heard"]["text"] or "")
        log, emit = context.undo, emitter(runtime)
        is_old = is_called and wrote < turn - 1
        writes = await log.claim(context.thread, context.user, id, message, gone=gone) if log and not is_old else []
        total: TakenBack = {}
        texts, change, writers = list[str](), Change(state), {self._owner(write)[0].name for write in writes}
        for write in writes:
            speaker, tool = self._owner(write)
            visible = tool_state(speaker, self.speakers, change.state)
            of_tool = ToolRuntime(
                visible, context, {}, stream_writer=emit, tool_call_id=write.call, store=runtime.store
            )
            is_fact = write.tool == REMEMBER and "items" in write.record
            if write.tool == FORGOTTEN:
                texts.append(phrase("undo_forgotten", visible["lang"]))
            elif kinds := [FACTS] if is_fact else traits_of(tool).items if tool else ():
                total = both(await _put_back(write, kinds, of_tool), total)
                await self._keep(change, speaker, of_tool)
            else:
                texts.append(await _inverted(write, tool, of_tool))
        lang = change.state["lang"]
        answer = "\n".join(dict.fromkeys([*sentences(total, lang), *texts]))
        if not answer and (message is None or is_called):
            answer = phrase("undo_nothing_gone" if gone else "undo_nothing", lang)
        if answer:
            self._tell(change, answer, writers)
        for name in writers:
            change.talk(name, settled=id)
        change.put(undoing=None)
        return change.emit(runtime)

    def _owner(self, write: LoggedWrite) -> tuple[Speaker, BaseTool | None]:
        """Return the speaker whose tool has written, and the tool if it is still there."""
        speaker = self.speakers.successor(write.speaker) or self.speakers.supervisor
        return speaker, tool_named(write.tool, speaker, self.speakers)

    async def _keep(self, change: Change, speaker: Speaker, runtime: RuntimeOfTool) -> None:
        """Take over what was put back in the state: the form of a speaker, the language."""
        visible = runtime.state
        if visible["lang"] != change.state["lang"]:
            change.put(lang=visible["lang"])
        if speaker.form and visible["form"] != form_of(change.state, speaker.name):
            change.talk(speaker.name, form=visible["form"])
            await remember_form(speaker, visible["form"], runtime.context, runtime.store)

    def _tell(self, change: Change, answer: str, writers: Iterable[str]) -> None:
        """Say the answer, and tell it to the speaker that leads and to those that had written."""
        holder, undoing = holder_of(change.state), change.state["undoing"]
        if undoing == UNDO_LAST:
            writers = {*writers, holder}
            change.put(listener=holder)
        elif undoing:
            # The user's message goes on to the dialog that they are back in.
            change.say(SUPERVISOR, answer)
        else:
            # What was asked before stays open.
            switch.answer(change, answer, holder, UNDO)
            writers = [name for name in writers if name != holder]
        for name in writers:
            change.add(name, SystemMessage(answer))


async def _put_back(write: LoggedWrite, kinds: Sequence[Items], runtime: RuntimeOfTool) -> TakenBack:
    total: TakenBack = {}
    for items in kinds:
        pairs = write.record.get("items", {}).get(items.name, {})
        changes = {key: (before, after) for key, (before, after) in pairs.items()}
        if changes:
            total = both(total, await taken_back(runtime, items, changes))
    return total


async def _inverted(write: LoggedWrite, tool: BaseTool | None, runtime: RuntimeOfTool) -> str:
    """Let the function of a tool take its write back, once; say so if the tool has no such function, or if it fails."""
    lang, record = runtime.state["lang"], write.record
    what = worded(tool, record.get("args", {}), runtime.state) if tool else write.tool
    inverse, ledger = traits_of(tool).inverse if tool else None, runtime.context.ledger
    if inverse is None or ledger is None:
        return phrase("undo_cannot", lang, what=what)
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
        return f"{phrase('undo_cannot', lang, what=what)} {refusal}".strip()
    except (Doubtful, WriteBusy):
        return phrase("undo_doubtful", lang, what=what)
    except Exception:
        LOG.exception("the undo of tool %s failed", write.tool)
        return phrase("undo_doubtful", lang, what=what)
    if record.get("key"):
        await ledger.take_back(record["key"])
    return text or what
