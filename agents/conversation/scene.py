"""What the gate and the observers see of a dialog when a user message arrives, and what an observer is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langgraph.store.base import BaseStore

from agents.memory.store import namespace_of
from agents.state.verdict import Verdict

Ask = Callable[..., Awaitable[str]]
Enter = Callable[[str, str, dict[str, object]], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One moment of a dialog: what the user said, what was said before, and which dialogs could take over."""

    lang: str
    """The language of the turn, such as "en"."""
    dialog: str
    """The dialog's name."""
    description: str
    """What the dialog is used for."""
    text: str
    """What the user just said."""
    reply: str | None
    """What the dialog said last: before the user's message (pre-check) or in answer to it (post-check)."""
    helpers: Mapping[str, str]
    """The other dialogs, by name, with what they are used for."""
    tools: Mapping[str, str]
    """The supervisor's tools, by name, with what they do."""
    form: Mapping[str, object]
    """The values of the dialog's form, by field."""
    missing: Sequence[str]
    """The form's fields that have no value yet."""
    before: Sequence[str] = ()
    """What was said in the dialog before that reply, oldest first."""
    paused: Sequence[str] = ()
    """The dialogs that were interrupted, by name, the latest last."""
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Phrases by which people ask for a dialog or a tool, by its name."""
    user: str = ""
    """The user's id."""
    store: BaseStore | None = None
    """The user's long-term memory."""
    ask: Ask = field(default=lambda **_: _no_answer(), repr=False)
    """Ask the observer's model: its prompt with these variables; returns the reply's text."""

    enter: Enter = field(default=lambda *_: _nothing(), repr=False)
    """Enters in the undo log that a fact is about to change: its kind, its key and its new value."""

    async def remember(self, kind: str, key: str, value: dict[str, object]) -> None:
        """Store a fact about the user in long-term memory."""
        if self.store is not None:
            await self.enter(kind, key, value)
            await self.store.aput(namespace_of(self.user, kind), key, value)


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


async def _nothing() -> None:
    return


async def _no_answer() -> str:
    return ""
