"""Dialogs take over, go on, finish."""

from agents.models.script import Call
from tests.conftest import Chat, told


async def test_a_dialog_begins_goes_on_and_finishes(chat: Chat) -> None:
    """A dialog answers the user itself, turn after turn, until it says that it is done."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "wants to get acquainted"})],
        profile=[
            "What do you do?",
            Call("fill_form", {"experience": "a nurse for ten years"}),
            "What are you good at?",
            ["All noted, thank you.", Call("finish", {"summary": "profile begun"})],
        ],
    )

    assert told("""
        user: Let's get acquainted
        supervisor -> profile
        profile: What do you do?
        user: A nurse for ten years
        profile.fill_form(experience='a nurse for ten years') = Filled: experience. Missing: skills, interests, work.
        profile: What are you good at?
        user: Stop here please, that is enough for the present moment
        profile: All noted, thank you.
        profile (dialog): finished
        profile -> supervisor
    """) == await chat.says(
        "Let's get acquainted", "A nurse for ten years", "Stop here please, that is enough for the present moment"
    )
    assert (await chat.state())["is_active"]
