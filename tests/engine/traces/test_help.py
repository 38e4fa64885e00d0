"""assistant_help: links are asked in turn, and what they say is marked."""

from typing import Any

import pytest

from agents.events import ToolEnd
from app.settings import Settings
from app.testing import Chat
from app.testing.script import Call
from prompts import phrase

EVEREST = "How tall is Mount Everest?"
PATIENT = 9
"""Seconds: a timeout that no answer of these tests needs."""


def settings(**values: Any) -> Settings:
    """Return settings with this chain of help."""
    return Settings(_env_file=None, **values)


def asks(chat: Chat, query: str, reply: str = "There you are.") -> None:
    """Let the supervisor ask for help, then answer."""
    chat.expects(supervisor=[Call("assistant_help", {"query": query}), reply])


def answers(chat: Chat) -> list[str]:
    """Return the answers of the help."""
    return [event.object for event in chat.events if isinstance(event, ToolEnd) and event.tool == "assistant_help"]


@pytest.mark.parametrize(("text", "lang"), [(EVEREST, "en"), ("Какая столица Франции?", "ru"), ('"* OR NEAR(', "en")])
async def test_nothing_found_is_said_honestly(chat: Chat, text: str, lang: str) -> None:
    """A question that only shares small words with the pages is not answered by the next best section."""
    asks(chat, text)
    await chat.says(text, lang=lang)

    assert answers(chat) == [phrase("help_unknown", lang)]


@pytest.mark.parametrize(
    ("lang", "mark"), [("en", "[passed on to a person] I cannot"), ("ru", "[передано человеку] Сам я")]
)
async def test_a_person_is_the_last_link(chat: Chat, lang: str, mark: str) -> None:
    """A question without an answer is noted for a person, and the user learns that."""
    chat.settings = settings(help_chain="pages,person")
    asks(chat, EVEREST)
    await chat.says(EVEREST, lang=lang)

    assert answers(chat)[0].startswith(mark)
    assert await chat.notes() == [("ann", EVEREST)]


async def test_notes_are_forgotten_with_their_thread(chat: Chat) -> None:
    """`forget` leaves the notes of others alone."""
    chat.settings = settings(help_chain="person")
    for thread in ("ann", "bob"):
        asks(chat, EVEREST)
        await chat.says(EVEREST, thread=thread)
    async with chat.assistant() as assistant:
        await assistant.forgetting.thread("ann")

    assert await chat.notes() == [("bob", EVEREST)]
