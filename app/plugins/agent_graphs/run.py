"""Ask an agent graph for a dialog's answer.

Each run of a graph has a journal: checkpoints in a thread of their own beside the conversation's. A killed process
goes on in it with the node that it had reached, and a run that waits for the user goes on with the answers. Between
two runs the state of the conversation keeps the values of the graph's own keys.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context as Variables
from contextvars import copy_context
from functools import partial
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.errors import ParentCommand, is_invalid_resume
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot, StreamMode

from agents.conversation.prompt import with_contents
from agents.errors import ContractError, GarbledReply, ModelUnavailable
from agents.language.text.clean import whole
from agents.language.text.vocabulary import says
from agents.memory.checkpointer import WITHIN, Saver
from agents.memory.undo_log import ToolWrite
from agents.models.answer import AnswerText
from agents.models.failures import diagnose, is_models
from agents.models.message_order import in_order
from agents.models.text_calls import Offer
from agents.sources.attachments import Contents
from agents.state import talk_of
from agents.state.message_notes import notes
from agents.state.speaker_state import Json, SpeakerUpdate
from agents.toolkit.handover_tools import ASK, HAND_BACK
from agents.toolkit.speaker import AgentTurn
from agents.toolkit.tool_code import handed_off, prompt_of
from app.plugins.agent_graphs.answer import HEARD, STRUCTURED, RunAnswer
from app.plugins.agent_graphs.interrupts import questions, resumed
from app.plugins.agent_graphs.journal import Journal, changed_in, is_plain, unkept
from app.plugins.agent_graphs.reports import Bound, Reports, UsedUp
from dialogs import input_keys
from prompts import phrase


class AgentRun:
    """A run of a dialog's agent graph, begun or gone on with in one turn."""

    def __init__(self, turn: AgentTurn, saver: Saver) -> None:
        self.turn, self.name, self.lang = turn, turn.speaker.name, turn.state["lang"]
        agent = turn.speaker.agent
        assert isinstance(agent, Pregel)  # `Dialog` takes no other one
        self.journal = Journal(saver, agent)
        self.graph = agent.copy({"checkpointer": self.journal})
        self.thread = WITHIN.join((turn.context.thread, turn.context.user, self.name))
        self.reports = Reports(self.name, turn.emit, turn.context.spent, turn.context.limits)
        self.heard = heard_by(turn)
        self._offer = Offer((), "\n".join(message.text for message in self.heard))
        self._texts: dict[str | None, AnswerText] = {}
        self._values: object = None
        self._inner: object = None
        """The structured output of a graph within this one."""
        here = copy_context()
        self._hear: Callable[[str], None] = lambda text: here.run(turn.feed, text)

    async def reply(self) -> tuple[AIMessage, SpeakerUpdate]:
        """Return the answer, the questions or the handoff of the run, and the graph's own values.

        The graph runs in a context of its own: in ours, LangGraph would treat it as a part of our graph.

        Raises:
            ModelUnavailable: the provider of a model failed.
            ContractError: the graph does something that no dialog can do.
        """
        task = asyncio.create_task(self._run(), context=Variables())
        try:
            return await task
        except GarbledReply as garbled:
            raise ModelUnavailable("garbled", f"agent of {self.name}", str(garbled)) from None
        except ContractError as broken:
            raise ContractError(f"the agent of {self.name} {broken} (docs/langgraph-agents.md)") from broken
        except Exception as failure:
            if not is_models(failure):
                raise
            raise ModelUnavailable(diagnose(failure), f"agent of {self.name}") from failure
        finally:
            task.cancel()
            await self._note_writes()

    async def _run(self) -> tuple[AIMessage, SpeakerUpdate]:
        turn, talk = self.turn, talk_of(self.turn.state, self.name)
        run = _run_answered(turn.history) or f"{turn.state['heard']['id']} {len(turn.history)}"
        settled = talk.get("settled", "")
        config: RunnableConfig = {
            "configurable": {"thread_id": self.thread},
            "metadata": {"run": run, "settled": settled},
            "callbacks": [self.reports, Bound(self.reports)],
            "recursion_limit": turn.context.limits.steps,
        }
        snapshot = await self.graph.aget_state(config)
        step: Json | Command[Any] | None = None
        # The open question of a dialog that was ended is not asked again.
        if snapshot.interrupts and _about(snapshot).get("settled") == settled:
            answers = self._answers(snapshot)
            if not answers:
                return self._asking(snapshot), {}
            await self._refuse(changed_in(_about(snapshot)))
            step = Command(resume=answers)
        elif _about(snapshot).get("run") != run and not self._goes_on(snapshot, settled):
            await self.journal.adelete_thread(self.thread)
            packed = {key: self.journal.unpacked(value) for key, value in talk.get("packed", {}).items()}
            step = {**talk.get("inside", {}), **packed, "messages": self.heard}
        elif snapshot.tasks:
            await self._refuse(changed_in(_about(snapshot)))
        if step is not None or snapshot.tasks:
            if passed := await self._go(step, config):
                return _hand_back(passed, turn.history), {}
            snapshot = await self.graph.aget_state(config)
            if snapshot.tasks:
                await self._refuse(self.journal.changed)
        await self.journal.aprune([self.thread])
        if self.reports.refused:
            return AIMessage(phrase("turn_spent", self.lang, most=turn.context.limits.turn_calls)), {}
        return await self._outcome(snapshot)

    async def _refuse(self, changed: str) -> None:
        """End a run that would go on with values of these keys that are not as they were; the next run begins anew."""
        if changed:
            await self.journal.adelete_thread(self.thread)
            raise unkept(changed)

    def _goes_on(self, snapshot: StateSnapshot, settled: str) -> bool:
        """Tell whether the user wants to continue a run that stopped at a node when the turn's calls were used up."""
        is_stopped = bool(snapshot.tasks) and _about(snapshot).get("settled") == settled
        return is_stopped and says("go_on", self.turn.state["heard"]["text"] or "", self.lang)

    async def _outcome(self, snapshot: StateSnapshot) -> tuple[AIMessage, SpeakerUpdate]:
        """Return the outcome of a run: questions, an answer, or a handoff."""
        if snapshot.interrupts:
            return self._asking(snapshot), {}
        # Stored values have lost their undeclared types; streamed values have them.
        values = snapshot.values if self._values is None else self._values
        if isinstance(values, Mapping) and isinstance(snapshot.values, Mapping):
            values = {**snapshot.values, **values}
        outputs = self.graph.output_channels
        own = (
            {*([outputs] if isinstance(outputs, str) else outputs)} - input_keys(self.graph) - {"messages", STRUCTURED}
        )
        ran = [done.id for done in self.reports.done]
        answer = RunAnswer(values, self._offer, self.lang, outputs=sorted(own), inner=self._inner, ran=ran)
        last = answer.said[-1] if answer.said else None
        if not isinstance(last, AIMessage) and self.reports.passed_on:
            # No graph within this one has the agent that a handoff tool has named.
            return _hand_back(self.reports.passed_on, self.turn.history), {}
        try:
            text = "" if snapshot.tasks else answer.text()
        except GarbledReply:
            # The same message begins a new run, unless a tool was called: its effect must not happen twice.
            if not any(isinstance(message, ToolMessage) for message in answer.said):
                await self.journal.adelete_thread(self.thread)
            raise
        if not text:
            raise ContractError("stops without an answer")
        return AIMessage(text), self._own_keys(values if isinstance(values, Mapping) else {})

    def _answers(self, snapshot: StateSnapshot) -> dict[str, object]:
        """Return the values for the interrupts that the user has answered."""
        texts: dict[str, dict[int, str]] = {}
        for message in self.turn.history:
            if isinstance(message, ToolMessage) and message.name == ASK and message.status == "success":
                id, place, _ = message.tool_call_id.split(".")
                texts.setdefault(id, {})[int(place)] = message.text
        answers = {id: [text for _, text in sorted(by_place.items())] for id, by_place in texts.items()}
        values = {it.id: resumed(it, answers.get(it.id, ()), self.lang) for it in snapshot.interrupts}
        return {id: value for id, value in values.items() if value is not None}

    async def _go(self, step: Json | Command[Any] | None, config: RunnableConfig) -> Command[Any] | None:
        """Let the graph run until it stops; return the command by which it has left for a dialog."""
        try:
            await self._stream(step, config)
        except ParentCommand as passed:
            command: Command[Any] = passed.args[0]
            return command
        except UsedUp:
            pass
        except Exception as failure:
            if not is_invalid_resume(failure):
                raise
        return None

    async def _stream(self, step: Json | Command[Any] | None, config: RunnableConfig) -> None:
        modes: list[StreamMode] = ["messages", "values"]
        parts = self.graph.astream(
            step, config, context=self.turn.context, stream_mode=modes, subgraphs=True, durability="sync"
        )
        async for place, mode, part in cast(AsyncIterator[tuple[tuple[str, ...], str, Any]], parts):
            if mode == "messages":
                self._take(part[0])
            elif not place:
                self._values = part
            elif isinstance(part, Mapping) and part.get(STRUCTURED) is not None:
                self._inner = part[STRUCTURED]
        for text in self._texts.values():
            self._show(text, text.rest)

    def _take(self, piece: object) -> None:
        if isinstance(piece, AIMessage) and piece.text:
            text = self._texts.setdefault(piece.id, AnswerText(offer=self._offer))
            self._show(text, partial(text.feed, piece.text))

    def _show(self, text: AnswerText, read: Callable[[], str]) -> None:
        """Show the readable piece of a text, unless the text may be structured output."""
        with suppress(GarbledReply):
            piece = read()
            if not text.answer.startswith(("{", "[")):
                self._hear(piece)

    def _asking(self, snapshot: StateSnapshot) -> AIMessage:
        """Return calls with the graph's questions to the user; each id begins with that of the interrupt."""
        calls, most = list[ToolCall](), self.turn.context.limits.calls_per_reply
        for waiting in snapshot.interrupts:
            for place, question in enumerate(questions(waiting, self.lang)):
                id = f"{waiting.id}.{place}.{len(self.turn.history)}"
                calls.append(ToolCall(name=ASK, args={"question": whole(question)}, id=id, type="tool_call"))
        if len(calls) > most:
            raise ContractError(f"asks {len(calls)} questions at once, and {most} is the most")
        return AIMessage("", id=str(_about(snapshot).get("run")), tool_calls=calls)

    def _own_keys(self, values: Mapping[str, object]) -> SpeakerUpdate:
        """Return the values of the graph's input keys, without the messages."""
        plain, packed = dict[str, object](), dict[str, list[str]]()
        for key in values.keys() & input_keys(self.graph) - {"messages", STRUCTURED}:
            if is_plain(values[key], messages=False):
                plain[key] = values[key]
            elif (texts := self.journal.packed(values[key])) is not None:
                packed[key] = texts
            else:
                kind = type(values[key]).__name__
                raise ContractError(f"keeps under {key!r} what is not plain JSON and would come back changed ({kind})")
        return {"inside": plain, "packed": packed}

    async def _note_writes(self) -> None:
        """Enter the tool calls in the undo log as ones that cannot be undone: an undo tells the user so."""
        context, heard = self.turn.context, self.turn.state["heard"]["id"]
        place = {"thread": context.thread, "user": context.user, "message": heard, "speaker": self.name}
        if context.undo is not None:
            for done in self.reports.done:
                await context.undo.note(ToolWrite(**place, tool=done.tool, call=done.id), {"args": {**done.args}})


def _about(snapshot: StateSnapshot) -> Mapping[str, object]:
    return cast(Mapping[str, object], snapshot.metadata or {})


def heard_by(turn: AgentTurn) -> list[AnyMessage]:
    """Return the history for an agent: without our notes and handoffs, and with its own questions as text.

    The texts of files beside the message stand with it. It is unknown whether the agent's model takes pictures, so a
    note says that it cannot see them.
    """
    spoken, lang = list[AnyMessage](), turn.state["lang"]
    for message in with_contents(turn.history, turn.state["heard"], Contents(texts=turn.context.contents.texts), lang):
        if isinstance(message, AIMessage) and message.tool_calls:
            questions = [call["args"]["question"] for call in message.tool_calls if call["name"] == ASK]
            text = "\n".join(filter(None, (message.text, *map(prompt_of, questions))))
            spoken += [AIMessage(text)] if text else []
        elif isinstance(message, ToolMessage):
            spoken += [HumanMessage(message.text)] if message.name == ASK and message.status == "success" else []
        elif not isinstance(message, SystemMessage):
            spoken.append(message)
    role = notes(lang=lang, forwarding="custom") if turn.speaker.is_custom else {}
    _, *heard = in_order([SystemMessage("", additional_kwargs={**role}), *spoken])
    return [message.model_copy(update={"id": f"{HEARD}{place}"}) for place, message in enumerate(heard)]


def _run_answered(history: Sequence[AnyMessage]) -> str:
    """Return the id of the run whose question the last message answers; empty if it answers none."""
    last = history[-1] if history else None
    if not isinstance(last, ToolMessage) or last.name != ASK or last.status == "error":
        return ""
    return next((message.id or "" for message in reversed(history) if isinstance(message, AIMessage)), "")


def _hand_back(command: Command[Any], history: Sequence[AnyMessage]) -> AIMessage:
    """Return a call that hands the conversation back, or over to the dialog that a handoff names."""
    call = ToolCall(name=HAND_BACK, args={}, id=f"hand-back-{len(history)}", type="tool_call")
    goto = handed_off(command, call).artifact.goto
    wish = command.update.get("wish") if isinstance(command.update, Mapping) else None
    if wish is None:
        wish = next((message.text for message in reversed(history) if isinstance(message, HumanMessage)), "")
    return AIMessage("", tool_calls=[{**call, "args": {"wish": str(wish), "target": goto}}])
