"""The lifetimes of values of the state."""

from typing import Literal, NamedTuple, get_type_hints

Until = Literal["turn", "reply"]


class Lifetime(NamedTuple):
    """The end of a value, beside the type of its key: `Annotated[bool, Lifetime("turn", False)]`."""

    until: Until
    """"turn": the next turn begins with `value`. "reply": the user's next message reads it first, and then it goes."""
    value: object = None


def beginnings(state: type, until: Until) -> dict[str, object]:
    """Return the keys of a state that end then, each with its first value."""
    hints = get_type_hints(state, include_extras=True)
    marks = [(name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ())]
    return {name: mark.value for name, mark in marks if isinstance(mark, Lifetime) and mark.until == until}
