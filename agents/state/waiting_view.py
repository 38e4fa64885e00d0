"""A view that the user has not seen yet."""

from typing_extensions import TypedDict

from agents.state.talk import Json


class WaitingView(TypedDict):
    """A view that is shown above the next words."""

    call: str
    """The id of the call that gave it."""
    body: Json
    """The view, as `View.body` writes it."""
    writes: bool
    """Whether its model was told that it is seen, as of each write: it is shown even if further tools are called."""
    answers: bool
    """Whether it is the whole answer, and the words beside it are left out."""
