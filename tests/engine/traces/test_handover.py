"""Dialogs take over, go on, finish."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agents.toolkit.speaker import Speakers
from app.testing import Chat, told
from app.testing.script import Call
from dialogs import Dialog

pytestmark = pytest.mark.needs("profile")


async def test_a_dialog_begins_goes_on_and_finishes(chat: Chat) -> None:
    """A dialog answers the user itself, turn after turn, until it says that it is done."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "wants to get acquainted"})],
        profile=[
            "What do you do?",
            Call("fill_form", {"experience": "a nurse for ten years"}),
            "What are you good at?",
            ["All noted, thank you.", Call("hand_back")],
        ],
    )

    assert told("""
        user: Hi, I have just joined
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
        "Hi, I have just joined", "A nurse for ten years", "Stop here please, that is enough for the present moment"
    )
    assert (await chat.state())["is_active"]


class Guest(BaseModel):
    """One who stays."""

    name: str
    age: int | None = None


class Stay(BaseModel):
    """A form of models, lists of them, sets, and names that pydantic knows otherwise."""

    model_config = ConfigDict(extra="forbid")
    leads: Guest | None = None
    others: list[Guest] = []
    wishes: set[str] = Field(default_factory=set)
    paid: int | None = Field(default=None, alias="paidAmount")


async def test_a_form_may_be_made_of_any_model(chat: Chat) -> None:
    """Each field is shown to the model, filled under its own name, and asked for while it is empty."""
    dialog = Dialog(tool="book_a_stay", description="Used for stays.", form=Stay, roles={"en": "You book."})
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "stay": dialog.named("stay")})
    ann, bob = Call("fill_form", {"leads": {"name": "Ann"}, "paid": 5}), {"name": "Bob", "age": "7"}
    others = Call("fill_form", {"others": [bob], "wishes": "a cot, a desk"})
    chat.expects(supervisor=[Call("book_a_stay", {"brief": "-"})], stay=[ann, others, "Noted."])
    trace = await chat.says("I want a room")

    assert "Filled: leads, paid. Missing: others, wishes.\n" in trace
    form = (await chat.state())["talks"]["stay"]["form"]
    assert sorted(form.pop("wishes")) == ["a cot", "a desk"]
    assert form == {"leads": {"name": "Ann", "age": None}, "paid": 5, "others": [{"name": "Bob", "age": 7}]}
