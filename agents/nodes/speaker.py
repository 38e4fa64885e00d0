"""The node that asks a speaker's model.

Its draft is held back while observers vote; the citations in it are read as it streams.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.conversation.changes import NOTHING, Change, Update, emit, say_cited, show
from agents.conversation.heard import heard_so_far
from agents.conversation.prompt import Prompting
from agents.errors import ModelUnavailable
from agents.events import RETRY, Error, Event, ModelStart, Token
from agents.events.views import View, stored_view
from agents.memory.store import namespace_of
from agents.models.reply import Listener
from agents.models.reply import reply as reply_of
from agents.models.streamed_reply import CUT
from agents.nodes.agent import AgentCall
from agents.nodes.tools import with_few_calls
from agents.state import State, messages_of, sources_of, talk_of, with_talk
from agents.state.citations import CitationReader, CitedReply, CitedText, Source, cited
from agents.state.history import GROW, cut, cut_harder
from agents.state.message_notes import IN_WORDS, notes
from agents.state.talk import TalkUpdate
from agents.state.verdict import STAY, Verdict
from agents.toolkit.context import Context, HeldText, emitter
from agents.toolkit.handover_tools import HAND_BACK, names_user
from agents.toolkit.speaker import Speaker
from prompts import phrase, prompt

LOG = logging.getLogger(__name__)


class Draft:
    """The text of a reply on its way to the screen; with `held` it is held back there until it is released.

    Citations are read as it streams.
    """

    def __init__(
        self, speaker: str, emit: Callable[[Event], None], *, held: HeldText | None, sources: Sequence[Source] = ()
    ) -> None:
        self.speaker, self._held = speaker, held
        self._emit, self._sources = emit, sources
        self._waiting: list[CitedText] = []
        self._reader = CitationReader(sources)

    def emit(self, event: Event) -> None:
        """Send an event of the model's call; a call that begins has said nothing yet."""
        if isinstance(event, ModelStart):
            self._begin()
        self._emit(event)

    def hear(self, text: str) -> None:
        """Take the next piece from the model."""
        self._show(self._reader.feed(text))

    def take_back(self) -> None:
        """Drop what came so far: it was the model's thinking."""
        self._begin()
        if self._held is None:
            self._emit(Error(code=RETRY, text=""))

    def release(self) -> None:
        """Show what was held back, and from now on everything at once."""
        self.drop()
        self._held = None
        waiting, self._waiting = self._waiting, []
        for piece in waiting:
            self._show(piece)

    def end(self) -> None:
        """Show what the end of the text leaves: what might have become a citation."""
        self._show(self._reader.rest())

    def drop(self) -> None:
        """Note that nothing is held back any more."""
        if self._held is not None:
            self._held.text = ""

    def _begin(self) -> None:
        self.drop()
        self._waiting.clear()
        self._reader = CitationReader(self._sources)

    def _show(self, piece: CitedText) -> None:
        if self._held is not None:
            self._held.text += piece.text
            self._waiting.append(piece)
        elif piece.text:
            self._emit(Token(speaker=self.speaker, text=piece.text, citations=piece.citations))


class Speaking:
    """Ask a speaker's model and write down what it said."""

    def __init__(self, speaker: Speaker, prompting: Prompting) -> None:
        self.speaker, self.prompting = speaker, prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the reply for the speaker's history; only the verdict when the draft was thrown away."""
        await runtime.context.brake.pass_by()
        if self.speaker.remember:
            state = await self._with_form(state, runtime)
        waiting = bool(state.get("asked")) and state.get("verdict") is None
        view = stored_view(body) if (body := state.get("view")) else None
        held = runtime.context.held if waiting or view is not None else None
        draft = Draft(self.speaker.name, emitter(runtime), held=held, sources=sources_of(state))
        runtime = replace(runtime, context=await self._context(runtime, state["lang"]))
        news = self.prompting.news(self.speaker, state, runtime.context)
        task = asyncio.create_task(self._reply(self._with_messages(state, added=news), runtime, draft))
        try:
            verdict = await self._verdict(state, runtime) if waiting else STAY
            if not verdict.stays:
                draft.drop()
                return {"verdict": verdict.plain()}
            if view is None:
                draft.release()
            message, lost = await task
            draft.end()
            draft.drop()
            message = with_few_calls(message, runtime.context.limits.calls_per_reply)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        update, events = self._written(state, news, message, view)
        emit(runtime, events)
        if lost:
            update["talks"][self.speaker.name]["messages"] = messages_of(state, self.speaker.name)[lost:]
        return update

    async def _reply(self, state: State, runtime: Runtime[Context], draft: Draft) -> tuple[AIMessage, int]:
        """Return the reply, and how many messages had to be cut from the history before the model took it."""
        history = heard_so_far(self.speaker, state)
        if self.speaker.agent is not None:
            noted = notes(lang=state["lang"], forwarding="custom") if self.speaker.is_custom else {}
            call = AgentCall(self.speaker.name, draft.emit, draft.hear, noted)
            return await call(self.speaker.agent, history), 0
        try:
            return await self._ask(state, runtime, draft), 0
        except ModelUnavailable as failure:
            lost = len(history) - len(cut_harder(history))
            if failure.trouble != "too_long" or not lost:
                raise
        LOG.warning("thread %s: %s goes on with a shorter history", runtime.context.thread, self.speaker.name)
        draft.emit(Error(code=RETRY, text=""))
        return await self._ask(self._with_messages(state, lost=lost), runtime, draft), lost

    async def _ask(self, state: State, runtime: Runtime[Context], draft: Draft) -> AIMessage:
        listener = Listener(self.speaker.name, draft.emit, draft.hear, draft.take_back, thread=runtime.context.thread)
        messages = self.prompting.messages(self.speaker, state, runtime.context)
        tools = [*self.prompting.tools(self.speaker, state["lang"]), *self.prompting.picked(self.speaker, state)]
        return await reply_of(runtime.context.models.chain(self.speaker.name), messages, tools, listener)

    def _with_messages(self, state: State, *, added: Sequence[AnyMessage] = (), lost: int = 0) -> State:
        """Return the state with other messages in the speaker's history: some added, or the first ones lost."""
        talk = talk_of(state, self.speaker.name)
        return with_talk(state, self.speaker.name, {**talk, "messages": [*talk.get("messages", [])[lost:], *added]})

    async def _verdict(self, state: State, runtime: Runtime[Context]) -> Verdict:
        runtime.context.ballot.open(state["asked"])
        return await runtime.context.ballot.verdict()

    def _written(self, state: State, news: Sequence[AnyMessage], message: AIMessage, view: View | None) -> Change:
        """Write the reply down; the user sees the view of the last tool instead, if it gave one.

        Words that say so themselves (`IN_WORDS`) are said all the same: the tool was only asked what a list holds.
        """
        talk, reply = talk_of(state, self.speaker.name), _with_citations(message, state)
        if reply.source != message.text:
            message = message.model_copy(update={"content": reply.source})
        written: TalkUpdate = {"add": [*news, message]}
        if "form" in talk:
            written["form"] = talk["form"]
        if self.speaker.history == "summarise":
            written["summary"] = talk.get("summary", "")
        if view is not None and IN_WORDS not in message.additional_kwargs:
            shows = all(self._passes(call["name"]) for call in message.tool_calls)
            spoken, events = show(view, self.speaker.name, state, reply.text) if shows else NOTHING
        else:
            spoken, events = say_cited(self.speaker.name, reply) if reply.text.strip() else NOTHING
            spoken = {**spoken, "view": None} if view is not None else spoken
            if code := message.response_metadata.get(CUT):
                events = [*events, Error(code=code, text=phrase(code, state["lang"]))]
        update: Update = {"verdict": STAY.plain(), **spoken, "talks": {self.speaker.name: written}}
        if self.speaker.is_supervisor and state.get("beside"):
            # What others said stands in the prompt, and is no word of the user's.
            update["foreign"] = True
        return update, events

    def _passes(self, tool: str) -> bool:
        """Tell whether a call only passes the conversation on: the next speaker answers in its own words."""
        return tool == HAND_BACK or self.prompting.speakers.by_tool(tool) is not None

    async def _context(self, runtime: Runtime[Context], lang: str) -> Context:
        """Return what the turn is given, with what dialogs tell this speaker.

        The supervisor is told what dialogs have learnt of the user, unless others read along.
        """
        context, store = runtime.context, runtime.store
        if not self.speaker.is_supervisor:
            tell = self.speaker.context_lines
            return replace(context, lines=await tell(context, lang)) if tell else context
        if context.is_shared or store is None:
            return context
        speakers = self.prompting.speakers
        tellers = [dialog.user_lines for dialog in speakers.dialogs.values() if dialog.user_lines]
        lines = [line for teller in tellers for line in await teller(context, store, lang)]
        forms = {item.key: item.value for item in await store.asearch(namespace_of(context.user, "forms"))}
        called = next(filter(None, (names_user(it, forms.get(it.name, {})) for it in speakers.remembered())), "")
        return replace(context, lines=lines, called=called)

    async def _with_form(self, state: State, runtime: Runtime[Context]) -> State:
        """Begin with the values of the form that long-term memory has; where others read along, with none."""
        talk = talk_of(state, self.speaker.name)
        if "form" in talk or runtime.store is None or runtime.context.is_shared:
            return state
        item = await runtime.store.aget(namespace_of(runtime.context.user, "forms"), self.speaker.name)
        return with_talk(state, self.speaker.name, {**talk, "form": item.value if item else {}})


def _with_citations(message: AIMessage, state: State) -> CitedReply:
    """Return a reply with its citations; its model reads its own marks again, but none that stand for nothing."""
    reply = cited(message.text, sources_of(state))
    if reply.text.strip() or message.tool_calls or not message.text.strip():
        return reply
    text = phrase("cited_only", state["lang"])
    return CitedReply(text, source=text, unknown=reply.unknown)


LONGEST_SUMMARY = 2000
"""Characters a summary may have."""


class Summing:
    """Replace the older part of a speaker's history by a summary of it."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the shorter history and the summary; without a model the history waits for the next turn."""
        talk = state["talks"][self.speaker.name]
        remaining = cut(talk["messages"])
        lost = talk["messages"][: len(talk["messages"]) - len(remaining)]
        transcript = "\n".join(f"{message.type}: {message.text}" for message in lost if message.text)
        before = phrase("summed_up", state["lang"], summary=talk.get("summary") or "-")
        listener = Listener(f"{self.speaker.name} summary", emitter(runtime), thread=runtime.context.thread)
        question: list[AnyMessage] = [
            SystemMessage(prompt("summary", state["lang"]), additional_kwargs=notes(lang=state["lang"])),
            SystemMessage(f"{before}\n\n{transcript}"),
        ]
        try:
            summary = await reply_of(runtime.context.models.chain(self.speaker.name), question, [], listener)
        except ModelUnavailable as failure:
            LOG.warning("thread %s: no summary: %s", runtime.context.thread, failure)
            return {}
        return {
            "talks": {self.speaker.name: {"messages": remaining, "summary": summary.text.strip()[:LONGEST_SUMMARY]}}
        }


def summary_due(speaker: Speaker, state: State) -> bool:
    """Tell whether a speaker wants summaries and its history has grown to where it is cut."""
    return speaker.history == "summarise" and len(messages_of(state, speaker.name)) > GROW
