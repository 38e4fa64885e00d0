"""The node that takes back what tools have written, at the user's word."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime

from agents.conversation.changes import Change, Update, emit, put, say, sequence
from agents.conversation.heard import human
from agents.memory.ledger import Busy, Doubtful, Write
from agents.memory.undo_log import FORGOTTEN, LoggedWrite
from agents.nodes.tools import remember_form, tool_state
from agents.state import SUPERVISOR, State, form_of, holder_of
from agents.state.talk import TalkUpdate
from agents.toolkit.bound_tools import tools_of
from agents.toolkit.confirmation import worded
from agents.toolkit.context import Context, ToolState, emitter
from agents.toolkit.result import Refused
from agents.toolkit.runtime import Runtime as RuntimeOfTool
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import Done, Items, traits_of
from agents.toolkit.undo import FACTS, REMEMBER, TakenBack, both, sentences, taken_back
from prompts import phrase

LOG = logging.getLogger(__name__)
TIMEOUT = 60
"""Seconds that a function may take that takes a write back."""
LASTS = 24 * 3600
"""Seconds during which it is remembered that a write was taken back."""


@dataclass(frozen=True)
class TakingBack:
    """Take back the writes of one message, the latest first, and say what came of it."""

    speakers: Speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return what was said, with the forms and the language as they were before."""
        context, message = runtime.context, state["undoing"] or None
        writes = (
            await context.undo.claim(context.thread, context.user, state["heard"]["id"], message)
            if context.undo
            else []
        )
        total: TakenBack = {}
        told, update = list[str](), Update()
        for write in writes:
            speaker, tool = self._owner(write)
            visible = self._visible(speaker, update, state)
            tool_runtime = _runtime_of(write, visible, runtime)
            if write.tool == FORGOTTEN:
                told.append(phrase("undo_forgotten", visible["lang"]))
            elif items := _items_of(write, tool):
                total = both(await _put_back(write, items, tool_runtime), total)
                await self._keep(speaker, tool_runtime, state, update)
            else:
                told.append(await _inverted(write, tool, tool_runtime))
        lang = update.get("lang", state["lang"])
        answer = "\n".join(dict.fromkeys([*sentences(total, lang), *told]))
        if not answer and message is None:
            answer = phrase("undo_nothing", lang)
        writers = [self._owner(write)[0].name for write in writes]
        answers = [partial(self._told, answer, writers)] if answer else []
        spoken, events = sequence(state, put(update), *answers)
        emit(runtime, events)
        return {**spoken, "undoing": None}

    def _owner(self, write: LoggedWrite) -> tuple[Speaker, BaseTool | None]:
        """Return the speaker whose tool has written, and the tool if it is still there."""
        speaker = self.speakers.successor(write.speaker) or self.speakers.supervisor
        named = (tool for tool in tools_of(speaker, self.speakers) if tool.name == write.tool)
        return speaker, next(named, None)

    def _visible(self, speaker: Speaker, update: Update, state: State) -> ToolState:
        talk = update.get("talks", {}).get(speaker.name, {})
        visible = tool_state(speaker, self.speakers, state)
        visible["lang"] = update.get("lang", state["lang"])
        visible["form"] = dict(talk.get("form") or visible["form"])
        return visible

    async def _keep(self, speaker: Speaker, runtime: RuntimeOfTool, state: State, update: Update) -> None:
        """Take over what was put back in the state: the form of a speaker, the language."""
        visible = runtime.state
        if visible["lang"] != state["lang"]:
            update["lang"] = visible["lang"]
        if speaker.form and visible["form"] != form_of(state, speaker.name):
            talks = update.setdefault("talks", {})
            talks[speaker.name] = {**talks.get(speaker.name, {}), "form": visible["form"]}
            await remember_form(speaker, visible["form"], runtime.context, runtime.store)

    def _told(self, answer: str, writers: Sequence[str], state: State) -> Change:
        """Say the answer, and tell it to the speaker that leads and to those that had written."""
        heard = state["heard"]
        talks: dict[str, TalkUpdate] = {name: {"add": [SystemMessage(answer)]} for name in writers}
        if state["undoing"]:
            # The user's message goes on to the dialog that they are back in.
            spoken, events = say(SUPERVISOR, answer)
        else:
            spoken, events = say(holder_of(state), answer)
            exchange: list[AnyMessage] = [human(heard, state["lang"]), AIMessage(answer)]
            talks[holder_of(state)] = {"add": exchange}
        return {**spoken, "talks": talks}, events


def _runtime_of(write: LoggedWrite, visible: ToolState, runtime: Runtime[Context]) -> RuntimeOfTool:
    return ToolRuntime(
        state=visible,
        context=runtime.context,
        config={},
        stream_writer=emitter(runtime),
        tool_call_id=write.call,
        store=runtime.store,
    )


def _items_of(write: LoggedWrite, tool: BaseTool | None) -> Sequence[Items]:
    if write.tool == REMEMBER and "items" in write.record:
        return [FACTS]
    return traits_of(tool).items if tool else ()


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

    try:
        text = await ledger.once(_once(write, runtime), perform, ready=ready, harmless=(Refused,))
    except Refused as refusal:
        return f"{phrase('undo_cannot', lang, what=what)} {refusal}".strip()
    except (Doubtful, Busy):
        return phrase("undo_doubtful", lang, what=what)
    except Exception:
        LOG.exception("the undo of tool %s failed", write.tool)
        return phrase("undo_doubtful", lang, what=what)
    if record.get("key"):
        await ledger.take_back(record["key"])
    return text or what


def _once(write: LoggedWrite, runtime: RuntimeOfTool) -> Write:
    context, message = runtime.context, runtime.state["heard"]["id"]
    key = hashlib.sha256(f"undo {write.id}".encode()).hexdigest()
    return Write(
        key=key, thread=context.thread, user=context.user, message=message, reply=message, how="once", lasts=LASTS
    )
