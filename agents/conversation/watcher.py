"""What the graph needs of an observer."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from agents.conversation.scene import Scene
from agents.state.verdict import Verdict

Check = Callable[[Scene], Awaitable[Verdict]]


class Watcher(Protocol):
    """Checks before a dialog answers and after it; either may be left out."""

    @property
    def pre_check(self) -> Check | None:
        """Check beside the dialog's own draft."""

    @property
    def post_check(self) -> Check | None:
        """Check while the user reads the answer."""

    @property
    def when(self) -> Callable[[Scene], bool] | None:
        """Whether the observer is asked."""
