"""What the supervisor offers: a paused dialog to go on with, or a wish that was left for later."""

from functools import partial
from typing import Literal

from agents.conversation import handover
from agents.conversation.changes import Move, decision, give_to, put
from agents.language.text.phrases import says
from agents.state import SUPERVISOR, State
from agents.toolkit.speaker import Speaker, Speakers

Answer = Literal["yes", "no"]


def answer_of(text: str, lang: str) -> Answer | None:
    """Return what a text answers to an offer; None if it speaks of something else."""
    answers: tuple[Answer, ...] = ("yes", "no")
    return next((answer for answer in answers if says(answer, text, lang)), None)


def is_wish(offered: str | None, state: State) -> bool:
    """Tell whether the dialog on offer is that of a wish that was left, not a paused one."""
    wishes = state.get("wishes", [])
    return bool(offered and wishes and wishes[0].get("left") and wishes[0]["dialog"] == offered)


def answered(dialog: Speaker, answer: Answer, state: State, speakers: Speakers) -> list[Move]:
    """Go on with the dialog on offer, or let it go; the same for the wish on offer."""
    if is_wish(dialog.name, state):
        return _wish_answered(dialog, answer, state, speakers)
    if answer == "yes":
        return [
            decision("offer", "switch", dialog.name, "the user accepted", "free"),
            partial(handover.resume, dialog),
            give_to(None),
        ]
    return [
        decision("offer", "supervisor", None, "the user declined", "free"),
        partial(handover.drop, dialog),
        give_to(SUPERVISOR),
    ]


def _wish_answered(dialog: Speaker, answer: Answer, state: State, speakers: Speakers) -> list[Move]:
    """Begin the wish on offer, or decline it."""
    wish, holder = state["wishes"][0], state.get("dialog")
    remaining_wishes = put({"wishes": state["wishes"][1:], "foreign": wish.get("foreign", False)})
    if answer == "no":
        decided = decision("offer", "supervisor", None, "the user declined a wish", "free")
        return [decided, remaining_wishes, give_to(holder or SUPERVISOR)]
    return [
        decision("offer", "switch", dialog.name, "the user accepted a wish", "free"),
        remaining_wishes,
        *([partial(handover.pause, speakers[holder], reason=dialog.name)] if holder else []),
        partial(handover.take_over, dialog, brief=wish["brief"]),
        give_to(dialog.name),
    ]
