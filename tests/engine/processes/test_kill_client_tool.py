"""A client's tool around which processes are killed: asked for until it has a result, which is read once."""

import shutil
from itertools import count

import pytest

from agents.events import ToolRequest
from agents.state.person import RESULT
from agents.toolkit.client_tools import ClientResult, written_results
from app.testing import Chat
from tests.engine.processes.test_kill_question import calls_left, killed, request
from tests.support.killable_process import Driver
from tests.support.killable_writes import SKY

ASK = "look at the sky"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("second_life")]


def result(chat: Chat) -> str:
    """Return the message with the result of the call that the client was asked for last."""
    [call] = [event.id for event in chat.events if isinstance(event, ToolRequest)]
    return written_results([ClientResult(call=call, text="clear")])


async def is_read_once(chat: Chat) -> bool:
    """Tell whether the call has one result, and one answer tells of it."""
    messages = await chat.messages("planner")
    results = [(message.text, message.status) for message in messages if message.type == "tool"]
    answers = [message.text for message in messages if message.type == "ai" and message.text]
    return (results, answers) == ([("clear", "success")], ["clear"]) and await calls_left(chat) == []


async def test_who_asks_is_killed(chat: Chat, driver: Driver) -> None:
    """A client that sends the message again gets the call, once."""
    async for _ in killed(chat, driver, text=ASK):
        await chat.says(ASK, id="m", tools=SKY)
        await chat.says(result(chat), id="r", source=RESULT, tools=SKY)
        assert await is_read_once(chat)


async def test_who_reads_the_result_is_killed(chat: Chat, driver: Driver) -> None:
    """A client that brings the result again has it read, once."""
    await chat.says(ASK, id="m", tools=SKY)
    text, calm = result(chat), chat.path
    for step in count(1):
        chat.path = calm.with_name(f"{step}.db")
        shutil.copy(calm, chat.path)
        outcome = await driver.play(request(chat.path, text, "r", step=step, source=RESULT))
        await chat.says(text, id="r", source=RESULT, tools=SKY)
        assert await is_read_once(chat)
        if not outcome.killed:
            break
    assert step > 2
