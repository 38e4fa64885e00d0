"""One reply of any provider while it streams: its text for the user at once, and the checked message in the end."""

import json
import re
import secrets
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, dropwhile, pairwise, repeat
from operator import not_
from typing import Literal, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import ToolCall, ToolCallChunk

from agents.errors import BrokenReply, GarbledReply, UselessReply
from agents.language.text.clean import DEEPEST, is_shallow
from agents.language.text.repetition import REPEATS, Repetition
from agents.models import MOST_CHARACTERS
from agents.models.answer import AnswerText
from agents.models.finish_reason import ENDED, PRICED, ReplyEnd, is_known, log_once, reply_end_in
from agents.models.text_calls import Offer, decoded
from agents.models.thinking import CALL_FIELDS, FIELDS, SIGNATURES, THINKING_FIELDS, CarriedParts

_HALF = re.compile("[\ud800-\udfff]")
HIDDEN = ("tool_calls", "refusal", FIELDS, CALL_FIELDS, SIGNATURES)
"""Fields of a chunk beside its text that no message keeps unchanged."""
CUT = "cut"
"""Metadata of a message with a text that is not whole: the code of the `error` event for it."""
DIGITS_OF_64_BITS = 19
NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""U+0000 as JSON writes it."""
MOST_COUNTED = 10**9
"""The most tokens of a prompt or a reply; a database does not keep every number."""
LOOP: Literal["loop"] = "loop"
"""The end of a reply that repeats itself."""


@dataclass
class _Call:
    name: str
    id: str | None
    index: int | str | None
    args: list[str] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)
    """The server's own fields beside the call."""

    @property
    def text(self) -> str:
        """The arguments as they were written; some servers restate them from the beginning in each piece."""
        is_restated = len(self.args) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(self.args))
        return self.args[-1] if is_restated else "".join(self.args)

    def closeness(self, piece: ToolCallChunk) -> tuple[bool, bool]:
        """Return how surely a piece belongs to this call, to be compared: it has the same id; it has the same place."""
        is_here = piece["index"] is not None and piece["index"] == self.index
        return bool(piece["id"]) and piece["id"] == self.id, is_here

    def continues(self, piece: ToolCallChunk) -> bool:
        """Tell whether a piece belongs to this call: some servers repeat it, its name or its id, some number all 0."""
        if not piece["name"] and not piece["id"]:
            return True
        is_known, is_here = self.closeness(piece)
        if (piece["id"] or self.id) != self.id or (piece["name"] and (self.name or piece["name"]) != piece["name"]):
            return False
        whole, given = decoded(self.text), decoded(piece["args"] or "")
        if piece["index"] == self.index and (not piece["name"] or isinstance(whole, str)):
            return True
        if decoded(given) == whole:
            return is_known or is_here
        # What comes under the id of a whole call may be its end, or a call of a server with one id for all.
        return is_known and (not self.text or (is_here and (not whole or not given)))


def _add(calls: list[_Call], piece: ToolCallChunk, fields: Mapping[str, object], names: Collection[str]) -> None:
    """Add a piece and the fields beside it to the call that it continues, or begin a call with it.

    Some servers send one of the `names` in parts.
    """
    call = max(reversed(calls), key=lambda each: each.closeness(piece), default=None)
    if call and call.name and piece["name"] and not call.args and call.name not in names:
        joined = call.name + piece["name"]
        if any(name.startswith(joined) for name in names):
            call.name = piece["name"] = joined
    if call is None or not call.continues(piece):
        call = _Call(piece["name"] or "", piece["id"], piece["index"])
        calls.append(call)
    call.id, call.name = call.id or piece["id"], call.name or piece["name"] or ""
    call.args += [piece["args"]] if piece["args"] else []
    call.fields |= fields


def _whole_characters(text: str) -> str:
    """Return the text with halves of characters replaced: no file or terminal takes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(text) else text


def _believed(usage: Mapping[str, object]) -> dict[str, object]:
    """Return the usage of a reply; an impossible count becomes 0."""
    return {name: _believed(part) if isinstance(part, Mapping) else _count(part) for name, part in usage.items()}


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= MOST_COUNTED else 0


def _storable_number(digits: str) -> int | str:
    """Return a whole number of an argument; one too long for a state stays a text, which the tool's schema reads."""
    return int(digits) if len(digits) < DIGITS_OF_64_BITS else digits


_ARGUMENTS = json.JSONDecoder(strict=False, parse_int=_storable_number)


def _arguments(text: str) -> object:
    """Return the arguments in a text of JSON, `{}` if it is empty. Raises ValueError: they are not certain.

    Some servers write the object as a JSON text, or twice, an empty one before it, or a bracket too many behind it.
    """
    values, rest = list[object](), text.strip()
    while rest and (not values or rest.strip("} \n")):
        value, end = _ARGUMENTS.raw_decode(rest)
        values.append(_arguments(value) if isinstance(value, str) else value)
        rest = rest[end:].lstrip()
    real = [*dropwhile(not_, values)] or values or [{}]
    if any(value != real[0] for value in real):
        raise ValueError("there are two values")
    return real[0]


def _tool_call(call: _Call, offer: Offer) -> ToolCall:
    try:
        # No database keeps U+0000, and nobody means it.
        args = _arguments(NUL.sub(r"\1", call.text.replace("\0", "")))
        # JSON has no infinity and no NaN; no provider takes them back.
        written = _whole_characters(json.dumps(args, ensure_ascii=False, allow_nan=False))
        args = json.loads(written, parse_int=_storable_number)
    except (ValueError, RecursionError):
        raise BrokenReply(f"arguments of {call.name!r} are not JSON") from None
    name = offer.named(_whole_characters(call.name))
    schema = offer.schemas.get(name)
    if args in (None, []) and schema is not None and not schema.get("required"):
        # Some servers write no arguments so.
        args = {}
    if not call.name or not isinstance(args, dict) or not is_shallow(args):
        raise BrokenReply(f"call of {call.name!r} is not a name with a JSON object of at most {DEEPEST} levels")
    # Some providers give no id, some give one id again and again, and the ledger of done writes goes by the id.
    # Nine letters and digits are the form that every provider takes back.
    id = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))
    return ToolCall(name=name, args=args, id=id, type="tool_call")


class StreamedReply:
    """Takes the chunks of a reply into `text`. It may have `longest` characters, and say the same `repeats` times.

    `model` is the name of its model; `says_why`: this model has given reasons for the ends of its replies before.
    """

    def __init__(
        self,
        text: AnswerText | None = None,
        *,
        longest: int = MOST_CHARACTERS,
        repeats: int = REPEATS,
        model: str = "",
        says_why: bool = False,
    ) -> None:
        self._longest, self._model, self._kind = longest, model, model.partition(":")[0]
        self.says_why = says_why
        self._repetition = Repetition(repeats)
        self.text = text or AnswerText()
        self.has_thoughts = False
        self.is_done = False
        """Whether the rest of the stream is of no use."""
        self._calls: list[_Call] = []
        self._carried = CarriedParts()
        self._extras: dict[str, object] = {}
        self._usage: UsageMetadata | None = None
        self.ending: ReplyEnd | Literal["loop"] | None = None
        """The end of the reply, as the provider says, or as this class has decided."""
        self._refusal = self._half = ""
        self._id: str | None = None
        self._size = 0
        self._has_text = self._has_ended = self._is_priced = False

    def take(self, chunk: AIMessageChunk) -> str:
        """Take a chunk; return the text for the user now. Raises GarbledReply: no user could read it."""
        self._id, text = self._id or chunk.id, str(chunk.text)
        self._take_metadata(chunk)
        thoughts = self._carried.take(chunk)
        self._size += thoughts + len(text) + sum(len(piece["args"] or "") for piece in chunk.tool_call_chunks)
        if self._size > self._longest:
            # Of a piece that is longer than a whole reply, the rest is not read.
            text = text[: self._longest]
            self.cut()
        if thoughts and not self._has_text:
            # The server sends thinking in a field of its own, so the text has none.
            self.text.is_headless = False
        beside: Sequence[Mapping[str, object]] = chunk.additional_kwargs.get(CALL_FIELDS) or ()
        for piece, fields in zip(chunk.tool_call_chunks, chain(beside, repeat({})), strict=False):
            _add(self._calls, piece, fields, self.text.offer.schemas)
        # The end of an answer is mostly the end of the reply, which has the usage.
        self.is_done = self.is_done or (self.text.is_over and bool(text.strip()))
        shown = self.text.feed(self._characters(text))
        self._has_text = self._has_text or bool(text)
        is_thinking = self.text.is_thinking and self._has_text
        self.has_thoughts = bool(self.has_thoughts or thoughts or self.text.thought or is_thinking)
        if self._repetition.feed(text):
            self.cut(LOOP)
        return shown

    def cut(self, ending: Literal["cut", "loop"] = "cut") -> None:
        """End the reply here."""
        self.ending, self.is_done = ending, True

    def end(self) -> str:
        """Return the text that was held back until the last chunk. Raises GarbledReply: no user could read it."""
        # A limit that is met inside the thinking leaves no answer.
        return "" if self._is_cut and self.text.is_thinking else self.text.rest(is_cut=self._is_cut)

    def message(self, *, may_be_silent: bool = False) -> AIMessage:
        """Return the reply as a message, once it is certain that it is complete; a silent one may be empty.

        LangChain repairs cut JSON and would run a tool with half its arguments. So the raw arguments must be whole JSON
        objects, and the provider must have given the reason of the end. If its form is not known, or it never gives
        one, the end of its stream is enough. A call that was cut is left out; the message says that it is not whole.

        Raises:
            BrokenReply: the reply broke off, is empty, or carries arguments that are not a JSON object.
            UselessReply: the model or its provider refuses to answer, or it had no room for an answer.
        """
        text = self.text.answer or _whole_characters(self._refusal)
        if self.ending == "failed" or not (self.ending or self._is_priced or self.text.is_over or self._is_taken):
            raise BrokenReply("the provider says that it failed" if self.ending else "the stream ended early")
        written = [_Call(name, None, None, [json.dumps(args)]) for name, args in self.text.calls]
        was_call, self._calls = bool(self._calls), [] if self._is_cut else self._calls or written
        calls = [_tool_call(call, self.text.offer) for call in self._calls]
        is_silent = may_be_silent and not self._is_cut and not was_call
        if not calls and not text.strip() and not is_silent:
            if self.ending == "refused":
                raise UselessReply("refused", "the provider's filter took the reply")
            if self.ending == "cut":
                wants_room = not was_call and not self.text.is_call
                raise UselessReply("cut_length", "the length limit was reached first", wants_room=wants_room)
            is_garbled = self.ending == LOOP or self.text.is_over
            raise GarbledReply("it says nothing") if is_garbled else BrokenReply("the reply is empty")
        code = f"cut_{'filter' if self.ending == 'refused' else LOOP if self.ending == LOOP else 'length'}"
        message = AIMessage(
            text,
            tool_calls=calls,
            id=self._id,
            additional_kwargs=self._extras,
            response_metadata={CUT: code} if self._is_cut and not self._refusal else {},
            usage_metadata=self._usage,
        )
        ids, beside = [call.id for call in self._calls], [call.fields for call in self._calls]
        return self._carried.noted(message, self._model, ids, beside)

    @property
    def is_endless(self) -> bool:
        """Whether the reply came to no end by itself."""
        return self.ending in ("cut", LOOP)

    @property
    def _is_cut(self) -> bool:
        is_whole = self.text.is_over and not self.text.is_call
        return self.ending in ("cut", "refused", "paused", LOOP) and not is_whole

    @property
    def _is_taken(self) -> bool:
        """Whether the reply counts without a reason of its end; the log tells that once.

        Calls with whole arguments count even if their model gave reasons before; some servers give them for texts only.
        """
        has_arguments = bool(self._calls) and all(call.text.strip() for call in self._calls)
        is_over = self._has_ended or not is_known(self._kind)
        is_taken = has_arguments or (is_over and not self.says_why)
        if is_taken:
            log_once(
                self._kind, "a reply does not say why it ended; it counts, since its stream ended without an error"
            )
        return is_taken

    def _take_metadata(self, chunk: AIMessageChunk) -> None:
        if metadata := chunk.response_metadata:
            if ending := reply_end_in(metadata, self._kind):
                self.ending, self.says_why = ending, True
            self._has_ended = self._has_ended or bool(metadata.get(ENDED))
            self._is_priced = self._is_priced or bool(metadata.get(PRICED))
        for block in chunk.content if isinstance(chunk.content, list) else ():
            if isinstance(block, dict) and block.get("type") == "refusal":
                self._refusal += str(block.get("refusal") or "")
        if chunk.usage_metadata:
            self._usage = add_usage(self._usage, cast(UsageMetadata, _believed(chunk.usage_metadata)))
        if extras := chunk.additional_kwargs:
            self._refusal += str(extras.get("refusal") or "")
            is_kept = {name: name not in HIDDEN and not name.startswith(THINKING_FIELDS) for name in extras}
            self._extras |= {name: extra for name, extra in extras.items() if is_kept[name]}

    def _characters(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _whole_characters(text)
