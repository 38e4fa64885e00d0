"""AG-UI: front ends of this protocol run the assistant as an agent; each turn is a run."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from ag_ui import core
from fastapi import APIRouter, Header, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import Field

from agents import events
from agents.events.views import Notice
from agents.language.text.clean import safe_json
from agents.state import SUPERVISOR
from agents.state.person import ASIDE, RESULT
from agents.toolkit.client_tools import written_results
from agents.toolkit.questions import CHOICE
from agents.toolkit.questions.options import CONFIRM
from app.assistant import Assistant, Turn
from app.assistant.pictures import MOST_PICTURES
from app.assistant.turn import Exchange
from app.doors.client_answers import MARK
from app.doors.http import exchange
from app.doors.http.answers import Answer
from app.doors.http.client_tools import bounded_results, described_tools
from app.doors.http.delivery import ALIVE_EVERY, STILL_HERE, streamed
from app.doors.http.exchange import BETWEEN
from app.doors.http.histories import Histories
from app.doors.http.questions import answer_message, schema_of
from app.doors.http.uploads import Upload, decoded, with_uploads
from prompts import FALLBACK, sentence

File = core.ImagePart | core.AudioPart | core.VideoPart | core.DocumentPart
OF_CLIENT = "client-"
"""The beginning of the ids of the front end's own calls."""
router = APIRouter(
    responses=exchange.FAULTS, dependencies=[exchange.allowed("talk")], route_class=exchange.FrontEndRoute
)


class NewRun(core.RunAgentInput):
    """The request of a front end. Its state and context are left alone, for the assistant has its own."""

    thread_id: exchange.Name
    run_id: exchange.Name
    messages: Annotated[list[core.Message], Field(max_length=exchange.MOST_MESSAGES)]
    context: Any = None
    resume: Annotated[list[core.ResumeEntry], Field(max_length=1)] | None = None


@router.post("/agui", response_class=StreamingResponse, responses=exchange.STREAMED)
async def run(
    body: NewRun,
    key: exchange.Caller,
    assistant: exchange.Served,
    answers: exchange.Running,
    reader: exchange.Reader,
    idempotency_key: exchange.IdempotencyKey = None,
    x_user_id: Annotated[exchange.Name | None, Header(), exchange.SentName] = None,
) -> StreamingResponse:
    """Play a turn as a run, whose id is the message's id; without any message the assistant speaks first."""
    thread, id = key.inside(body.thread_id), idempotency_key or body.run_id
    tools = described_tools([tool.model_dump() for tool in body.tools or ()])
    turn = Turn(thread=thread, text=None, user=key.user(x_user_id), id=id, device=exchange.DEVICE, rings=False)
    turn = replace(turn, tools=tools)
    call = await assistant.asked_call(thread, turn.owner) if body.resume else ""
    heard, before = await _heard(body, turn, Histories(assistant, key, turn.user, thread, resends=False), reader)
    answer = await answers.to(heard, key.holder) if heard else Answer.over(turn)
    answer.continues = answer.continues or call
    return streamed(_frames(RunWriter(body, answer.continues, answer.turn.id), before, answer, assistant))


async def _heard(
    body: NewRun, turn: Turn, histories: Histories, reader: exchange.Reader
) -> tuple[Turn | None, Sequence[events.Event]]:
    """Return the turn to be played, and the events before it. Raises HTTPException: the user has no new message."""
    aside = await _aside(body, turn, histories.assistant)
    if body.resume and not aside:
        try:
            return await _resumed(body.resume[0], turn, histories.assistant), ()
        except HTTPException as refusal:
            # Front ends expect this as an event of the run.
            return None, [events.Error(code="no_answer", text=refusal.detail)]
    last = _newest(body.messages)
    if last is None:
        return turn, ()
    if not (isinstance(last, core.UserMessage) or _is_result(last)):
        raise HTTPException(422, exchange.LAST_IS_USERS)
    files = last.content if isinstance(last, core.UserMessage) and not isinstance(last.content, str) else []
    uploads = [_upload(part) for part in files if not isinstance(part, core.TextPart)]
    if isinstance(last, core.UserMessage) and not _text(last).strip() and not uploads:
        raise HTTPException(422, exchange.EMPTY)
    *history, message = exchanges(body.messages)
    turn = replace(turn, id=aside or turn.id, source=ASIDE if aside else message.source)
    place = await histories.place(history, message, turn.id)
    turn = replace(turn, text=message.text, after=place.after, before=place.before)
    reading = await with_uploads(reader, turn, uploads[:MOST_PICTURES], FALLBACK)
    return reading.turn, [events.Message(speaker=SUPERVISOR, text=remark) for remark in reading.remarks]


async def _aside(body: NewRun, turn: Turn, assistant: Assistant) -> str:
    """Return the id of the new message beside a cancelled question; empty if there is none."""
    if not body.resume or body.resume[0].status != "cancelled":
        return ""
    last = _newest(body.messages)
    heard = await assistant.last_message(turn.thread, turn.owner)
    if not isinstance(last, core.UserMessage) or heard is None:
        return ""
    id = _behind(body.resume[0], turn)
    if heard.message_id == id:
        return id if heard.source == ASIDE else ""
    call = await assistant.asked_call(turn.thread, turn.owner)
    is_asked = bool(call) and call in _announced(body.messages)
    is_again = heard.source == CHOICE and heard.message_id.rpartition(MARK)[0] == turn.id
    return id if is_asked or not (is_again or heard.text == _text(last)) else ""


def _newest(messages: Sequence[core.Message]) -> core.Message | None:
    """Return the last message without the results of our own calls: a front end invents one for a cancelled call."""
    spoken = (
        message for message in reversed(messages) if not isinstance(message, core.ToolMessage) or _is_result(message)
    )
    return next(spoken, None)


def _behind(entry: core.ResumeEntry, turn: Turn) -> str:
    """Return the id of a message that leaves a question: front ends may resume a run under the same id."""
    return f"{turn.id}/{entry.interrupt_id}"


def _announced(messages: Sequence[core.Message]) -> set[str]:
    """Return the calls that a front end knows."""
    spoken = [message for message in messages if isinstance(message, core.AssistantMessage)]
    return {call.id for message in spoken for call in message.tool_calls or ()}


def _text(message: core.UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, core.TextPart))


def _is_result(message: core.Message) -> bool:
    """Tell whether a message has the result of a client's tool; a history also shows the results of ours."""
    return isinstance(message, core.ToolMessage) and message.tool_call_id.startswith(OF_CLIENT)


def exchanges(messages: Sequence[core.Message]) -> list[Exchange]:
    """Return the messages of both sides, and the results of the client's tools, as exchanges."""
    talk, results = list[Exchange](), list[tuple[str, str]]()
    for message in messages:
        if isinstance(message, core.ToolMessage) and _is_result(message):
            talk = talk[:-1] if results else talk
            results.append((message.tool_call_id.removeprefix(OF_CLIENT), str(message.content)))
            talk.append(Exchange(written_results(bounded_results(results)), "", RESULT))
        elif isinstance(message, core.UserMessage):
            results, talk = [], [*talk, Exchange(_text(message), "")]
        elif isinstance(message, core.AssistantMessage):
            results = []
            if message.content:
                talk = talk or [Exchange(None, "")]
                talk[-1] = replace(talk[-1], answer=BETWEEN.join(filter(None, (talk[-1].answer, message.content))))
    return talk


async def _resumed(entry: core.ResumeEntry, turn: Turn, assistant: Assistant) -> Turn:
    """Return the turn that answers a question, or leaves it. Raises HTTPException: it does not answer it."""
    if entry.status == "cancelled":
        question = await assistant.question(turn.thread, turn.owner)
        is_left = question is not None and question.id == entry.interrupt_id and question.kind != CONFIRM
        left = _behind(entry, turn)
        if is_left or await assistant.message(turn.thread, left):
            return replace(turn, id=left, text=sentence("page", "never_mind", FALLBACK))
    answer = False if entry.status == "cancelled" else entry.payload
    text, id = await answer_message(assistant, turn.thread, turn.owner, turn.id, answer, entry.interrupt_id)
    return replace(turn, text=text, id=id, source=CHOICE)


def _upload(part: File) -> Upload:
    """Return a file of a message; one that lies elsewhere is not fetched."""
    data = decoded(part.source.value) if isinstance(part.source, core.DataSource) else b""
    name = str(part.metadata.get("filename", ""))[:100] if isinstance(part.metadata, dict) else ""
    return Upload(data, name, "photo" if isinstance(part, core.ImagePart) else None)


async def _frames(
    writer: "RunWriter", before: Sequence[events.Event], answer: Answer, assistant: Assistant
) -> AsyncIterator[bytes]:
    """Yield a run as Server-Sent Events; a question of an earlier run that is still open is asked again."""
    written = [writer.begin(), *(frame for event in before for frame in writer.take(event))]
    async for batch in answer.batches(ALIVE_EVERY):
        for event in batch:
            if isinstance(event, events.TurnEnd) and event.waiting and not writer.interrupts:
                question = await assistant.question(answer.turn.thread, answer.turn.owner)
                written += writer.take(question) if question else ()
            written += writer.take(event)
        if frames := b"".join(map(_frame, written)) if batch else STILL_HERE:
            yield frames
        written.clear()
    yield b"".join(map(_frame, [*written, *writer.end()]))


def _frame(event: core.BaseEvent) -> bytes:
    return format_sse_event(data_str=safe_json(event.model_dump(mode="json", by_alias=True)))


class RunWriter:
    """Writes the events of one turn as those of a run."""

    def __init__(self, body: NewRun, continues: str = "", turn: str = "") -> None:
        """`continues` is the call of an earlier run that goes on; `turn` is the id of the turn, if not that of the run.

        Messages are named by the turn: a front end may resume a run under the same id.
        """
        self._turn, self._ids = turn or body.run_id, {"thread_id": body.thread_id, "run_id": body.run_id}
        self._count, self._message, self._shown = 0, "", ""
        """The number of messages so far; the last one's id, and its text so far if it is not whole."""
        self._called = _announced(body.messages) | {continues}
        """The calls that the front end knows; those of an earlier run go on in this one."""
        self._working: list[str] = []
        """The calls of this run that have no result."""
        self.interrupts: list[core.Interrupt] = []
        self._usage: list[core.TokenUsage] = []
        self._end: core.RunErrorEvent | core.RunFinishedCancelledOutcome | None = None

    def begin(self) -> core.BaseEvent:
        """Return the first event of a run."""
        return core.RunStartedEvent(**self._ids, protocol_version=core.PROTOCOL_VERSION)

    def take(self, event: events.Event) -> Iterator[core.BaseEvent]:
        """Yield the events of the run for the next event of the turn."""
        match event:
            case events.TurnStart() | events.ModelStart() | events.TurnEnd():
                return
            case events.Token():
                yield from self._say(event.text, event.speaker)
            case events.Message():
                yield from self._finish(event)
            case Notice(message=text):
                yield from self._end_message()
                yield from self._finish(events.Message(speaker=SUPERVISOR, text=text))
            case events.Error():
                yield from self._fail(event)
            case events.ToolStart() | events.ToolEnd():
                yield from self._call(event)
            case events.ToolRequest():
                yield from self._announce(f"{OF_CLIENT}{event.id}", event.name, event.args)
            case events.Interrupt():
                self.interrupts.append(_interrupt(event, self._working[-1] if self._working else None))
            case events.ModelEnd(model=model):
                tokens = {"input_tokens": event.input_tokens, "output_tokens": event.output_tokens}
                self._usage.append(core.TokenUsage(model=model, cached_input_tokens=event.cached_tokens, **tokens))
            case _:
                yield core.CustomEvent(name=event.type, value=event.body())

    def end(self) -> Iterator[core.BaseEvent]:
        """Yield the last events of a run."""
        yield from self._end_message()
        if isinstance(self._end, core.RunErrorEvent):
            yield self._end
            return
        outcome: core.RunFinishedOutcome = self._end or core.RunFinishedSuccessOutcome()
        if self.interrupts:
            outcome = core.RunFinishedInterruptOutcome(interrupts=self.interrupts)
        else:
            # A front end would make a call without a result itself.
            yield from [self._result(id, "") for id in self._working]
        yield core.RunFinishedEvent(**self._ids, outcome=outcome, usage=self._usage)

    def _say(self, text: str, speaker: str) -> Iterator[core.BaseEvent]:
        if text and not self._shown:
            self._count += 1
            self._message = f"{self._turn}-{self._count}"
            yield core.TextMessageStartEvent(message_id=self._message, role="assistant", name=speaker)
        if text:
            yield core.TextMessageContentEvent(message_id=self._message, delta=text)
        self._shown += text

    def _finish(self, message: events.Message) -> Iterator[core.BaseEvent]:
        """Send the rest of a message. Shown pieces of another message cannot be taken back."""
        if not message.text.startswith(self._shown):
            yield from self._end_message()
        yield from self._say(message.text.removeprefix(self._shown), message.speaker)
        yield from self._end_message()
        if message.interrupted:
            self._end = core.RunFinishedCancelledOutcome()

    def _end_message(self) -> Iterator[core.BaseEvent]:
        if self._shown:
            yield core.TextMessageEndEvent(message_id=self._message)
        self._shown = ""

    def _fail(self, error: events.Error) -> Iterator[core.BaseEvent]:
        yield from self._end_message()
        if error.code in (events.REBUILT, *events.CUT):
            yield from self._finish(events.Message(speaker=SUPERVISOR, text=error.text))
        elif error.code != events.RETRY:
            self._end = core.RunErrorEvent(message=error.text, code=error.code)

    def _announce(self, id: str, name: str, args: Mapping[str, object]) -> Iterator[core.BaseEvent]:
        yield core.ToolCallStartEvent(tool_call_id=id, tool_call_name=name)
        yield core.ToolCallArgsEvent(tool_call_id=id, delta=safe_json(args))
        yield core.ToolCallEndEvent(tool_call_id=id)

    def _call(self, call: events.ToolStart | events.ToolEnd) -> Iterator[core.BaseEvent]:
        id = call.id or call.tool
        if f"{OF_CLIENT}{id}" in self._called:
            # Its result comes from the front end.
            return
        if id not in self._called:
            self._called.add(id)
            self._working.append(id)
            yield from self._announce(id, call.tool, call.args)
        if isinstance(call, events.ToolEnd):
            self._working = [other for other in self._working if other != id]
            yield self._result(id, call.object)

    def _result(self, call: str, content: str) -> core.BaseEvent:
        return core.ToolCallResultEvent(message_id=f"{self._turn}-{call}", tool_call_id=call, content=content)


def _interrupt(question: events.Interrupt, call: str | None) -> core.Interrupt:
    return core.Interrupt(
        id=question.id,
        reason="tool_call" if call else "input_required",
        message=question.prompt,
        tool_call_id=call,
        response_schema=schema_of(question),
        metadata={"question": question.body()},
    )
