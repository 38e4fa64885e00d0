"""The user's professional intent: noted by the observer, shown, exported, told to the supervisor."""

import pytest

from agents.conversation.gate import Guess
from app.testing import Chat
from app.testing.script import Call

BEGIN = Call("get_acquainted", {"brief": "-"})


@pytest.fixture(autouse=True)
def doubtful(chat: Chat) -> None:
    """Let the observer of switches be asked, whatever the descriptions of other dialogs say."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")


async def tells_of_a_job(chat: Chat, noted: str = '{"intent": "a job as a nurse"}') -> None:
    """Tell the profile of the job that is wanted; the observer answers so."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "A fine plan."], observer=["stay", noted])
    await chat.says("Hi", "Looking for a job")


async def test_a_garbled_intent_is_no_intent(chat: Chat) -> None:
    """An observer's model that does not answer as asked changes nothing."""
    await tells_of_a_job(chat, "They want a job, I think.")

    async with chat.assistant() as assistant:
        assert await assistant.memory.store.aget(("users", "ann", "facts"), "professional_intent") is None


async def test_the_professional_intent_stands_in_the_profile(chat: Chat) -> None:
    """The observer's note is shown with the form, and exported with it."""
    await tells_of_a_job(chat)
    await chat.says("show my profile")
    assert "- **professional goal**: a job as a nurse" in "".join(str(event) for event in chat.events)

    chat.expects(profile=[Call("export_profile", {"format": "json"}), "There it is."])
    await chat.says("As a file, in JSON")
    assert '"professional_intent": "a job as a nurse"' in "".join(str(event) for event in chat.events)


async def test_the_supervisor_is_told_the_professional_intent(chat: Chat) -> None:
    """It stands in the context block of the user's next message to the supervisor."""
    await tells_of_a_job(chat)
    chat.expects(supervisor=["Hello again."])
    await chat.says("Hello", thread="another", user="ann")

    assert "Professional goal of the user: a job as a nurse" in chat.script.asked[-1].messages[-1].text
