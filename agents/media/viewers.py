"""Who watches: the profile and the age limit of a user, both trusted values that the operator sets."""

from dataclasses import dataclass

from agents.media import PlayerError, Title
from agents.memory.media_rows import MediaRows

OWNER, OWNER_DEVICE = "me", "terminal"
"""Who has a profile without being given one: whoever sits at the machine."""


@dataclass(frozen=True)
class Viewer:
    """A profile as one user has it; `age` is the oldest that a title may be meant for, None without a limit."""

    profile: str
    age: int | None = None

    def check(self, title: Title) -> None:
        """Raise PlayerError ("age_limit", "not_rated") if the viewer may not see a title."""
        if self.age is None:
            return
        if title.age is None:
            raise PlayerError("not_rated", title)
        if title.age > self.age:
            raise PlayerError("age_limit", title)


async def viewer_of(rows: MediaRows, user: str, device: str) -> Viewer | None:
    """Return the viewer that a user is who speaks through the door of a device; None if they are none."""
    if row := await rows.viewer(user, device):
        return Viewer(*row)
    return Viewer(OWNER) if (user, device) == (OWNER, OWNER_DEVICE) else None
