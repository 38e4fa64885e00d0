"""A confirmed deletion around killed processes: the data is gone, and the user reads that."""

import pytest

from agents.conversation.deletion import worded
from agents.events import trace
from agents.memory.store import namespace_of
from app.assistant import Assistant, Turn
from app.testing import Chat
from tests.engine.processes.test_kill_question import killed, request
from tests.support.killable_process import Driver

WISH = "forget everything you know about me"
TOLD = f"supervisor: {worded('forgotten', 'me', 'en')}"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("second_life")]


async def left(chat: Chat) -> tuple[int, int, list[str]]:
    """Return the numbers of stored items and lines, and the user's words that the files still contain."""
    async with chat.assistant() as assistant:
        items = await kept(assistant)
        lines = [line for thread in ("ann", "other") for line in await assistant.history(thread)]
    files = [file for file in chat.path.parent.iterdir() if file.name.startswith(chat.path.name)]
    return items, len(lines), [file.name for file in files if b"milk" in file.read_bytes()]


async def kept(assistant: Assistant) -> int:
    """Return the number of stored items."""
    return len(await assistant.memory.store.asearch(namespace_of("ann")))


async def says(assistant: Assistant, text: str, id: str = "") -> str:
    """Let the user say something, and return the trace."""
    return trace([event async for event in assistant.play(Turn(thread="ann", text=text, id=id or text))])


async def test_a_wish_to_be_forgotten_outlives_who_took_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step, all is gone when the yes comes again, also from other threads, and each yes is told so."""
    await chat.says("some milk", "hello", thread="other", user="ann")
    async for _ in killed(chat, driver, "some milk", WISH, text="yes"):
        async with chat.assistant() as assistant:
            lines = await says(assistant, "yes", "m")
            assert lines.endswith(TOLD)
            assert lines.count(TOLD) == 1
            assert await says(assistant, "yes", "m") == f"user: yes\n{TOLD}"
        assert await left(chat) == (0, 0, [])
        async with chat.assistant() as assistant:
            await says(assistant, "some milk")
            items = await kept(assistant)
            await says(assistant, "yes", "m")
            assert await kept(assistant) == items > 0


async def test_a_wish_is_carried_out_before_what_is_said_next(chat: Chat, driver: Driver) -> None:
    """Killed at any fourth step, what was before is gone, and what another message writes behind it stays."""
    async for _ in killed(chat, driver, "some milk", WISH, text="yes", every=4):
        async with chat.assistant() as assistant:
            await says(assistant, "some milk")
            await says(assistant, "no, some milk")
            assert TOLD in await says(assistant, "yes", "m")
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
    lines = await chat.says("hello", id="third")
    spoken = [line for line in lines.split("\n") if line.startswith(("user:", "supervisor: ", "planner: "))]
    assert spoken == ["user: yes", TOLD, "user: more milk", "planner: 1. milk", "user: hello", "planner: Well."]
