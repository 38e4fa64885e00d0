"""Interrupted dialogs wait on a stack and go on as their resume policy says."""

import pytest

from agents.toolkit.speaker import Resume
from app.testing import Chat, told
from app.testing.script import Call
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "wants to get acquainted"})


async def interrupted(chat: Chat, resume: Resume) -> str:
    """Fill one field of the profile, then ask for the time."""
    chat.speakers = changed(chat.speakers, "profile", resume=resume)
    chat.expects(
        supervisor=[BEGIN, "It is ten."],
        profile=["What do you do?", [Call("fill_form", {"experience": "nurse"})], "What are you good at?"],
        observer=["current_time"],
    )
    await chat.says("Hi, I have just joined", "A nurse")
    return await chat.says("How late has it become?")


async def test_ask_offers_and_yes_resumes_with_a_recap(chat: Chat) -> None:
    """With "ask" the user is offered to go on; yes brings the open question again, without any model."""
    trace = await interrupted(chat, "ask")
    offer = "supervisor: I had asked: “What are you good at?” Shall we go on with your profile?"
    assert trace.endswith(f"supervisor: It is ten.\n{offer}")

    assert told("""
        user: yes
        offer (free): switch -> profile
        supervisor -> profile
        profile: Back to your profile. What are you good at?
    """) == await chat.says("yes")
    assert (await chat.state())["dialog"] == "profile"


async def test_an_offer_of_help_is_no_open_question(chat: Chat) -> None:
    """What the dialog has offered last is not put again as its question."""
    chat.expects(
        supervisor=[BEGIN, "It is ten."], profile=["Welcome. Is there anything else?"], observer=["current_time"]
    )
    trace = await chat.says("Hi, I have just joined", "How late has it become?")
    assert trace.endswith("supervisor: It is ten.\nsupervisor: Shall we go on with your profile?")


async def test_ask_takes_no_for_an_answer(chat: Chat) -> None:
    """No lets the dialog go; it is not offered again."""
    await interrupted(chat, "ask")
    chat.expects(supervisor=["As you like.", "Indeed."])

    assert told("""
        user: no
        offer (free): supervisor
        supervisor: As you like.
        user: It is late
        supervisor: Indeed.
    """) == await chat.says("no", "It is late")
    assert (await chat.state())["paused"] == []


async def test_an_offer_may_be_ignored(chat: Chat) -> None:
    """Another subject leaves the dialog on the stack, and the offer is made only once."""
    await interrupted(chat, "ask")
    chat.expects(supervisor=["Rain is due."])

    assert await chat.says("Will it rain?") == "user: Will it rain?\nsupervisor: Rain is due."
    assert (await chat.state())["paused"] == ["profile"]


async def test_tell_goes_on_at_once(chat: Chat) -> None:
    """With "tell" the dialog goes on right after the answer, with its recap."""
    assert (await interrupted(chat, "tell")).endswith(
        "supervisor: It is ten.\nsupervisor -> profile\nprofile: Back to your profile. What are you good at?"
    )
    assert (await chat.state())["dialog"] == "profile"


async def test_silent_goes_on_without_a_word(chat: Chat) -> None:
    """With "silent" the next message simply belongs to the dialog again."""
    assert (await interrupted(chat, "silent")).endswith("supervisor: It is ten.\nsupervisor -> profile")
    assert (await chat.state())["dialog"] == "profile"


async def test_never_closes_the_dialog(chat: Chat) -> None:
    """With "never" an interrupted dialog is over."""
    assert (await interrupted(chat, "never")).endswith("supervisor: It is ten.")
    assert (await chat.state())["paused"] == []


async def test_the_supervisor_can_call_a_paused_dialog_back(chat: Chat) -> None:
    """Calling a paused dialog takes it off the stack; its form is as it was left."""
    await interrupted(chat, "ask")
    chat.expects(supervisor=[BEGIN], profile=["So, what are you good at?"])

    assert told("""
        user: Back to getting acquainted please
        supervisor -> profile
        profile: So, what are you good at?
    """) == await chat.says("Back to getting acquainted please")
    state = await chat.state()
    assert (state["paused"], state["forms"]) == ([], {"profile": {"experience": "nurse"}})


@pytest.mark.sqlite
@pytest.mark.parametrize("word", ["profile", "Your profile", "PROFILE"])
async def test_a_helper_can_be_called_by_its_name(chat: Chat, word: str) -> None:
    """A message that is nothing but a helper's name or title needs no decision by a model."""
    chat.expects(profile=["What do you do?"])

    assert told(f"""
        user: {word}
        name (free): switch -> profile
        supervisor -> profile
        profile: What do you do?
    """) == await chat.says(word)
