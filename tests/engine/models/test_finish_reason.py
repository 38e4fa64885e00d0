"""When a reply is whole: what each form says at its end, and forms that nobody knows."""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from agents.errors import BrokenReply, UselessReply
from agents.models import Model, ToolSchema
from agents.models.answer import AnswerText
from agents.models.reply import Listener, reply
from agents.models.streamed_reply import CUT, StreamedReply
from agents.models.text_calls import Offer
from tests.support.endpoint_talk import TEXT, endpoint_model
from tests.support.odd_provider import Provider, delta, end, words

LISTENER = Listener("supervisor", lambda event: None)
PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]


def streamed(kind: str, metadata: dict[str, Any], text: str = TEXT) -> StreamedReply:
    """Return a reply of words that ends with this metadata."""
    taken = StreamedReply(model=f"{kind}:m")
    taken.take(AIMessageChunk(content=text))
    taken.take(AIMessageChunk(content="", response_metadata=metadata, chunk_position="last"))
    taken.end()
    return taken


WHOLE = [
    ("openai", {"finish_reason": "stop"}),
    ("openai", {"status": "completed"}),
    ("anthropic", {"stop_reason": "end_turn"}),
    ("google_genai", {"finish_reason": "STOP"}),
    ("bedrock_converse", {"stopReason": "end_turn"}),
    ("ollama", {"done_reason": "stop"}),
    ("openai", {"finish_reason": "quite_new"}),
    ("openai", {"finish_reason": "FinishReason.STOP"}),
    ("nobody_knows", {"stop_reason": "end_turn"}),
]
CUTS = [
    ("openai", {"finish_reason": "length"}, "cut_length"),
    ("openai", {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "cut_length"),
    ("openai", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "cut_filter"),
    ("anthropic", {"stop_reason": "model_context_window_exceeded"}, "cut_length"),
    ("anthropic", {"stop_reason": "pause_turn"}, "cut_length"),
    ("anthropic", {"stop_reason": "refusal"}, "cut_filter"),
    ("google_genai", {"finish_reason": "MAX_TOKENS"}, "cut_length"),
    ("google_genai", {"finish_reason": "LANGUAGE"}, "cut_filter"),
    ("ollama", {"done_reason": "length"}, "cut_length"),
    ("nobody_knows", {"finish_reason": "SAFETY"}, "cut_filter"),
    ("openai", {"finish_reason": "token_limit"}, "cut_length"),
    ("cohere", {"finish_reason": "ERROR_LIMIT"}, "cut_length"),
    ("cohere", {"finish_reason": "ERROR_TOXIC"}, "cut_filter"),
    ("google_genai", {"finish_reason": "FinishReason.NEW_SAFETY"}, "cut_filter"),
]
FAILED = [
    ("openai", {"finish_reason": "error"}),
    ("openai", {"finish_reason": "upstream_error"}),
    ("openai", {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"}),
    ("openai", {"status": "cancelled"}),
    ("google_genai", {"finish_reason": "MALFORMED_FUNCTION_CALL"}),
    ("google_genai", {"finish_reason": "OTHER"}),
    ("google_genai", {"finish_reason": "UNKNOWN_17"}),
    ("ollama", {"done_reason": "load"}),
    ("openai", {}),
    ("anthropic", {}),
    ("ollama", {}),
]


@pytest.mark.parametrize(("kind", "metadata"), WHOLE)
def test_whole_replies(kind: str, metadata: dict[str, Any]) -> None:
    """Each form says in its own field that nothing is missing."""
    assert streamed(kind, metadata).message().response_metadata == {}


@pytest.mark.parametrize(("kind", "metadata", "code"), CUTS)
def test_cut_replies(kind: str, metadata: dict[str, Any], code: str) -> None:
    """A cut, filtered or paused reply stays as far as it came, and says so."""
    message = streamed(kind, metadata).message()
    assert (message.text, message.response_metadata) == (TEXT, {CUT: code})


@pytest.mark.parametrize(("kind", "metadata"), FAILED)
def test_failed_replies(kind: str, metadata: dict[str, Any]) -> None:
    """A failed reply, or one that ends in a known form without a word, is none, however much of it came."""
    with pytest.raises(BrokenReply):
        streamed(kind, metadata).message()


def test_a_blocked_question_is_a_refusal() -> None:
    """Google names the reason beside no answer at all."""
    with pytest.raises(UselessReply, match="filter"):
        streamed("google_genai", {"prompt_feedback": {"block_reason": "NEW"}}, "").message()


def test_a_new_word_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A word that the table does not know is named in the log, the first time."""
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            streamed("groq", {"finish_reason": "newer_word"}).message()
    assert [record.getMessage() for record in caplog.records].count(
        "groq: finish_reason is 'newer_word', which is taken for 'whole'"
    ) == 1


class Silent(BaseChatModel):
    """A model of a form that nobody knows: each reply is a list of chunks."""

    replies: list[list[AIMessageChunk]]

    @property
    def _llm_type(self) -> str:
        return "silent"

    def _generate(self, *args: Any, **options: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.replies.pop(0):
            yield ChatGenerationChunk(message=chunk)


def calling(args: str) -> list[AIMessageChunk]:
    """Return a reply that calls a tool, without a word about its end."""
    return [AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="f", args=args, id="a", index=0)])]


async def test_an_unknown_form_may_end_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Its reply counts if the arguments of its calls are whole; the log says it once."""
    model = Model("unheard_of:m", Silent(replies=[calling('{"a": 1'), calling('{"a": 1}'), calling("{}")]))
    with caplog.at_level(logging.WARNING):
        first = await reply([model], PROMPT, [], LISTENER)
        second = await reply([model], PROMPT, [], LISTENER)
    assert [call["args"] for message in (first, second) for call in message.tool_calls] == [{"a": 1}, {}]
    assert caplog.text.count("does not say why it ended") == 1


@pytest.mark.parametrize(
    ("before", "requests"), [([], 1), ([words(TEXT)], 3)], ids=["never says why", "said why before"]
)
async def test_a_compatible_server_that_marks_its_end(before: Sequence[Any], requests: int) -> None:
    """A stream with its mark at the end counts, unless the server has said before why its replies end."""
    silent = [delta(role="assistant", content=TEXT)]
    async with Provider.open(*before, silent, [*silent, end("stop")]) as server:
        model = endpoint_model(server.url)
        for _ in [*before, silent]:
            assert (await reply([model], PROMPT, [], LISTENER)).text == TEXT
        assert len(server.bodies) == requests


@pytest.mark.parametrize(
    "args", ['["milk"]', '"milk"', "milk", '{"a": NaN}', '{"a": 1e999}', '{"a": 1}{"b": 2}', '{"a": 1}{"a', "}", "[]"]
)
def test_arguments_that_are_no_object_of_json_are_broken(args: str) -> None:
    """Python reads numbers that JSON does not have; they would come back to the provider in each later request."""
    with pytest.raises(BrokenReply):
        finished(calling(args))


@pytest.mark.parametrize("args", ["", " ", "{}", "null", "[]"])
def test_a_call_may_have_no_arguments(args: str) -> None:
    """However a server writes that, for a tool that needs none."""
    tool: ToolSchema = {"type": "function", "function": {"name": "f", "parameters": {}}}
    assert [call["args"] for call in finished(calling(args), tool).tool_calls] == [{}]


def test_a_raw_line_break_in_arguments_is_text() -> None:
    """Many models do not escape it."""
    assert finished(calling('{"a": "b\nc"}')).tool_calls[0]["args"] == {"a": "b\nc"}


def finished(chunks: Sequence[AIMessageChunk], *tools: ToolSchema) -> AIMessage:
    """Return the reply of these chunks, of a model that may call these tools."""
    taken = StreamedReply(AnswerText(offer=Offer(tools, "")), model="unheard_of:o")
    for chunk in chunks:
        taken.take(chunk)
    taken.end()
    return taken.message()
