"""OpenAI's Responses API, the default of its newer clients."""

import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.sse import format_sse_event
from pydantic import Field, ValidationError

from agents.language.text.clean import safe_json
from app.doors.http import exchange
from app.doors.http.delivery import streamed, whole
from app.doors.http.histories import UnknownAnswer
from app.plugins.openai_api.completions import ChatMessage, Completion, Content, Talking
from app.plugins.openai_api.form import Arguments, CallId, OrOne, Sent, SentCall, SentFunction, error_of
from app.plugins.openai_api.reply import Reply

PREFIX = "resp_"
KINDS = {"input_text": "text", "output_text": "text", "input_image": "image_url"}
"""The kinds of parts, with their names in chat completions."""
CALLS, RESULTS = ("function_call", "custom_tool_call"), ("function_call_output", "custom_tool_call_output")
READ = ("message", *CALLS, *RESULTS)
"""The kinds of items with a message, a call or its result."""
ITEM_ID = re.compile(r"(?:msg|fc_\d+)_(.+)")
"""The form of the ids of our items; behind it stands the id of the message that they answer."""
STATUSES = {422: 400}
"""The statuses of OpenAI's API in place of the door's; the door finds them here."""
UNDONE: Mapping[str, object] = {"background": False, "conversation": None, "prompt": None}
"""The unsupported fields, with the values that change nothing."""
FIELDS = {"messages": "input", "response_format": "text.format"}
"""The names of fields of chat completions in this form."""
router = APIRouter(
    prefix="/v1",
    responses=exchange.FAULTS,
    dependencies=[exchange.allowed("talk")],
    route_class=exchange.HistoryRoute,
)


class ResponseItem(Sent):
    """A message of the input, a call, the result of one, or the name of an item that we sent."""

    main = "content"
    type: str = "message"
    id: Annotated[str, Field(max_length=2 * exchange.LONGEST_NAME)] = ""
    role: Annotated[str, Field(max_length=40)] = "user"
    content: Content = ""
    call_id: CallId = ""
    name: str = ""
    arguments: Arguments = ""
    output: Content = ""

    def message(self) -> ChatMessage:
        """Return the item as a message of chat completions."""
        if self.type in CALLS:
            function = SentFunction(name=self.name, arguments=self.arguments)
            return ChatMessage(role="assistant", tool_calls=[SentCall(id=self.call_id, function=function)])
        if self.type in RESULTS:
            return ChatMessage(role="tool", tool_call_id=self.call_id, content=_content(self.output))
        return ChatMessage(role=self.role, content=_content(self.content))


def _content(content: Content) -> Content:
    """Return the content of an item in the form of chat completions."""
    if isinstance(content, str):
        return content
    return [part.model_copy(update={"type": KINDS.get(part.type, part.type)}) for part in content]


class NewResponse(Sent):
    """A request; the client's other fields are refused or ignored as in chat completions."""

    model: Annotated[str, Field(max_length=exchange.LONGEST_NAME)]
    input: Annotated[list[ResponseItem], Field(min_length=1), OrOne]
    previous_response_id: Annotated[str | None, Field(max_length=exchange.LONGEST_NAME + len(PREFIX))] = None
    stream: bool = False
    max_output_tokens: Annotated[int | None, Field(ge=16)] = None
    user: Annotated[exchange.Name | None, exchange.SentName] = None

    def completion(self) -> Completion:
        """Return the request as one for chat completions. Raises HttpRefusal: it has an unsupported field."""
        others = self.model_extra or {}
        text = others.pop("text", None)
        others["response_format"] = text.get("format") if isinstance(text, dict) else text
        if wrong := next((name for name, value in UNDONE.items() if others.get(name, value) not in (value, None)), ""):
            raise exchange.unsupported(f"{wrong!r} is not supported here.", wrong)
        for item in self.input[-1:]:
            if item.type not in (*READ, "reasoning"):
                message = f"The last item may not be of the kind {item.type!r}; these are read: {', '.join(READ)}."
                raise exchange.unsupported(message, "input")
        # The thoughts and the own searches of a model that answered before were never said to anybody.
        messages = [item.message() for item in self.input[self.known[0] :] if item.type in READ]
        fields = {"model": self.model, "messages": messages, "user": self.user}
        try:
            return Completion.model_validate({**others, **fields, "max_tokens": self.max_output_tokens})
        except ValidationError as fault:
            raise exchange.HttpRefusal(422, exchange.first_fault(fault)[1], "invalid", "input") from None

    @property
    def known(self) -> tuple[int, str]:
        """The number of items that an answer of ours ends, and the id of the message that it answers."""
        named = [(place, item.id) for place, item in enumerate(self.input, 1) if item.type == "item_reference"]
        ours = [(place, match[1]) for place, id in named if (match := ITEM_ID.fullmatch(id))]
        return ours[-1] if ours else (0, (self.previous_response_id or "").removeprefix(PREFIX))


@router.post("/responses", responses=exchange.STREAMED)
async def respond(body: NewResponse, talking: Annotated[Talking, Depends()]) -> Response:
    """Answer the last message, behind the named response or behind the input before it."""
    place, behind = body.known
    try:
        completion = body.completion()
        reply, headers = await talking.reply(completion, behind)
    except exchange.HttpRefusal as refused:
        refused.param = FIELDS.get(refused.param or "", refused.param)
        raise
    except UnknownAnswer:
        if place:
            raise
        message = f"Previous response with id {body.previous_response_id!r} not found."
        raise exchange.HttpRefusal(400, message, "previous_response_not_found", "previous_response_id") from None
    writer = ResponseWriter(reply, body.previous_response_id, parallel=completion.parallel_tool_calls is not False)
    return streamed(writer.stream(), headers) if body.stream else whole(writer.total(), headers)


class ResponseWriter:
    """Writes an answer as a response."""

    def __init__(self, reply: Reply, before: str | None, *, parallel: bool) -> None:
        self._reply, self._number = reply, 0
        self._head = {
            "id": f"{PREFIX}{reply.id}",
            "object": "response",
            "created_at": int(time.time()),
            "model": reply.model,
            "previous_response_id": before,
            **{"parallel_tool_calls": parallel, "tool_choice": "auto", "tools": [], "metadata": {}},
            **dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p")),
        }

    async def total(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the whole response. Raises HttpRefusal: the answer has failed."""
        async for _ in self._reply.deltas():
            pass
        await self._reply.keep(self._reply.answer)
        yield self._response()

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the events of the response. Raises HttpRefusal: the answer has failed before its first word."""
        is_begun = False
        try:
            async for delta in self._reply.deltas():
                if "content" in delta:
                    if not is_begun:
                        yield b"".join(self._begin(has_words=True))
                    is_begun = True
                    words = {**self._place, "content_index": 0, "delta": delta["content"], "logprobs": []}
                    yield self._frame("response.output_text.delta", words)
        except exchange.HttpRefusal as failed:
            if not is_begun:
                raise
            yield self._frame("error", error_of(failed.status_code, failed.detail, failed.code))
            return
        await self._reply.keep(self._reply.answer)
        if not is_begun:
            yield b"".join(self._begin(has_words=not self._reply.calls))
        response = self._response()
        for place, item in enumerate(response["output"]):
            yield b"".join(self._call(place, item) if item["type"] == "function_call" else self._end(item))
        yield self._frame(f"response.{response['status']}", {"response": response})

    @property
    def _place(self) -> dict[str, object]:
        return {"item_id": f"msg_{self._reply.id}", "output_index": 0}

    def _begin(self, *, has_words: bool) -> Iterator[bytes]:
        yield self._frame("response.created", {"response": {**self._head, "status": "in_progress", "output": []}})
        if has_words:
            added = {"output_index": 0, "item": self._item("in_progress")}
            yield self._frame("response.output_item.added", added)
            part = {**self._place, "content_index": 0, "part": self._part("")}
            yield self._frame("response.content_part.added", part)

    def _end(self, item: Mapping[str, object]) -> Iterator[bytes]:
        in_part, text = {**self._place, "content_index": 0}, self._reply.text
        yield self._frame("response.output_text.done", {**in_part, "text": text, "logprobs": []})
        yield self._frame("response.content_part.done", {**in_part, "part": self._part(text)})
        yield self._frame("response.output_item.done", {"output_index": 0, "item": item})

    def _response(self) -> dict[str, Any]:
        usage, is_whole = self._reply.usage, self._reply.reason in ("stop", "tool_calls")
        usage_counts = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }
        why = "content_filter" if self._reply.reason == "content_filter" else "max_output_tokens"
        ended = {"incomplete_details": None if is_whole else {"reason": why}}
        status = "completed" if is_whole else "incomplete"
        return {**self._head, "status": status, "output": self._output(status), "usage": usage_counts, **ended}

    def _output(self, status: str) -> list[dict[str, Any]]:
        calls = [
            {
                "id": f"fc_{place}_{self._reply.id}",
                "type": "function_call",
                "call_id": call.id,
                **call.function.model_dump(),
                "status": "completed",
            }
            for place, call in enumerate(self._reply.calls)
        ]
        return [*([self._item(status)] if self._reply.text or not calls else []), *calls]

    def _call(self, place: int, item: dict[str, Any]) -> Iterator[bytes]:
        at, arguments = {"item_id": item["id"], "output_index": place}, item["arguments"]
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield self._frame("response.output_item.added", {"output_index": place, "item": begun})
        yield self._frame("response.function_call_arguments.delta", {**at, "delta": arguments})
        done = {**at, "name": item["name"], "arguments": arguments}
        yield self._frame("response.function_call_arguments.done", done)
        yield self._frame("response.output_item.done", {"output_index": place, "item": item})

    def _item(self, status: str) -> dict[str, Any]:
        content = [] if status == "in_progress" else [self._part(self._reply.text)]
        return {
            "id": f"msg_{self._reply.id}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _part(self, text: str) -> dict[str, Any]:
        notes = [{"type": note["type"], **note["url_citation"]} for note in self._reply.annotations if text]
        return {"type": "output_text", "text": text, "annotations": notes, "logprobs": []}

    def _frame(self, name: str, fields: Mapping[str, object]) -> bytes:
        # A fault has a type of its own.
        data = {**fields, "type": name, "sequence_number": self._number}
        self._number += 1
        return format_sse_event(data_str=safe_json(data), event=name)
