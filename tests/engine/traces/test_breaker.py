"""A model that fails again and again is not asked for a while; then one call tries whether it answers again."""

import asyncio

import pytest
from langchain_core.exceptions import ModelConnectionError

from agents.events import Error, ModelEnd
from agents.models import Models
from app.composition.breaker import Breaker, Resting, guarded
from app.testing import Chat
from prompts import phrase

REST = 30.0
DOWN = ModelConnectionError("no route")


class Room:
    """A chat whose models stand behind breakers, with a clock that the test sets."""

    def __init__(self, chat: Chat, *, fallback: bool = False) -> None:
        self.chat, self.now = chat, 0.0
        plain = chat.script.models(["supervisor", "observer", *chat.speakers.dialogs, "fallback"])
        plain = Models(plain.default, {}, plain.roles["fallback"] if fallback else None)
        chat.models = guarded(plain, 2, REST, lambda: self.now)

    async def asked(self, text: str = "hello") -> tuple[int, list[str]]:
        """Say something; return how often the model was really asked, and what was told."""
        before = len(self.chat.script.asked)
        await self.chat.says(text)
        texts = [event.text for event in self.chat.events if isinstance(event, Error) and event.text]
        return len(self.chat.script.asked) - before, texts


async def test_after_failures_in_a_row_calls_fail_at_once(chat: Chat) -> None:
    """The user reads the same sentence; when the rest is over one call tries, and its success lets all pass."""
    room, sorry = Room(chat), [phrase("sorry_settings", "en")]
    chat.expects(supervisor=[DOWN, DOWN])
    assert [await room.asked() for _ in range(3)] == [(1, sorry), (1, sorry), (0, sorry)]

    room.now = REST
    chat.expects(supervisor=[DOWN])
    assert [await room.asked() for _ in range(2)] == [(1, sorry), (0, sorry)]

    room.now = 2 * REST
    chat.expects(supervisor=["Here again.", "And again.", DOWN, "Once is no row."])
    assert [await room.asked() for _ in range(4)] == [(1, []), (1, []), (1, sorry), (1, [])]


async def test_the_fallback_answers_meanwhile(chat: Chat) -> None:
    """Behind a breaker of its own the fallback is asked at once, and the first model is not waited for."""
    room = Room(chat, fallback=True)
    chat.expects(supervisor=[DOWN, DOWN], fallback=["one", "two", "three"])
    assert [await room.asked() for _ in range(3)] == [(2, []), (2, []), (1, [])]
    ends = [(event.model, event.ok) for event in chat.events if isinstance(event, ModelEnd)]
    assert ends == [("script:supervisor", False), ("script:fallback", True)]


def test_one_call_tries_at_a_time() -> None:
    """While one call tries, the others still fail at once; one that is stopped leaves its place to the next."""
    clock = [0.0]
    breaker = Breaker("m", 1, REST, lambda: clock[0])
    breaker.begin()
    breaker.end(DOWN)
    clock[0] = REST
    breaker.begin()
    with pytest.raises(Resting):
        breaker.begin()
    breaker.end(asyncio.CancelledError())
    breaker.begin()
    breaker.end(None)
    breaker.begin()
    breaker.begin()


@pytest.mark.parametrize(
    ("failure", "is_silent", "opens"),
    [
        (asyncio.CancelledError(), False, False),
        (asyncio.CancelledError(), True, True),
        (ZeroDivisionError(), False, False),
        (ConnectionError(), False, True),
    ],
)
def test_what_counts_as_a_failure(failure: BaseException, is_silent: bool, opens: bool) -> None:
    """A server that is silent or cannot be reached; not a user who stops, and no fault of ours."""
    breaker = Breaker("m", 1, REST, lambda: 0.0)
    breaker.begin()
    breaker.end(failure, is_silent=is_silent)
    if opens:
        with pytest.raises(Resting):
            breaker.begin()
    else:
        breaker.begin()
