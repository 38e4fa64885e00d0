"""A provider that sends nonsense, or hangs up behind the headers: the reply is asked for again."""

import json
from pathlib import Path

import pytest

from app.process.logs import log_on_stderr
from tests.support import odd_provider
from tests.support.endpoint_talk import TEXT, answered, talk, turn
from tests.support.odd_provider import HEAD, Provider, call
from tests.support.scripted_assistant import said

CHUNKED = HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked")
SIZED = HEAD.replace(b"Connection: close", b"Content-Length: 500")
SILENT = [
    "null",
    "[]",
    "{}",
    '{"choices": null}',
    '{"choices": [{"index": 0, "delta": null}]}',
    '{"choices": [], "usage": {"prompt_tokens": "many"}}',
]
"""Signs of life, which are no reply, but make none worse."""
NONSENSE = [
    '"x"',
    "7",
    "{{{",
    '{"choices": 3}',
    '{"choices": [null]}',
    '{"choices": [{"index": 0, "delta": {"content": 5}}]}',
    '{"choices": [{"index": 0, "delta": {"content": {"a": 1}}}]}',
    '{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": 5}}]}',
    '{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [null]}}]}',
    '{"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0}]}}]}',
    '{"choices": {"0": 1}}',
    '{"choices": ' + "[" * 100_000,
    json.dumps(call("add_todos", '{"items": ' + "[" * 300 + "]" * 300 + "}")[0]),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("chunk", "before"),
    [*((chunk, 0) for chunk in SILENT), *((chunk, place % 2) for place, chunk in enumerate(NONSENSE))],
)
async def test_nonsense_is_asked_for_again(chunk: str, before: int) -> None:
    """Whatever comes in place of a piece of a reply, the user gets the next whole reply, and no half of this one."""
    garbled = [*odd_provider.words("Half")[1 : 1 + before], chunk]
    async with Provider.open(garbled, odd_provider.words(TEXT)) as server:
        message, faults = await answered(server.url)
    assert (message.text, faults) == (TEXT, ["model_retry"])


async def test_nonsense_is_not_quoted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No line of the log and no library's warning has a provider's nonsense in place of a reply."""
    garbled = ['{"choices": [{"index": 0, "delta": {"content": {"a": "secret"}}}]}']
    async with Provider.open(garbled, odd_provider.words(TEXT)) as server, talk(tmp_path, server.url) as assistant:
        with log_on_stderr(detailed=True):
            assert said(await turn(assistant, "hi")) == [TEXT]
    printed = capfd.readouterr().err
    assert "broken reply" in printed
    assert "secret" not in printed


@pytest.mark.parametrize("answer", [HEAD, CHUNKED, SIZED], ids=["close", "chunked", "sized"])
async def test_who_hangs_up_behind_the_headers_is_asked_again(answer: bytes) -> None:
    """A connection that is lost before the first word is a broken reply."""
    async with Provider.open(answer, odd_provider.words(TEXT)) as server:
        message, faults = await answered(server.url)
    assert (message.text, faults, len(server.bodies)) == (TEXT, ["model_retry"], 2)
