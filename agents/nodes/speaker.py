"""The node in which a speaker's model is asked: the draft, held back while observers still vote."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation.heard import heard_message, heard_so_far
from agents.conversation.prompt import Prompting
from agents.conversation.screen import show
from agents.errors import ModelUnavailable
from agents.events import Error, Event, Message, Token
from agents.events.views import View, stored_view
from agents.history import cut_harder
from agents.memory.store import namespace_of
from agents.models.reply import Listener, reply
from agents.speaker import Speaker
from agents.state import State, Talk, TalkUpdate
from agents.toolkit.handover_tools import HAND_BACK
from agents.verdict import STAY, Verdict

LOG = logging.getLogger(__name__)


class Draft:
    """The text of a reply on its way to the screen; held back until released."""

    def __init__(self, speaker: str, emit: Callable[[Event], None], *, held: bool) -> None:
        self.speaker, self.emit, self.held = speaker, emit, held
        self._waiting: list[str] = []

    def hear(self, text: str) -> None:
        """Take the next piece from the model."""
        if self.held:
            self._waiting.append(text)
        else:
            self.emit(Token(speaker=self.speaker, text=text))

    def release(self) -> None:
        """Show what was held back, and from now on everything at once."""
        self.held = False
        for text in self._waiting:
            self.hear(text)


class Speaking:
    """Ask a speaker's model and write down what it said."""

    def __init__(self, speaker: Speaker, prompting: Prompting) -> None:
        self.speaker, self.prompting = speaker, prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, Any]:
        """Return the reply for the speaker's history; nothing but the verdict when the draft was thrown away."""
        if self.speaker.remember:
            state = await self._with_form(state, runtime)
        waiting = bool(state.get("asked")) and state.get("verdict") is None
        view = stored_view(body) if (body := state.get("view")) else None
        emit: Callable[[Event], None] = runtime.stream_writer
        draft = Draft(self.speaker.name, emit, held=waiting or view is not None)
        news = self._news(state)
        task = asyncio.create_task(self._reply(self._heard(state, news), runtime, draft))
        try:
            verdict = await self._verdict(state, runtime) if waiting else STAY
            if not verdict.stays:
                return {"verdict": verdict.plain()}
            if view is None:
                draft.release()
            message, lost = await task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        written = self._written(state, [*news, message], emit, view)
        if lost:
            written["talks"][self.speaker.name]["messages"] = state["talks"][self.speaker.name]["messages"][lost:]
        return written

    async def _reply(self, state: State, runtime: Runtime[Context], draft: Draft) -> tuple[AIMessage, int]:
        """Return the reply, and how many messages had to be cut from the history before the model took it."""
        if self.speaker.agent is not None:
            outcome = await self.speaker.agent.ainvoke({"messages": heard_so_far(self.speaker, state)})
            answer = AIMessage(outcome["messages"][-1].text)
            draft.hear(answer.text)
            return answer, 0
        try:
            return await self._ask(state, runtime, draft), 0
        except ModelUnavailable as failure:
            whole = heard_so_far(self.speaker, state)
            lost = len(whole) - len(cut_harder(whole))
            if failure.trouble != "too_long" or not lost:
                raise
        LOG.warning("thread %s: %s goes on with a shorter history", runtime.context.thread, self.speaker.name)
        draft.emit(Error(code="model_retry", text=""))
        return await self._ask(self._without(lost, state), runtime, draft), lost

    async def _ask(self, state: State, runtime: Runtime[Context], draft: Draft) -> AIMessage:
        listener = Listener(self.speaker.name, draft.emit, draft.hear)
        messages = self.prompting.messages(self.speaker, state, runtime.context)
        tools = [*self.prompting.tools(self.speaker, state["lang"]), *self.prompting.picked(self.speaker, state)]
        return await reply(runtime.context.models.chain(self.speaker.name), messages, tools, listener)

    def _without(self, lost: int, state: State) -> State:
        talks, name = state["talks"], self.speaker.name
        return {**state, "talks": {**talks, name: {**talks[name], "messages": talks[name]["messages"][lost:]}}}

    async def _verdict(self, state: State, runtime: Runtime[Context]) -> Verdict:
        runtime.context.ballot.open(state["asked"])
        return await runtime.context.ballot.verdict()

    def _news(self, state: State) -> list[AnyMessage]:
        """Return what the speaker hears now and has not heard yet: the user, and of tools that may help."""
        talk = state.get("talks", {}).get(self.speaker.name, {})
        heard = heard_message(state["heard"], talk)
        if heard is None:
            return []
        shelf = self.prompting.shelves.get(self.speaker.name)
        cards = shelf.offer(state, [*talk.get("messages", []), heard]) if shelf else None
        return [heard, cards] if cards else [heard]

    def _heard(self, state: State, news: list[AnyMessage]) -> State:
        """Return the state with the news in the speaker's history."""
        talk = state.get("talks", {}).get(self.speaker.name, {})
        heard: Talk = {**talk, "messages": [*talk.get("messages", []), *news]}
        return {**state, "talks": {**state.get("talks", {}), self.speaker.name: heard}}

    def _written(
        self, state: State, added: list[AnyMessage], emit: Callable[[Event], None], view: View | None
    ) -> dict[str, Any]:
        """Write the reply down; what the user sees is the view of the last tool, if it gave one."""
        talk, message = state.get("talks", {}).get(self.speaker.name, {}), cast(AIMessage, added[-1])
        update: TalkUpdate = {"add": added}
        if "form" in talk:
            update["form"] = talk["form"]
        if self.speaker.history == "summarise":
            update["summary"] = talk.get("summary", "")
        whole: dict[str, Any] = {"talks": {self.speaker.name: update}, "verdict": STAY.plain(), "said": []}
        if view is not None and not all(self._passes(call["name"]) for call in message.tool_calls):
            return whole
        if view is not None:
            shown, events = show(view, self.speaker.name, state, message.text)
            for event in events:
                emit(event)
            return {**whole, **shown}
        if message.text.strip():
            whole["said"] = [{"speaker": self.speaker.name, "text": message.text}]
            emit(Message(speaker=self.speaker.name, text=message.text))
        return whole

    def _passes(self, tool: str) -> bool:
        """Tell whether a call only passes the conversation on: whoever speaks next has words of their own."""
        return tool == HAND_BACK or self.prompting.speakers.by_tool(tool) is not None

    async def _with_form(self, state: State, runtime: Runtime[Context]) -> State:
        """Begin with what long-term memory knows of the form."""
        talk = state.get("talks", {}).get(self.speaker.name, {})
        if "form" in talk or runtime.store is None:
            return state
        item = await runtime.store.aget(namespace_of(runtime.context.user, "forms"), self.speaker.name)
        known = item.value if item else {}
        return {**state, "talks": {**state.get("talks", {}), self.speaker.name: {**talk, "form": known}}}
