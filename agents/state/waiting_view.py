"""A view that the user has not seen yet."""

from typing_extensions import TypedDict

from agents.state.speaker_state import Json


class WaitingView(TypedDict):
    """A view that is shown above the next words."""

    call: str
    """The id of the call that returned it."""
    body: Json
    """The view, as `View.body` writes it."""
    writes: bool
    """Whether its model was told that the user sees it, as with each write: it is shown even before further tools."""
    answers: bool
    """Whether it is the whole answer, without the words beside it."""
