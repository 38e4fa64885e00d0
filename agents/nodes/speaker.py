"""The node that asks a speaker's model.

Its draft is held back while observers vote; the citations in it are read as it streams.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import MOST_SEEN, Change, Update, waiting_views
from agents.conversation.context_window import shortened, surplus
from agents.conversation.handover import MOST_FAILURES
from agents.conversation.prompt import Prompting, heard_message, with_dialog_lines
from agents.errors import ModelUnavailable
from agents.events import RETRY, Error, Event, Message, ModelStart, Token
from agents.language.identifiers import named
from agents.language.text.vocabulary import says
from agents.memory.store import namespace_of
from agents.models import ToolSchema
from agents.models.reply import Listener
from agents.models.reply import reply as reply_of
from agents.models.streamed_reply import CUT
from agents.state import SUPERVISOR, State, messages_of, sources_of, talk_of, updated
from agents.state.citations import CitationReader, CitedReply, CitedSource, CitedText, cited
from agents.state.history import cut_harder
from agents.state.message_notes import notes, notes_of
from agents.state.speaker_state import SpeakerUpdate
from agents.toolkit.context import Context, emitter
from agents.toolkit.handover_tools import HAND_BACK, names_user
from agents.toolkit.speaker import AgentGraphs, AgentTurn, Speaker
from prompts import phrase

LOG = logging.getLogger(__name__)
OUTAGES = ("key_refused", "unavailable")
"""Troubles that every speaker has with the same models."""


class Draft:
    """The text of a reply on its way to the screen; with `held` it is held back there until it is released.

    `above` are the events above the text. They are sent before the first word, since a reply without words may be
    followed by further tools.
    """

    def __init__(
        self,
        speaker: str,
        send: Callable[[Event], None],
        held: list[CitedText] | None,
        sources: Sequence[CitedSource],
        above: Sequence[Event] = (),
    ) -> None:
        self._speaker, self._send, self._held, self._sources = speaker, send, held, sources
        self._above, self._blank = [*above], list[CitedText]()
        self._reader = CitationReader(sources)
        self.has_words = False
        """Whether a word of the text was sent, and with it the events above."""

    def emit(self, event: Event) -> None:
        """Send an event of the model's call; a call that begins has said nothing yet."""
        if isinstance(event, ModelStart):
            self._begin()
        self._send(event)

    def feed(self, text: str) -> None:
        """Take the next piece from the model."""
        self._show(self._reader.feed(text))

    def take_back(self) -> None:
        """Drop the pieces so far: they were the model's thinking."""
        self._begin()
        if self._held is None:
            self._send(Error(code=RETRY, text=""))

    def release(self) -> None:
        """Show the pieces that were held back, and from now on every piece at once."""
        pieces, self._held = self._held or [], None
        for piece in pieces:
            self._show(piece)
        pieces.clear()

    def end(self) -> None:
        """Show the rest at the end of the text, which might have become a citation."""
        self._show(self._reader.rest())
        self.drop()

    def drop(self) -> None:
        """Forget the pieces that are held back."""
        self._blank.clear()
        if self._held:
            self._held.clear()

    def _begin(self) -> None:
        self.drop()
        self._reader = CitationReader(self._sources)

    def _show(self, piece: CitedText) -> None:
        if self._held is not None:
            self._held.append(piece)
        elif self._above and not piece.text.strip():
            self._blank.append(piece)
        elif piece.text:
            self.has_words = True
            pieces = [
                Token(speaker=self._speaker, text=it.text, citations=it.citations) for it in (*self._blank, piece)
            ]
            for event in (*self._above, *pieces):
                self._send(event)
            self._above.clear()
            self._blank.clear()


class AgentNode:
    """Ask a speaker's model and store its reply."""

    def __init__(self, speaker: Speaker, prompting: Prompting) -> None:
        self.speaker, self.prompting = speaker, prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Mapping[str, object]:
        """Return the reply for the speaker's history; only the verdict when the draft was thrown away."""
        context, name = runtime.context, self.speaker.name
        await context.stop_request.obey()
        if not context.spent.leaves(context.limits):
            return self._spent(state, runtime)
        state = await with_form(self.speaker, state, runtime)
        waiting = bool(state.get("asked")) and state.get("verdict") is None
        views = waiting_views(state)
        # The view of a tool that answers by itself takes the place of the words.
        is_answered = bool(views) and any(waiting["answers"] for waiting in state["views"])
        held = context.held if waiting or is_answered else None
        messages = [Message(speaker=name, text=view.text(), shown=True) for view in views]
        above = [event for pair in zip(views, messages, strict=True) for event in pair]
        draft = Draft(name, emitter(runtime), held, sources_of(state), above)
        informed = await self._context(runtime, state["lang"])
        news = self.prompting.news(self.speaker, state, informed)
        task = asyncio.create_task(self._reply(state, informed, [*messages_of(state, name), *news], draft))
        try:
            if waiting:
                verdict = await context.ballot.verdict(state["asked"])
                if not verdict.stays or verdict.also:
                    # A dialog with another one after it asks nothing, so its draft is made anew.
                    draft.drop()
                    return {"verdict": verdict.plain()}
            if not is_answered:
                draft.release()
            message, update = await task
            draft.end()
        except ModelUnavailable as failure:
            if not self._is_stuck(failure, context):
                raise
            draft.take_back()
            return self._given_up(state, runtime, is_told=draft.has_words)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        change = Change(state)
        change.put(verdict=None)
        change.talk(name, **update)
        change.add(name, *news)
        reply = _storable(_named(message, state), context.limits.calls_per_reply)
        self._write(change, reply, is_told=draft.has_words, is_answered=is_answered)
        self._count(change, message)
        if not message.tool_calls:
            own = context.models.chain(name)[0].window
            change.talk(name, **self._cut(change.state, context, surplus(messages_of(change.state, name), own)))
        # The awaited votes are counted, and none of them is about the answer.
        return {**change.emit(runtime), **({"asked": [], "votes": Overwrite([])} if waiting else {})}

    def _spent(self, state: State, runtime: Runtime[Context]) -> Update:
        """Say that the turn may ask no model any more; its work is in the history, so that it can go on."""
        change, name, lang = Change(state), self.speaker.name, state["lang"]
        text = phrase("turn_spent", lang, most=runtime.context.limits.turn_calls)
        change.put(verdict=None)
        change.show_views(name)
        heard = heard_message(state["heard"], talk_of(state, name), lang)
        change.add(name, *([heard] if heard else []), AIMessage(text))
        change.say(name, text)
        return change.emit(runtime)

    def _given_up(self, state: State, runtime: Runtime[Context], *, is_told: bool) -> Mapping[str, object]:
        """Give the conversation back, since the models of the dialog fail again; `is_told` is as in `_write`."""
        change = Change(state)
        if is_told:
            change.show_views(self.speaker.name, is_told=True)
        change.put(verdict=None)
        handover.count_failure(change, self.speaker, MOST_FAILURES)
        return {**change.emit(runtime), "asked": [], "votes": Overwrite([])}

    def _is_stuck(self, failure: ModelUnavailable, context: Context) -> bool:
        """Tell whether a dialog fails for the second time, and another speaker may do better."""
        [own, *_], [leading, *_] = (context.models.chain(name) for name in (self.speaker.name, SUPERVISOR))
        is_outage = failure.trouble == "spent" or (failure.trouble in OUTAGES and own is leading)
        return context.has_failed and not (is_outage or self.speaker.is_supervisor)

    def _count(self, change: Change, message: AIMessage) -> None:
        """Count an answer that was cut, unless the user asks for more of it; a whole answer ends the count."""
        state, before = change.state, talk_of(change.state, self.speaker.name).get("failed", 0)
        if message.response_metadata.get(CUT) and not says("go_on", state["heard"]["text"] or "", state["lang"]):
            handover.count_failure(change, self.speaker, before)
        elif before and not message.tool_calls:
            change.talk(self.speaker.name, failed=0)

    async def _reply(
        self, state: State, context: Context, history: list[AnyMessage], draft: Draft
    ) -> tuple[AIMessage, SpeakerUpdate]:
        """Return the reply, and its other changes: a history that was cut for the model, an agent's own keys."""
        if self.speaker.agent is not None:
            turn = AgentTurn(self.speaker, state, context, history, draft.emit, draft.feed)
            return await context.service(AgentGraphs).ask(turn)
        fitting = self._fitting(state, context, history)
        try:
            return await self._ask_shorter(state, context, history, fitting, draft)
        except ModelUnavailable as failure:
            # The failure may have told the size of the window.
            fitting_now = self._fitting(state, context, fitting)
            shorter = cut_harder(fitting) if fitting_now == fitting else fitting_now
            if failure.trouble != "too_long" or shorter == fitting:
                raise
        LOG.warning("thread %s: %s goes on with a shorter history", context.thread, self.speaker.name)
        draft.emit(Error(code=RETRY, text=""))
        return await self._ask_shorter(state, context, history, shorter, draft)

    async def _ask_shorter(
        self, state: State, context: Context, history: list[AnyMessage], shorter: list[AnyMessage], draft: Draft
    ) -> tuple[AIMessage, SpeakerUpdate]:
        """Ask with the rest of a history; the prompt says if anything is missing."""
        update = self._cut(state, context, len(history) - len(shorter))
        state = updated(state, {"talks": {self.speaker.name: update}}) if update else state
        return await self._ask(state, context, shorter, draft), update

    def _cut(self, state: State, context: Context, count: int) -> SpeakerUpdate:
        """Return the update that cuts `count` messages from the history; they are kept until they are summed up."""
        if not count:
            return {}
        talk, messages = talk_of(state, self.speaker.name), messages_of(state, self.speaker.name)
        sums_up = self.speaker.history == "summarise" and context.models.chain(self.speaker.name)[0].reads
        lost = [*talk.get("lost", []), *messages[:count]] if sums_up else []
        return {"messages": messages[count:], "lost": lost, "summary": talk.get("summary", "")}

    def _fitting(self, state: State, context: Context, history: list[AnyMessage]) -> list[AnyMessage]:
        """Return as much of the history as fits into the window of the speaker's model."""
        window = context.models.chain(self.speaker.name)[0].window
        if window.size is None:
            return history
        prompt = partial(self.prompting.messages, self.speaker, state, context)
        return shortened(history, window, prompt, self._tools(state, context))

    async def _ask(self, state: State, context: Context, history: Sequence[AnyMessage], draft: Draft) -> AIMessage:
        speaker = self.speaker
        # If the user sees the last result, it may need no words.
        is_seen = bool(history and state.get("views")) and notes_of(history[-1]).get("seen", "nobody") != "nobody"
        pieces = draft.emit, draft.feed, draft.take_back
        listener = Listener(speaker.name, *pieces, thread=context.thread, may_be_silent=is_seen)
        messages = self.prompting.messages(speaker, state, context, history)
        chain = context.models.chain(speaker.name)
        return await reply_of(chain, messages, self._tools(state, context), listener)

    def _tools(self, state: State, context: Context) -> list[ToolSchema]:
        return self.prompting.tools(self.speaker, state["lang"], context.client_tools)

    def _write(self, change: Change, message: AIMessage, *, is_told: bool, is_answered: bool) -> None:
        """Store the reply, and show it to the user: the waiting views, and below them its words.

        `is_told`: the views were sent while the reply came. `is_answered`: they take the place of the words. A reply
        without words that calls further tools leaves the views to the next one.
        """
        state, name = change.state, self.speaker.name
        talk, reply = talk_of(state, name), _with_citations(message, state)
        words, shown_text = reply.text if reply.text.strip() else "", ""
        entries = [HAND_BACK, *(dialog.tool for dialog in self.prompting.speakers.dialogs.values())]
        # Calls that only pass the conversation on come after words of their own.
        if words or is_told or all(call["name"] in entries for call in message.tool_calls):
            shown_text = change.show_views(name, words if is_answered else "", is_told=is_told)[:MOST_SEEN]
        if shown_text and (is_answered or not (words or message.tool_calls)):
            # The history holds the view's text, which the user saw.
            left_out = notes(left_out=reply.source) if words else {}
            kwargs = {**message.additional_kwargs, **left_out}
            message, words = message.model_copy(update={"content": shown_text, "additional_kwargs": kwargs}), ""
        elif reply.source != message.text:
            message = message.model_copy(update={"content": reply.source})
        change.add(name, message)
        if "form" in talk:
            change.talk(name, form=talk["form"])
        if self.speaker.is_supervisor and state.get("beside"):
            # The prompt has the words of others, which are not the user's.
            change.put(foreign=True)
        if words:
            cited_from, unknown = reply.citations, reply.unknown
            change.deliver(Message(speaker=name, text=words, citations=cited_from, unknown_sources=unknown))
            if code := message.response_metadata.get(CUT):
                change.tell(Error(code=code, text=phrase(code, state["lang"])))

    async def _context(self, runtime: Runtime[Context], lang: str) -> Context:
        """Return the context of the turn, with the dialogs' lines for this speaker.

        The supervisor gets facts that dialogs have learnt of the user, unless others read along.
        """
        context, store = runtime.context, runtime.store
        if not self.speaker.is_supervisor:
            return await with_dialog_lines(self.speaker, context, lang)
        if context.is_shared or store is None:
            return context
        speakers = self.prompting.speakers
        tellers = [dialog.user_lines for dialog in speakers.dialogs.values() if dialog.user_lines]
        lines = [line for teller in tellers for line in await teller(context, store, lang)]
        forms = {item.key: item.value for item in await store.asearch(namespace_of(context.user, "forms"))}
        called = next(filter(None, (names_user(it, forms.get(it.name, {})) for it in speakers.remembered())), "")
        return replace(context, lines=lines, called=called)


async def with_form(dialog: Speaker, state: State, runtime: Runtime[Context]) -> State:
    """Begin with the values of a remembered form from long-term memory; where others read along, with none."""
    talk, is_shared = talk_of(state, dialog.name), runtime.context.is_shared
    if not dialog.remember or "form" in talk or runtime.store is None or is_shared:
        return state
    item = await runtime.store.aget(namespace_of(runtime.context.user, "forms"), dialog.name)
    form = item.value if item else {}
    return {**state, "talks": {**state.get("talks", {}), dialog.name: {**talk, "form": form}}}


def _named(message: AIMessage, state: State) -> AIMessage:
    """Return a reply with names in place of the numbers of identifiers."""
    lines = (line for shown in state.get("screen", []) for line in shown["lines"])
    text = named(message.text, state.get("aliases", {}), state.get("labels", {}), lines)
    return message if text == message.text else message.model_copy(update={"content": text})


def _storable(message: AIMessage, most: int) -> AIMessage:
    """Return a reply as it is stored, with `most` calls and one more, which is answered with a refusal."""
    calls = message.tool_calls[: most + 1]
    # Nobody asks for words by their id, and a checkpoint cannot pack ids.
    return message.model_copy(update={"tool_calls": calls, "id": message.id if calls else None})


def _with_citations(message: AIMessage, state: State) -> CitedReply:
    """Return a reply with its citations; its model reads its own marks again, except those without a source."""
    reply = cited(message.text, sources_of(state))
    if reply.text.strip() or message.tool_calls or not message.text.strip():
        return reply
    text = phrase("cited_only", state["lang"])
    return CitedReply(text, source=text, unknown=reply.unknown)
