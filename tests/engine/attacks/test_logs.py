"""No log has a text of people, models or tools, whatever fails; nor a secret."""

import asyncio
import gc
import json
import logging
import sys
from io import StringIO

import pytest

from app.process.logs import hidden, log_on_stderr

LOG = logging.getLogger("attacked")
SAID = "my card is 4111 1111"
TOKEN = "123:token"


def fail() -> None:
    """Fail with words of a user, caused by an exception that quotes them, too, and with a note of them."""
    try:
        raise KeyError(SAID)
    except KeyError as cause:
        failure = ValueError(f"cannot read {SAID!r}")
        failure.add_note(SAID)
        raise ExceptionGroup(SAID, [failure]) from cause


def log_a_failure(level: int) -> None:
    """Log what `fail` raises."""
    try:
        fail()
    except ExceptionGroup:
        LOG.log(level, "it failed", exc_info=True)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("detailed", [False, True])
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL])
def test_an_exceptions_words_are_in_no_log(
    level: int, detailed: bool, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where another handler has drawn them before, where others cause it, and where it is a group."""
    drawn = StringIO()
    first = logging.StreamHandler(drawn)
    LOG.addHandler(first)
    try:
        with log_on_stderr(detailed=detailed, as_json=as_json):
            logging.getLogger().setLevel(logging.DEBUG)
            log_a_failure(level)
    finally:
        LOG.removeHandler(first)
    logged = capsys.readouterr().err
    assert SAID in drawn.getvalue()
    assert "it failed" in logged
    assert "ExceptionGroup" in logged
    assert "4111" not in logged


def test_an_operator_may_ask_for_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    """With `LOG_CONTENT=1` they are there; another handler behind ours still draws an exception its own way."""
    record = LOG.makeRecord(LOG.name, logging.ERROR, __file__, 1, "it failed", (), None)
    try:
        fail()
    except ExceptionGroup:
        record.exc_info = sys.exc_info()
    for content in (True, False):
        with log_on_stderr(detailed=True, content=content):
            LOG.handle(record)
        assert (SAID in capsys.readouterr().err) is content
        assert SAID in logging.Formatter().format(record)
        record.exc_text = None


@pytest.mark.parametrize("as_json", [False, True])
async def test_a_task_that_nobody_awaits_says_nothing(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """The event loop logs the task and its exception as a text of its own."""

    async def fail_unseen() -> None:
        fail()

    with log_on_stderr(detailed=True, as_json=as_json):
        task = asyncio.create_task(fail_unseen())
        await asyncio.wait([task])
        del task
        gc.collect(1)
    logged = capsys.readouterr().err
    assert "never retrieved" in logged
    assert "ExceptionGroup" in logged
    assert "4111" not in logged


@pytest.mark.parametrize("as_json", [False, True])
def test_a_secret_is_in_no_log(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in a message nor in an exception's words, also where the operator asks for these."""
    with hidden(TOKEN), log_on_stderr(detailed=True, content=True, as_json=as_json):
        LOG.error("no answer from https://api.telegram.org/bot%s/getMe", TOKEN)
        try:
            raise ConnectionError(f"bot{TOKEN} is not reached")
        except ConnectionError:
            LOG.exception("it failed")
    logged = capsys.readouterr().err
    assert TOKEN not in logged
    assert logged.count("<secret>") == 2
    assert not as_json or all(json.loads(line)["level"] == "ERROR" for line in logged.splitlines())


@pytest.mark.parametrize(
    "forged", ["x\nERROR the database is gone", "x\r\nERROR", "x\u2028ERROR", "x\x0bERROR", "x\x85ERROR"]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_nobody_writes_a_line_of_the_log(forged: str, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """An id that a library logs as it came, such as that of a request of A2A, begins no line."""
    with log_on_stderr(detailed=True, as_json=as_json):
        LOG.error("request %s failed", forged)
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("{" if as_json else "ERROR request x")
    assert all(line.startswith("  ") for line in others)
