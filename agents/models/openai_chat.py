"""Chat completions of any server that speaks OpenAI's protocol, more or less.

LangChain's class reads OpenAI's own: it drops thinking, refusals and fields that a server wants back, and loses all
calls of a piece when one has no index. Here the pieces are read as the server sends them.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from openai import APIError, APIResponseValidationError, AsyncAPIResponse

from agents.errors import BrokenReply
from agents.models import MOST_CHARACTERS
from agents.models.failures import cause_of
from agents.models.finish_reason import ENDED, PRICED
from agents.models.refusal import sentences_in
from agents.models.thinking import CALL_FIELDS, FIELDS

MOST_BYTES = 8 * MOST_CHARACTERS
"""Bytes that an event of a stream may have; a longer one is not read."""
MESSAGE_KEYS = ("role", "content", "tool_calls", "refusal", "function_call", "name", "id", "annotations", "audio")
CALL_KEYS = ("index", "id", "type", "function")
"""OpenAI's own keys of a message and of a call. A server may want any other key back."""
OPTIONS = {"max_tokens": "max_completion_tokens", "temperature": "temperature", "reasoning_effort": "reasoning_effort"}
"""The names of parameters in a request."""
NO_DATA = (b":", b"id:", b"retry:")
"""The beginnings of lines of a stream without data."""
DONE = b"[DONE]"
"""The mark behind the last piece of a stream."""
DOCUMENT = "application/json"
"""The media type of a single object in place of a stream."""
ODD = "odd"
"""The key of words in place of a piece."""
SEVERAL = 3
"""Pieces that restate the one before them; no words do so by chance."""
LINE_END = re.compile(rb"\r?\n|\r(?=[^\n])")
FAILED = re.compile(r"ResponseError\(code='(\w+)', message=(['\"])(.*?)\2(?:, \w+=|\)$)", re.DOTALL)
"""The words of LangChain's ValueError for a failed response: a code, and the server's sentence."""
BYTE_ORDER = b"\xef\xbb\xbf"
"""The mark with which a stream may begin."""


class CompatibleChat(ChatOpenAI):
    """Chat completions of a server. Only the client and the parameters are LangChain's."""

    is_streamed: bool = True
    """Whether the server is asked for a stream; a single object is read in the same way."""

    async def _astream(
        self, messages: list[BaseMessage], stop: object = None, run_manager: object = None, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        set_options = {name: value for field, name in OPTIONS.items() if (value := getattr(self, field)) is not None}
        has_usage = self.stream_usage and self.is_streamed
        usage_option = {"stream_options": {"include_usage": True}} if has_usage else {}
        body = {**set_options, **usage_option, **(self.extra_body or {}), **options, "messages": _sent(messages)}
        # The client would check and copy each message of a history; a body of its own goes as it is.
        request = self.async_client.with_streaming_response.create(
            model=self.model_name, messages=(), stream=self.is_streamed, extra_body=body
        )
        metadata: dict[str, Any] = {}
        usage: Mapping[str, Any] = {}
        odd_words, has_delta, words, pieces = "", False, _Words(), 0
        async with request as response:
            async for name, data in _events(response):
                if data == DONE or ENDED in metadata:
                    # The reply ends at the mark: later lines are not read, not even an error.
                    metadata[ENDED] = True
                    continue
                piece, pieces = _piece(name, data), pieces + 1
                if problem := piece.get("error"):
                    raise APIResponseValidationError(response.http_response, problem, message="no piece")
                odd_words = odd_words or piece.get(ODD, "")
                choices = piece.get("choices") or []
                # A count of another form is ignored; the answer stays.
                if (price := piece.get("usage")) and isinstance(price, Mapping):
                    usage, metadata[PRICED] = price, metadata.get(PRICED) or not choices
                for choice in _of_one_reply(choices):
                    if reason := choice.get("finish_reason"):
                        metadata["finish_reason"] = reason
                    has_delta = has_delta or bool(choice.get("delta"))
                    # A server that does not stream answers with the whole message; others repeat it beside a stream.
                    part = choice.get("delta" if has_delta else "message") or {}
                    chunk = _chunk(part, piece.get("id"))
                    chunk.content = words.new(chunk.content) if isinstance(chunk.content, str) else chunk.content
                    yield ChatGenerationChunk(message=chunk)
            if pieces == 1 and not has_delta and response.headers.get("content-type", "").startswith(DOCUMENT):
                # A document without a reason of its end is whole, since it has been read to its end.
                metadata[ENDED] = True
            if odd_words and "finish_reason" not in metadata:
                raise APIResponseValidationError(response.http_response, odd_words, message="no piece")
        priced = _usage(usage) if usage else None
        last = AIMessageChunk(content=words.rest(), response_metadata=metadata, usage_metadata=priced)
        yield ChatGenerationChunk(message=last)


class _Words:
    """Finds the new words of each piece: some servers restate all words so far.

    That is sure once `SEVERAL` pieces have done so; until then they are held back.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_plain = self._is_restated = False

    def new(self, piece: str) -> str:
        """Return the new words of a piece, and those that were held back before it."""
        if self._is_plain or not piece:
            return piece
        before = "".join(self._pieces[-1:])
        self._pieces.append(piece)
        if not self._is_restated and not (piece.startswith(before) and piece != before):
            self._is_plain = True
            return self.rest()
        self._is_restated = self._is_restated or len(self._pieces) > SEVERAL
        if self._is_restated:
            shown = self._pieces[0]
            self._pieces = [piece]
            return piece.removeprefix(shown)
        return "" if before else piece

    def rest(self) -> str:
        """Return the words that are held back."""
        held, self._pieces = self._pieces[1:], []
        return "".join(held)


class ResponsesChat(ChatOpenAI):
    """OpenAI's responses. LangChain tells a failure in their stream by a bare ValueError with the server's words."""

    async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        try:
            async for chunk in super()._astream(*args, **options):
                yield chunk
        except ValueError as failure:
            if type(failure) is not ValueError:
                raise
            failed = FAILED.match(text := str(failure))
            body = {"code": failed[1], "message": failed[3]} if failed else {"message": text}
            raise APIError(text, cast(Any, None), body=body) from None


def stateless(settings: Mapping[str, Any]) -> ChatOpenAI:
    """Return a model that asks for responses. OpenAI keeps none of them: reasoning comes and goes back encrypted."""
    chat = ResponsesChat(**settings, use_responses_api=True, store=False)
    thinks = (chat.profile or {}).get("reasoning_output", True)
    return chat.model_copy(update={"include": ["reasoning.encrypted_content"]}) if thinks else chat


def _sent(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the messages as a server takes them, each reply with the server's own fields."""
    sent: list[dict[str, Any]] = convert_to_openai_messages(messages)
    for message, own in zip(messages, sent, strict=True):
        own.pop("name", None)
        if isinstance(message, AIMessage):
            own |= message.additional_kwargs.get(FIELDS) or {}
            fields = message.additional_kwargs.get(CALL_FIELDS) or {}
            for call in own.get("tool_calls", ()):
                call |= fields.get(call["id"], {})
    return sent


def _of_one_reply(choices: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the first choice, and behind it the only one with calls: some servers part a text from its calls."""
    calling = [choice for choice in choices if (choice.get("delta") or choice.get("message") or {}).get("tool_calls")]
    return [choices[0], *calling] if len(calling) == 1 and calling[0] is not choices[0] else choices[:1]


def _piece(name: bytes, data: bytes) -> Mapping[str, Any]:
    """Return a piece of a reply; under "error" a server's words in place of one, in any form.

    An empty piece and one without words are not errors: some servers send signs of life. A text that is not JSON stands
    under `ODD`; it is one if the reply comes to no end.
    """
    is_error = b"error" in name
    is_text = not data.startswith((b"{", b"[")) and data != b"null"
    piece: Any = data.decode(errors="replace") if is_text else json.loads(data)
    if not is_error and (is_text or not piece):
        return {ODD: piece} if is_text else {}
    if not isinstance(piece, dict):
        return {"error": piece or "nothing"}
    is_known = piece.get("choices") is not None or piece.keys() & {"usage", "error"}
    is_piece = not is_error and (is_known or (piece and not sentences_in(piece)))
    return piece if is_piece else {"error": piece.get("error") or piece or "nothing"}


async def _events(response: AsyncAPIResponse[Any]) -> AsyncIterator[tuple[bytes, bytes]]:
    """Yield the names and the data of the events.

    An object in a line of its own is an event, with or without `data:` before it and an empty line behind it. One
    object in place of a stream is an event, too.
    """
    name, data, size = b"", list[bytes](), 0
    async for line in _lines(response):
        if line.startswith(b"event:"):
            name = line[6:].strip()
        elif (text := line.removeprefix(b"data:").strip()) and not text.startswith(NO_DATA):
            data.append(text)
            size += len(text)
            if size > MOST_BYTES:
                raise BrokenReply("an event of its stream is too long")
        is_object = len(data) == 1 and (data[0] == DONE or (data[0][:1], data[0][-1:]) == (b"{", b"}"))
        if is_object or not line:
            if data or b"error" in name:
                yield name, b"\n".join(data)
            name, data, size = b"", [], 0


async def _lines(response: AsyncAPIResponse[Any]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream, and an empty one behind them; behind its last piece it may break off."""
    rest, is_over = b"", False
    try:
        async for piece in response.iter_bytes():
            *lines, rest = LINE_END.split(rest + piece)
            for line in lines:
                is_over = is_over or line.strip().endswith(DONE)
                yield line.removeprefix(BYTE_ORDER).strip()
            if len(rest) > MOST_BYTES:
                raise BrokenReply("a line of its stream is too long")
    except Exception as lost:
        if not is_over:
            raise BrokenReply(f"the stream broke off: {cause_of(lost)}") from lost
    yield rest.strip()
    yield b""


def _chunk(delta: Mapping[str, Any], id: str | None) -> AIMessageChunk:
    older_call = delta.get("function_call")
    calls = delta.get("tool_calls") or ([{"function": older_call}] if older_call else [])
    calls, extras = [calls] if isinstance(calls, dict) else calls, dict[str, Any]()
    if fields := _beside(delta, MESSAGE_KEYS):
        extras[FIELDS] = fields
    if any(beside := [_beside(call, CALL_KEYS) for call in calls]):
        extras[CALL_FIELDS] = beside
    if refusal := delta.get("refusal"):
        extras["refusal"] = refusal
    pieces = [_call(call) for call in calls]
    return AIMessageChunk(content=delta.get("content") or "", additional_kwargs=extras, tool_call_chunks=pieces, id=id)


def _beside(written: Mapping[str, Any], own_fields: Sequence[str]) -> dict[str, Any]:
    others = {key: value for key, value in written.items() if key not in own_fields}
    return {key: value for key, value in others.items() if value and isinstance(value, str | list | dict)}


def _call(call: Mapping[str, Any]) -> ToolCallChunk:
    function, id = call.get("function") or {}, call.get("id")
    args = function.get("arguments")
    args = args if args is None or isinstance(args, str) else json.dumps(args)
    id = id if id is None else str(id)
    return tool_call_chunk(name=function.get("name"), args=args, id=id, index=call.get("index"))


def _usage(usage: Mapping[str, Any]) -> UsageMetadata:
    """Return the usage of a reply; DeepSeek has its own field for cached tokens. A value of another type counts 0."""
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens") if isinstance(details, dict) else 0)
    cached = cached or _count(usage.get("prompt_cache_hit_tokens"))
    input_tokens, output_tokens = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens")) or input_tokens + output_tokens
    input_details = InputTokenDetails(cache_read=cached)
    return UsageMetadata(
        input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=total, input_token_details=input_details
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
