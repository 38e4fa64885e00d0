"""Every turn of these tests opens the database anew: what is not stored is not known."""

import pytest

from agents.state import SUPERVISOR
from app.testing import Chat
from app.testing.script import Call
from tests.support.user_words import user_words

pytestmark = pytest.mark.needs("profile")


async def test_the_assistant_speaks_first(chat: Chat) -> None:
    """On an empty thread nothing from the user lets the assistant introduce itself and propose a beginning."""
    chat.expects(supervisor=["Hello! Shall we get acquainted?"])

    assert await chat.says(None) == "user says nothing\nsupervisor: Hello! Shall we get acquainted?"
    assert "Propose to begin with getting acquainted" in chat.script.asked[0].messages[-1].text


async def test_nothing_from_the_user_lets_whoever_speaks_go_on(chat: Chat) -> None:
    """On a thread with history nothing from the user continues the conversation, here in the dialog."""
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "-"})], profile=["What do you do?", "Still there?"])
    await chat.says("Hi")

    assert await chat.says(None) == "user says nothing\nprofile: Still there?"


async def test_a_state_that_was_lost_is_rebuilt_from_the_transcript(chat: Chat) -> None:
    """When the checkpoint is older than the transcript, the supervisor goes on from the transcript."""
    chat.expects(supervisor=["Hello.", "I know, Ann."])
    await chat.says("I am Ann")
    async with chat.assistant() as assistant:
        await assistant.memory.saver.adelete_thread("ann")

    assert await chat.says("Do you know me?") == "user: Do you know me?\nsupervisor: I know, Ann."
    _, *heard = chat.script.asked[-1].messages
    assert [message.type for message in heard] == ["human", "ai", "human"]
    assert (user_words(heard), heard[1].text) == (["I am Ann", "Do you know me?"], "Hello.")
    assert (await chat.state())["turn"] == 2


@pytest.mark.parametrize("setting", ["en", "ru"])
async def test_the_language_that_was_set_stays(chat: Chat, setting: str) -> None:
    """A language the user asked for is kept for the user, whatever the next message is written in."""
    chat.expects(supervisor=[Call("change_language", {"language": setting}), "Fine.", "Sure."])
    await chat.says("Change the language", "Привет, как дела? Hello hello")

    assert (await chat.state())["lang"] == setting


async def test_the_language_follows_the_user(chat: Chat) -> None:
    """Without a setting the conversation is held in the language the user writes in."""
    chat.expects(supervisor=["Привет!", "Hello!"])
    await chat.says("Добрый день")
    assert (await chat.state())["lang"] == "ru"

    await chat.says("Good morning")
    assert (await chat.state())["lang"] == "en"
    assert SUPERVISOR in (await chat.state())["talks"]
