"""What a user has agreed to have deleted, around processes that are killed: it is gone, and the user is told."""

import pytest

from agents.conversation.forgetting import worded
from agents.memory.store import namespace_of
from app.assistant import Turn
from app.testing import Chat
from tests.engine.processes.test_kill_question import killed, request
from tests.support.killable_process import Driver

WISH = "forget everything you know about me"
TOLD = f"supervisor: {worded('forgotten', 'me', 'en')}"
pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("second_life")]


async def left(chat: Chat) -> tuple[int, int, list[str]]:
    """Return how many items and lines are kept, and what the files still hold of the user's words."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(namespace_of("ann"))
        lines = [line for thread in ("ann", "other") for line in await assistant.history(thread)]
    files = [file for file in chat.path.parent.iterdir() if file.name.startswith(chat.path.name)]
    return len(items), len(lines), [file.name for file in files if b"milk" in file.read_bytes()]


async def test_a_wish_to_be_forgotten_outlives_who_took_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step, all is gone when the yes comes again, also from other threads, and each yes is told so."""
    await chat.says("some milk", "hello", thread="other", user="ann")
    async for _ in killed(chat, driver, "some milk", WISH, text="yes"):
        trace = await chat.says("yes", id="m")
        assert trace.endswith(TOLD)
        assert trace.count(TOLD) == 1
        assert await left(chat) == (0, 0, [])
        assert await chat.says("yes", id="m") == f"user: yes\n{TOLD}"
        assert await left(chat) == (0, 0, [])
        await chat.says("some milk")
        kept = (await left(chat))[0]
        await chat.says("yes", id="m")
        assert (await left(chat))[0] == kept > 0


async def test_a_wish_is_carried_out_before_what_is_said_next(chat: Chat, driver: Driver) -> None:
    """Killed at any step, what was before is gone, and what another message writes behind it stays."""
    async for _ in killed(chat, driver, "some milk", WISH, text="yes"):
        await chat.says("some milk", id="next")
        await chat.says("no, some milk", id="third")
        assert TOLD in await chat.says("yes", id="m")
        async with chat.assistant() as assistant:
            items = await assistant.memory.store.asearch(namespace_of("ann", "todos"))
            lines = [line.text for line in await assistant.history("ann") if line.role == "user"]
        assert {item.value["text"] for item in items} == {"milk"}
        assert lines == ["some milk", "no, some milk"]


async def test_messages_that_wait_behind_a_wish_are_answered(chat: Chat, driver: Driver) -> None:
    """Killed before the yes was answered, two more messages came in: both are answered behind it, in their order."""
    await chat.says("some milk", WISH)
    await driver.play(request(chat.path, "yes", "m", step=1))
    async with chat.assistant() as assistant:
        await assistant.receive(Turn(thread="ann", text="more milk", id="next"))
    trace = await chat.says("hello", id="third")
    spoken = [line for line in trace.split("\n") if line.startswith(("user:", "supervisor: ", "planner: "))]
    assert spoken == ["user: yes", TOLD, "user: more milk", "planner: 1. milk", "user: hello", "planner: Well."]
