"""More turns than a process runs at a time: users are served in turn, and whoever waits long is told."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from agents.events import Error, Event, Message
from agents.events.views import Notice
from app.assistant import Assistant, Turn, turn_player
from app.assistant.turn_queue import TurnQueue
from app.testing import Chat
from prompts import phrase
from tests.support.simulated_time import rounds
from tests.support.until import until


class Crowd:
    """Users who talk to an assistant that runs one turn at a time; its model waits for the gate."""

    def __init__(self, chat: Chat, assistant: Assistant) -> None:
        self.chat, self.assistant, self.turns = chat, assistant, dict[str, asyncio.Task[list[Event]]]()
        self.gate = chat.script.gates["supervisor"] = asyncio.Event()
        assistant.queue.at_once = 1

    async def says(self, user: str, thread: str) -> None:
        """Let a user say the thread's name in it; return when the turn runs or waits."""
        queue = self.assistant.queue
        before = queue.running + queue.waiting
        turn = Turn(thread=thread, text=thread, user=user, id=thread)
        self.turns[thread] = asyncio.create_task(self.events(turn))
        await until(lambda: queue.running + queue.waiting > before)

    async def events(self, turn: Turn) -> list[Event]:
        """Play a turn to its end."""
        return [event async for event in self.assistant.play(turn)]

    async def heard(self) -> list[str]:
        """Let the model speak; return what it heard, in order."""
        self.gate.set()
        await asyncio.gather(*self.turns.values())
        return [str(asked.messages[-1].text).splitlines()[-1] for asked in self.chat.script.asked]

    def told(self, thread: str) -> list[str]:
        """Return the texts for the user of a thread."""
        return [
            event.text if isinstance(event, Message | Error) else event.message
            for event in self.turns[thread].result()
            if isinstance(event, Message | Error | Notice)
        ]


@pytest.fixture
async def crowd(chat: Chat) -> AsyncIterator[Crowd]:
    """Open the assistant."""
    async with chat.assistant() as assistant:
        yield Crowd(chat, assistant)


async def test_nobody_starves_another(chat: Chat, crowd: Crowd) -> None:
    """Of the users that wait each has one turn in turn, and each user's own turns keep their order."""
    chat.expects(supervisor=["yes"] * 6)
    for user, thread in [("ann", "a1"), ("ann", "a2"), ("ann", "a3"), ("ann", "a4"), ("bob", "b1"), ("bob", "b2")]:
        await crowd.says(user, thread)

    assert await crowd.heard() == ["a1", "a2", "b1", "a3", "b2", "a4"]
    assert (crowd.assistant.queue.running, crowd.assistant.queue.waiting) == (0, 0)


@pytest.mark.parametrize("lang", ["en", "ru", "zh"])
async def test_a_user_who_waits_long_is_told(chat: Chat, lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The word comes before the answer, once."""
    monkeypatch.setattr(turn_player, "LONG_WAIT", 0)
    chat.expects(supervisor=["yes"] * 2)
    async with chat.assistant() as assistant:
        crowd = Crowd(chat, assistant)
        await assistant.speak("bob", lang)
        await crowd.says("ann", "a1")
        await crowd.says("bob", "b1")
        await crowd.heard()
        assert crowd.told("a1") == ["yes"]
        assert crowd.told("b1") == [phrase("turn_waits", lang), "yes"]


@pytest.mark.parametrize("after_tools", [False, True])
async def test_a_turn_that_waits_can_be_stopped(chat: Chat, crowd: Crowd, after_tools: bool) -> None:
    """It ends at once, the model is not asked for it, and its place goes to the next."""
    chat.expects(supervisor=["yes"] * 2)
    for user in ("ann", "bob", "carl"):
        await crowd.says(user, user)

    assert await crowd.assistant.stop("bob", after_tools=after_tools)
    [stopped] = [event for event in await crowd.turns["bob"] if isinstance(event, Message)]
    assert stopped.interrupted
    assert await crowd.heard() == ["ann", "carl"]


@pytest.mark.parametrize("lang", ["en", "ru", "zh"])
async def test_what_is_too_much_is_refused_with_a_word(chat: Chat, crowd: Crowd, lang: str) -> None:
    """A refused message is not stored, so that it can be sent again; a stored one is accepted."""
    crowd.assistant.queue.most_waiting = 0
    chat.expects(supervisor=["yes"] * 3)
    assert await crowd.assistant.receive(Turn(thread="carl", text="hello", id="1"))
    await crowd.says("ann", "a1")
    turn = Turn(thread="bob", text="hello", id="1", lang=lang)
    events = [event async for event in crowd.assistant.play(turn)]
    assert [event.text for event in events if isinstance(event, Error)] == [phrase("sorry_crowded", lang)]
    assert await crowd.assistant.receive(turn)
    assert await crowd.assistant.message("bob", "1") is None

    crowd.turns["carl"] = asyncio.create_task(crowd.events(Turn(thread="carl", text="hello", id="1")))
    assert len(await crowd.heard()) == 2
    assert [event.text async for event in crowd.assistant.play(turn) if isinstance(event, Message)] == ["yes"]


def test_a_user_has_a_tenth() -> None:
    """Beyond that a user is refused while others are taken on."""
    queue = TurnQueue(at_once=10, most_waiting=10)
    with queue.taken("ann"), queue.taken("ann"):
        assert queue.is_full("ann")
        assert not queue.is_full("bob")
    assert not queue.is_full("ann")


async def test_places_are_never_lost() -> None:
    """With any arrivals, waits and cancellations no more turns run than may, and in the end all places are free."""
    chance, queue, most = random.Random(7), TurnQueue(at_once=3), 0

    async def turn(user: str) -> None:
        nonlocal most
        with queue.place(user) as place:
            await asyncio.wait([place])
            most = max(most, queue.running)
            await rounds(chance.randrange(4))
            if chance.random() < 0.2:
                raise ZeroDivisionError

    for _ in range(30):
        tasks = [asyncio.create_task(turn(chance.choice("abc"))) for _ in range(20)]
        await rounds(1)
        for task in tasks:
            if chance.random() < 0.3:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert (most, queue.running, queue.waiting) == (3, 0, 0)
